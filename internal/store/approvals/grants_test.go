package approvals_test

import (
	"testing"
	"time"

	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/store/storetest"
)

// lasting asks something and says yes to it for more than the call.
func lasting(t *testing.T, db *store.Store, giver string, at time.Time, lasts approvals.Lasts) approvals.Grant {
	t.Helper()
	a, _ := askApproval(t, db, storetest.Question("owner", "turn", `{"a": 1}`, at), "r")
	v := approvals.Verdict{ID: a.ID, State: approvals.Approved, By: "user:" + giver, Via: "rest", UserID: giver, At: at, Lasts: lasts}
	if _, won, err := db.Approvals.Decide(t.Context(), v); err != nil || !won {
		t.Fatal(won, err)
	}
	list, err := db.Approvals.ListGrants(t.Context(), approvals.GrantFilter{PersonID: giver}, at)
	if err != nil || len(list) != 1 || list[0].Approval != a.ID || !list[0].ExpiresAt.Equal(at.Add(lasts.For)) {
		t.Fatalf("%+v, %v", list, err)
	}
	return list[0]
}

// TestGrantAnswersTheSameCall: and no other: other arguments, another tool, another
// caller, under another rule, or too late.
func TestGrantAnswersTheSameCall(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ann, _ := storetest.Owner(t, db, "ann@example.com")
		at := database.Now()
		g := lasting(t, db, ann.ID, at, approvals.Lasts{For: time.Hour})
		next := storetest.Question("owner", "turn 2", `{"a": 1}`, at.Add(time.Minute))
		next.Channel = "another"
		a, fresh := askApproval(t, db, next, "r2")
		if !fresh || a.State != approvals.Approved || a.DecidedBy != "policy" || a.Grant != g.ID || a.Open() {
			t.Fatalf("%+v, fresh %v", a, fresh)
		}
		if err := db.Approvals.Use(t.Context(), a.ID, a.Hash, a.PolicyVersion, "r2", at.Add(time.Minute)); err != nil {
			t.Error(err)
		}
		for name, change := range map[string]func(*approvals.Approval){
			"arguments": func(q *approvals.Approval) { q.Hash = []byte("others") },
			"tool":      func(q *approvals.Approval) { q.Tool = "erase" },
			"skill":     func(q *approvals.Approval) { q.Skill = "files" },
			"agent":     func(q *approvals.Approval) { q.AgentID = "another" },
			"caller":    func(q *approvals.Approval) { q.Caller = "user:another" },
			"rule":      func(q *approvals.Approval) { q.PolicyVersion = "another" },
			"time":      func(q *approvals.Approval) { q.CreatedAt = at.Add(time.Hour) },
		} {
			q := storetest.Question("owner", "turn of another "+name, `{"a": 1}`, at.Add(time.Minute))
			change(&q)
			if a, _ := askApproval(t, db, q, "r"); !a.Open() || a.Grant != "" {
				t.Errorf("another %s: %+v", name, a)
			}
		}
		trail, err := db.Audit.List(t.Context(), "owner", 10)
		if err != nil || len(trail) != 3 || trail[0].Action != "approval.approved" || trail[0].Actor != "policy" || trail[0].Detail["approval_grant"] != g.ID {
			t.Errorf("%+v, %v", trail, err)
		}
	})
}

// TestGrantOfConversation: any arguments there, and nothing elsewhere.
func TestGrantOfConversation(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ann, _ := storetest.Owner(t, db, "ann@example.com")
		at := database.Now()
		g := lasting(t, db, ann.ID, at, approvals.Lasts{For: time.Hour, Conversation: true})
		if g.Channel != "ch" {
			t.Fatalf("%+v", g)
		}
		if a, _ := askApproval(t, db, storetest.Question("owner", "turn 2", `{"a": 2}`, at), "r"); a.Grant != g.ID {
			t.Errorf("in the conversation: %+v", a)
		}
		elsewhere := storetest.Question("owner", "turn 3", `{"a": 1}`, at)
		elsewhere.Channel = "another"
		if a, _ := askApproval(t, db, elsewhere, "r"); !a.Open() {
			t.Errorf("in another: %+v", a)
		}
	})
}

// TestGrantEnds: by being revoked, once, and with the account of who gave it.
func TestGrantEnds(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ann, _ := storetest.Owner(t, db, "ann@example.com")
		at := database.Now()
		g := lasting(t, db, ann.ID, at, approvals.Lasts{For: time.Hour})
		ended := make([]bool, 4)
		storetest.Together(t, 4, func(i int) (err error) {
			ended[i], err = db.Approvals.EndGrant(t.Context(), g, "user:"+ann.ID, "revoked", at)
			return err
		})
		n := 0
		for _, e := range ended {
			if e {
				n++
			}
		}
		if list, err := db.Approvals.ListGrants(t.Context(), approvals.GrantFilter{PersonID: ann.ID}, at); err != nil || n != 1 || len(list) != 0 {
			t.Errorf("%d ended it, %+v, %v", n, list, err)
		}
		if a, _ := askApproval(t, db, storetest.Question("owner", "turn 2", `{"a": 1}`, at), "r"); !a.Open() {
			t.Errorf("a revoked grant answers: %+v", a)
		}
	})
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		bob, _ := storetest.Owner(t, db, "bob@example.com")
		storetest.Owner(t, db, "ann@example.com")
		at := database.Now()
		lasting(t, db, bob.ID, at, approvals.Lasts{For: time.Hour})
		if err := db.People.Lock(t.Context(), bob.ID, at); err != nil {
			t.Fatal(err)
		}
		if a, _ := askApproval(t, db, storetest.Question("owner", "turn 2", `{"a": 1}`, at), "r"); !a.Open() {
			t.Errorf("the grant of who is locked out answers: %+v", a)
		}
	})
}

// TestGrantIsOfWhoOwnsOrGave: nobody else lists it.
func TestGrantIsOfWhoOwnsOrGave(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ann, _ := storetest.Owner(t, db, "ann@example.com")
		at := database.Now()
		lasting(t, db, ann.ID, at, approvals.Lasts{For: time.Hour})
		for who, want := range map[string]int{"owner": 1, ann.ID: 1, "caller": 0} {
			if list, err := db.Approvals.ListGrants(t.Context(), approvals.GrantFilter{PersonID: who}, at); err != nil || len(list) != want {
				t.Errorf("%s: %+v, %v", who, list, err)
			}
		}
		if err := db.Approvals.Forget(t.Context(), at.Add(2*time.Hour)); err != nil {
			t.Fatal(err)
		}
		if list, err := db.Approvals.ListGrants(t.Context(), approvals.GrantFilter{}, at); err != nil || len(list) != 0 {
			t.Errorf("after forgetting: %+v, %v", list, err)
		}
	})
}
