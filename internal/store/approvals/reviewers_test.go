package approvals_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/store/storetest"
	"github.com/beeos/beeos/test/pgtest"
)

// named makes accounts whose ids are these names.
func named(t *testing.T, db *store.Store, names ...string) {
	t.Helper()
	for _, name := range names {
		err := db.People.CreateUser(t.Context(), beeos.User{ID: name, Email: name + "@example.com"})
		if err != nil && beeos.CodeOf(err) != beeos.Conflict {
			t.Fatal(err)
		}
	}
}

// reviewed asks for an approval that people with these names decide about.
func reviewed(t *testing.T, db *store.Store, turn string, need int, at time.Time, names ...string) approvals.Approval {
	t.Helper()
	named(t, db, names...)
	q := storetest.Question("owner", turn, `{"a": 1}`, at)
	q.Need, q.OnlyReviewers = need, true
	for _, name := range names {
		q.Reviewers = append(q.Reviewers, approvals.Reviewer{UserID: name, Since: at})
	}
	a, _ := askApproval(t, db, q, "r")
	return a
}

func yesOf(a approvals.Approval, name string, at time.Time) approvals.Verdict {
	return approvals.Verdict{ID: a.ID, State: approvals.Approved, By: "user:" + name, Via: "rest", UserID: name, AsReviewer: true, At: at}
}

// TestSomeOfReviewersApprove: a yes that is not the last one needed leaves the approval
// open, and the same person counts once.
func TestSomeOfReviewersApprove(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		at := database.Now()
		a := reviewed(t, db, "turn", 2, at, "bob", "carol", "dan")
		for range 2 {
			row, won, err := db.Approvals.Decide(t.Context(), yesOf(a, "bob", at.Add(time.Second)))
			if err != nil || won || !row.Open() || row.Yes != 1 || row.Need != 2 {
				t.Fatalf("a first yes: %+v, won %v, %v", row, won, err)
			}
		}
		if n, err := db.Approvals.CountOpen(t.Context(), "bob", at); err != nil || n != 0 {
			t.Errorf("it still waits for who has said yes: %d, %v", n, err)
		}
		if n, err := db.Approvals.CountOpen(t.Context(), "carol", at); err != nil || n != 1 {
			t.Errorf("it does not wait for the others: %d, %v", n, err)
		}
		row, won, err := db.Approvals.Decide(t.Context(), yesOf(a, "dan", at.Add(2*time.Second)))
		if err != nil || !won || row.State != approvals.Approved || row.Yes != 2 || row.DecidedBy != "user:dan" {
			t.Errorf("the last yes: %+v, won %v, %v", row, won, err)
		}
		trail, err := db.Audit.List(t.Context(), "owner", 10)
		if err != nil || len(trail) != 2 || trail[0].Action != "approval.approved" || trail[1].Action != "approval.voted" || trail[1].Detail["yes"] != "1 of 2" {
			t.Errorf("%+v, %v", trail, err)
		}
		b := reviewed(t, db, "turn 2", 2, at, "bob", "carol")
		no := yesOf(b, "carol", at.Add(time.Second))
		no.State = approvals.Rejected
		if row, won, err := db.Approvals.Decide(t.Context(), no); err != nil || !won || row.State != approvals.Rejected {
			t.Errorf("one no: %+v, won %v, %v", row, won, err)
		}
	})
}

// TestLastVotesAtOnce: of those who vote at the same moment one decides, whoever it is,
// and no vote is lost.
func TestLastVotesAtOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		at := database.Now()
		for round := range 20 {
			presses := 2 + 2*(round%2) // each once, or twice
			a := reviewed(t, db, fmt.Sprint("turn ", round), 2, at, "bob", "carol")
			won := make([]bool, presses)
			ok, codes := storetest.Together(t, presses, func(i int) (err error) {
				_, won[i], err = db.Approvals.Decide(t.Context(), yesOf(a, []string{"bob", "carol"}[i%2], at.Add(time.Second)))
				return err
			})
			winners := 0
			for _, w := range won {
				if w {
					winners++
				}
			}
			row, err := db.Approvals.Get(t.Context(), a.ID)
			if err != nil || ok != presses || winners != 1 || row.State != approvals.Approved || row.Yes != 2 {
				t.Fatalf("round %d: %d won, %+v, %v, %v", round, winners, row, codes, err)
			}
		}
	})
}

// TestVotesOutliveTheirProcess: who said yes before a restart counts after it.
func TestVotesOutliveTheirProcess(t *testing.T) {
	for name, dsn := range map[string]string{"sqlite": storetest.SQLiteURL(t), "postgres": pgtest.URL(t)} {
		t.Run(name, func(t *testing.T) {
			db, at := storetest.Open(t, dsn), database.Now()
			a := reviewed(t, db, "turn", 2, at, "bob", "carol")
			if _, _, err := db.Approvals.Decide(t.Context(), yesOf(a, "bob", at)); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			db = storetest.Open(t, dsn)
			if row, won, err := db.Approvals.Decide(t.Context(), yesOf(a, "carol", at.Add(time.Second))); err != nil || !won || row.Yes != 2 {
				t.Errorf("%+v, won %v, %v", row, won, err)
			}
		})
	}
}

// TestWhoIsNoReviewerAnyMore neither counts nor sees: strangers, people whom the rule no
// longer names, and people who are locked out, also after they have voted.
func TestWhoIsNoReviewerAnyMore(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		at := database.Now()
		a := reviewed(t, db, "turn", 2, at, "bob", "carol", "dan")
		refused := func(name string) {
			t.Helper()
			_, _, err := db.Approvals.Decide(t.Context(), yesOf(a, name, at.Add(time.Second)))
			storetest.WantCode(t, err, beeos.NotFound)
			if st, err := db.Approvals.Standings(t.Context(), name, []string{a.ID}, at.Add(time.Second)); err != nil || st[a.ID].Reviewer {
				t.Errorf("%s: %+v, %v", name, st, err)
			}
		}
		refused("stranger")
		rule := approvals.Rule{AgentID: "agent", Mode: approvals.ModeAsk, UpdatedAt: at, Review: &approvals.Review{Reviewers: []string{"bob", "dan"}}}
		if err := db.Approvals.SetRules(t.Context(), []approvals.Rule{rule}); err != nil {
			t.Fatal(err)
		}
		refused("carol")
		list, err := db.Approvals.List(t.Context(), approvals.Filter{PersonID: "carol", At: at, Limit: 10})
		if err != nil || len(list) != 0 {
			t.Errorf("whom the rule no longer names sees %+v, %v", list, err)
		}
		if list, err = db.Approvals.List(t.Context(), approvals.Filter{PersonID: "bob", At: at, Limit: 10}); err != nil || len(list) != 1 {
			t.Errorf("a reviewer sees %+v, %v", list, err)
		}
		if _, _, err := db.Approvals.Decide(t.Context(), yesOf(a, "bob", at)); err != nil {
			t.Fatal(err)
		}
		if err := db.People.Lock(t.Context(), "bob", at); err != nil {
			t.Fatal(err)
		}
		refused("bob")
		if row, won, err := db.Approvals.Decide(t.Context(), yesOf(a, "dan", at.Add(time.Second))); err != nil || won || row.Yes != 1 {
			t.Errorf("the yes of who is locked out still counts: %+v, won %v, %v", row, won, err)
		}
	})
}

// TestSecondReviewersComeLater: they see and decide from their time on, and nothing that
// was decided before.
func TestSecondReviewersComeLater(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		at := database.Now()
		half := at.Add(30 * time.Second)
		named(t, db, "bob", "eve")
		ask := func(turn string) approvals.Approval {
			q := storetest.Question("owner", turn, "{}", at)
			q.Reviewers = []approvals.Reviewer{{UserID: "bob", Since: at}, {UserID: "eve", Since: half}}
			a, _ := askApproval(t, db, q, "r")
			return a
		}
		sees := func(id string, now time.Time) bool {
			t.Helper()
			list, err := db.Approvals.List(t.Context(), approvals.Filter{PersonID: "eve", At: now, Limit: 100})
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range list {
				if a.ID == id {
					return true
				}
			}
			return false
		}
		a, b := ask("turn 1"), ask("turn 2")
		if sees(a.ID, at) || !sees(a.ID, half) {
			t.Error("second reviewers are not asked at half time")
		}
		_, _, err := db.Approvals.Decide(t.Context(), yesOf(a, "eve", half.Add(-time.Second)))
		storetest.WantCode(t, err, beeos.NotFound)
		if _, won, err := db.Approvals.Decide(t.Context(), yesOf(a, "eve", half)); err != nil || !won || !sees(a.ID, half) {
			t.Errorf("at half time: won %v, %v", won, err)
		}
		if _, won, err := db.Approvals.Decide(t.Context(), yesOf(b, "bob", at.Add(time.Second))); err != nil || !won {
			t.Fatal(won, err)
		}
		if sees(b.ID, at.Add(time.Hour)) {
			t.Error("what was decided before their time is shown to second reviewers")
		}
		if st, err := db.Approvals.Standings(t.Context(), "eve", []string{b.ID}, at.Add(time.Hour)); err != nil || st[b.ID].Reviewer {
			t.Errorf("%+v, %v", st, err)
		}
	})
}

// TestReviewsOfRules: who decides is kept with a rule, changes its version, and stays when
// a change does not speak of it.
func TestReviewsOfRules(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		set := func(r approvals.Rule) []approvals.Rule {
			t.Helper()
			r.AgentID, r.UpdatedAt = "agent", database.Now()
			if err := db.Approvals.SetRules(t.Context(), []approvals.Rule{r}); err != nil {
				t.Fatal(err)
			}
			list, err := db.Approvals.ListRules(t.Context(), "agent")
			if err != nil {
				t.Fatal(err)
			}
			return list
		}
		first := set(approvals.Rule{Review: &approvals.Review{Reviewers: []string{"bob"}, Need: 2, NotCaller: true}})
		if len(first) != 1 || first[0].Review == nil || first[0].Review.Reviewers[0] != "bob" || first[0].Review.Need != 2 || !first[0].Review.NotCaller {
			t.Fatalf("%+v", first)
		}
		same := set(approvals.Rule{Review: &approvals.Review{Reviewers: []string{"bob"}, Need: 2, NotCaller: true}})
		if same[0].Version != first[0].Version {
			t.Error("the same reviewers are another version")
		}
		asks := set(approvals.Rule{Mode: approvals.ModeAsk})
		if asks[0].Review == nil || asks[0].Review.Reviewers[0] != "bob" || asks[0].Version == first[0].Version {
			t.Errorf("a change that says nothing of reviewers: %+v", asks)
		}
		others := set(approvals.Rule{Mode: approvals.ModeAsk, Review: &approvals.Review{Reviewers: []string{"carol"}}})
		if others[0].Version == asks[0].Version {
			t.Error("other reviewers are the same version")
		}
		if left := set(approvals.Rule{Review: &approvals.Review{}}); len(left) != 0 {
			t.Errorf("a rule that says nothing stays: %+v", left)
		}
	})
}

// TestListsOfPeopleReadIndexes: what a page looks for reads what is open and what is the
// person's, and no table of what has been.
func TestListsOfPeopleReadIndexes(t *testing.T) {
	db := storetest.Open(t, storetest.SQLiteURL(t))
	for _, query := range approvals.Lists {
		var id, parent, unused int
		plan, err := database.List(t.Context(), db, "explain", func(step *string) []any { return []any{&id, &parent, &unused, step} },
			"EXPLAIN QUERY PLAN "+regexp.MustCompile(`\$\d`).ReplaceAllString(query, "'x'"))
		if err != nil {
			t.Errorf("%s: %v", query, err)
		}
		for _, step := range plan {
			if strings.HasPrefix(step, "SCAN") && !strings.HasSuffix(step, "USING INDEX approvals_open") {
				t.Errorf("%s\n%s", query, strings.Join(plan, "\n"))
			}
		}
	}
}
