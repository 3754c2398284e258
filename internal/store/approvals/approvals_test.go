package approvals_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/store/storetest"
)

func askApproval(t *testing.T, db *store.Store, a approvals.Approval, request string) (approvals.Approval, bool) {
	t.Helper()
	row, fresh, err := db.Approvals.Ask(t.Context(), a, request)
	if err != nil {
		t.Fatal(err)
	}
	return row, fresh
}

// TestApprovalIsOneRow: a question that is asked again is the same question,
// until its approval was used.
func TestApprovalIsOneRow(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		at := database.Now()
		first, fresh := askApproval(t, db, storetest.Question("ann", "turn", `{"a": 1}`, at), "r1")
		if !fresh || !first.Open() || string(first.Arguments) != `{"a": 1}` {
			t.Fatalf("%+v, fresh %v", first, fresh)
		}
		again, fresh := askApproval(t, db, storetest.Question("ann", "turn", `{"a": 1}`, at), "r2")
		if diff := cmp.Diff(first, again); diff != "" || fresh {
			t.Errorf("asked again: fresh %v %s", fresh, diff)
		}
		for _, other := range []approvals.Approval{storetest.Question("ann", "turn", `{"a": 2}`, at), storetest.Question("ann", "turn 2", `{"a": 1}`, at)} {
			if _, fresh := askApproval(t, db, other, "r1"); !fresh {
				t.Errorf("another question is taken for the first: %+v", other)
			}
		}
		if list, err := db.Approvals.ListByTurns(t.Context(), []string{"turn", "turn 3"}); err != nil || len(list) != 2 || list[0].ID != first.ID || list[1].Turn != "turn" {
			t.Errorf("asked for the turn: %+v %v", list, err)
		}
		verdict := approvals.Verdict{ID: first.ID, State: approvals.Approved, By: "user:ann", Via: "rest", At: at.Add(time.Second)}
		if a, won, err := db.Approvals.Decide(t.Context(), verdict); err != nil || !won || a.State != approvals.Approved {
			t.Fatalf("%+v, won %v, %v", a, won, err)
		}
		use := func(request, arguments string) error {
			return db.Approvals.Use(t.Context(), first.ID, []byte("hash of "+arguments), "default", request, at.Add(2*time.Second))
		}
		if err := use("r1", `{"a": 2}`); beeos.CodeOf(err) != beeos.Forbidden {
			t.Errorf("other arguments: %v", err)
		}
		for range 2 { // the same request may not have heard the answer
			if err := use("r1", `{"a": 1}`); err != nil {
				t.Error(err)
			}
		}
		if err := use("r2", `{"a": 1}`); beeos.CodeOf(err) != beeos.Forbidden {
			t.Errorf("used twice: %v", err)
		}
		if row, fresh := askApproval(t, db, storetest.Question("ann", "turn", `{"a": 1}`, at), "r1"); fresh || row.ID != first.ID {
			t.Error("the request that used it does not find it")
		}
		if row, fresh := askApproval(t, db, storetest.Question("ann", "turn", `{"a": 1}`, at), "r3"); !fresh || row.ID == first.ID {
			t.Error("another request finds a used approval")
		}
	})
}

// TestApprovalIsDecidedOnce: whoever presses first decides, in the audit
// trail, too.
func TestApprovalIsDecidedOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		at := database.Now()
		a, _ := askApproval(t, db, storetest.Question("ann", "turn", `{}`, at), "r")
		winners := make([]bool, 16)
		states := make([]approvals.State, 16)
		ok, codes := storetest.Together(t, 16, func(i int) error {
			v := approvals.Verdict{ID: a.ID, State: approvals.Approved, By: fmt.Sprintf("user:%d", i), At: at.Add(time.Second)}
			if i%2 == 1 {
				v.State = approvals.Rejected
			}
			row, won, err := db.Approvals.Decide(t.Context(), v)
			winners[i], states[i] = won, row.State
			return err
		})
		if ok != 16 {
			t.Fatal(codes)
		}
		won := 0
		for i := range winners {
			if winners[i] {
				won++
			}
			if states[i] != states[0] {
				t.Errorf("%d saw %s, 0 saw %s", i, states[i], states[0])
			}
		}
		trail, err := db.Audit.List(t.Context(), "ann", 10)
		if err != nil || won != 1 || len(trail) != 1 || trail[0].Action != "approval."+string(states[0]) || trail[0].Subject != a.ID {
			t.Errorf("%d decisions, trail %+v, %v", won, trail, err)
		}
	})
}

func TestApprovalRunsOut(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		at := database.Now()
		a, _ := askApproval(t, db, storetest.Question("ann", "turn", `{}`, at), "r")
		late, left, err := db.Approvals.ListLapsed(t.Context(), at)
		if err != nil || len(late) != 0 || len(left) != 1 { // no delivery has that turn
			t.Fatal(late, left, err)
		}
		if late, _, err = db.Approvals.ListLapsed(t.Context(), at.Add(time.Minute)); err != nil || len(late) != 1 {
			t.Fatal(late, err)
		}
		early := approvals.Verdict{ID: a.ID, State: approvals.Expired, By: "system", At: at.Add(time.Second)}
		if _, won, err := db.Approvals.Decide(t.Context(), early); err != nil || won {
			t.Errorf("expired before its time: %v %v", won, err)
		}
		yes := approvals.Verdict{ID: a.ID, State: approvals.Approved, By: "user:ann", At: at.Add(time.Minute)}
		if row, won, err := db.Approvals.Decide(t.Context(), yes); err != nil || won || !row.Open() {
			t.Errorf("approved after its time: %v %v", won, err)
		}
		early.At = at.Add(time.Minute)
		if row, won, err := db.Approvals.Decide(t.Context(), early); err != nil || !won || row.State != approvals.Expired {
			t.Errorf("%+v %v %v", row, won, err)
		}
		if waits, err := db.Approvals.TurnAwaits(t.Context(), "turn", at); err != nil || waits {
			t.Error(waits, err)
		}
	})
}

func TestApprovedButTooOld(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		at := database.Now()
		a, _ := askApproval(t, db, storetest.Question("ann", "turn", `{}`, at), "r")
		if _, won, err := db.Approvals.Decide(t.Context(), approvals.Verdict{ID: a.ID, State: approvals.Approved, By: "user:ann", At: at.Add(59 * time.Second)}); err != nil || !won {
			t.Fatal(won, err)
		}
		late := at.Add(2 * time.Minute)
		if err := db.Approvals.Use(t.Context(), a.ID, a.Hash, "default", "r", late); beeos.CodeOf(err) != beeos.Forbidden {
			t.Errorf("used long after: %v", err)
		}
		if row, fresh := askApproval(t, db, storetest.Question("ann", "turn", `{}`, late), "r"); !fresh || row.ID == a.ID {
			t.Error("an approval that is too old stands in the way of a new question")
		}
	})
}

func TestApprovalLists(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		at := database.Now()
		if n, since, err := db.Approvals.CountWaiting(t.Context()); err != nil || n != 0 || !since.IsZero() {
			t.Error(n, since, err)
		}
		var ids []string
		for i := range 5 {
			a, _ := askApproval(t, db, storetest.Question("ann", fmt.Sprint("turn ", i), `{}`, at), "r")
			ids = append(ids, a.ID)
		}
		slices.Sort(ids) // those of one millisecond have no order of their own
		askApproval(t, db, storetest.Question("bob", "turn b", `{}`, at), "r")
		if _, _, err := db.Approvals.Decide(t.Context(), approvals.Verdict{ID: ids[2], State: approvals.Rejected, By: "user:ann", At: at}); err != nil {
			t.Fatal(err)
		}
		open, decided := true, false
		list := func(f approvals.Filter) (got []string) {
			rows, err := db.Approvals.List(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range rows {
				got = append(got, a.ID)
			}
			return got
		}
		for _, c := range []struct {
			f    approvals.Filter
			want []string
		}{
			{approvals.Filter{OwnerID: "ann", Open: &open, Limit: 10}, []string{ids[4], ids[3], ids[1], ids[0]}},
			{approvals.Filter{OwnerID: "ann", Open: &decided, Limit: 10}, []string{ids[2]}},
			{approvals.Filter{OwnerID: "ann", Before: ids[3], Limit: 2}, []string{ids[2], ids[1]}},
			{approvals.Filter{OwnerID: "nobody", Limit: 10}, nil},
		} {
			if diff := cmp.Diff(c.want, list(c.f)); diff != "" {
				t.Errorf("%+v: %s", c.f, diff)
			}
		}
		if seen, err := db.Approvals.ListSeenTools(t.Context(), "agent", "ann", 10); err != nil || len(seen) != 1 || seen[0] != [2]string{"", "save_csv"} {
			t.Error(seen, err)
		}
		if n, err := db.Approvals.CountOpen(t.Context(), "ann", at); err != nil || n != 4 {
			t.Error(n, err)
		}
		if n, since, err := db.Approvals.CountWaiting(t.Context()); err != nil || n != 5 || !since.Equal(at) {
			t.Error(n, since, err)
		}
		if err := db.Approvals.Forget(t.Context(), at.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if got := list(approvals.Filter{OwnerID: "ann", Limit: 10}); len(got) != 4 {
			t.Errorf("after forgetting: %v", got)
		}
	})
}

func TestApprovalRules(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		set := func(rules ...approvals.Rule) []approvals.Rule {
			t.Helper()
			for i := range rules {
				rules[i].AgentID, rules[i].UpdatedBy, rules[i].UpdatedAt = "agent", "user:ann", database.Now()
			}
			if err := db.Approvals.SetRules(t.Context(), rules); err != nil {
				t.Fatal(err)
			}
			got, err := db.Approvals.ListRules(t.Context(), "agent")
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		first := set(approvals.Rule{Mode: approvals.ModeAsk, Timeout: time.Minute}, approvals.Rule{Skill: "csv", Tool: "save", Mode: approvals.ModeAuto})
		if len(first) != 2 || first[0].Timeout != time.Minute || first[1].Mode != approvals.ModeAuto || first[0].Version == "" {
			t.Fatalf("%+v", first)
		}
		same := set(approvals.Rule{Mode: approvals.ModeAsk, Timeout: time.Minute})
		if diff := cmp.Diff(first, same); diff != "" {
			t.Errorf("nothing was changed: %s", diff)
		}
		changed := set(approvals.Rule{Skill: "csv", Tool: "save", Mode: approvals.ModeAsk})
		if changed[1].Version == first[1].Version || changed[0].Version != first[0].Version {
			t.Errorf("versions: %+v, before %+v", changed, first)
		}
		if left := set(approvals.Rule{Skill: "csv", Tool: "save"}); len(left) != 1 {
			t.Errorf("a rule that says nothing stays: %+v", left)
		}
	})
}
