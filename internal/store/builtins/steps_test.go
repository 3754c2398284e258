package builtins_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/builtins"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/store/storetest"
)

// TestStepsAreTakenOnce: of many who would take a step one does, and the others
// are told what that one wrote.
func TestStepsAreTakenOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx, b := t.Context(), storetest.Builtin(t, db, "helper")
		storetest.UnderWay(t, db, "turn")
		var wrote [8]builtins.Step
		var mine [8]bool
		if ok, codes := storetest.Together(t, len(wrote), func(i int) (err error) {
			wrote[i], mine[i], err = db.Builtins.TakeStep(ctx, b.ID, builtins.Step{Turn: "turn", Step: 1, Call: 1, Content: fmt.Sprintf(`"%d"`, i)}, database.Now())
			return err
		}); ok != len(wrote) {
			t.Fatal(codes)
		}
		won := 0
		for i := range wrote {
			if wrote[i] != wrote[0] {
				t.Errorf("%+v and %+v were told", wrote[i], wrote[0])
			}
			if mine[i] {
				won++
			}
		}
		if won != 1 {
			t.Errorf("%d took the step", won)
		}
		end := builtins.Step{Turn: "turn", Step: 1, Call: 1, Content: `"it ran"`}
		if err := db.Builtins.EndStep(ctx, end); err != nil {
			t.Fatal(err)
		}
		end.Done = true
		if got, mine, err := db.Builtins.TakeStep(ctx, b.ID, builtins.Step{Turn: "turn", Step: 1, Call: 1}, database.Now()); err != nil || mine || got != end {
			t.Errorf("afterwards: %+v, %v, %v", got, mine, err)
		}
		said := builtins.Step{Turn: "turn", Step: 1, Done: true, Content: `{"text":"hm"}`}
		if _, mine, err := db.Builtins.TakeStep(ctx, b.ID, said, database.Now()); err != nil || !mine {
			t.Errorf("another step: %v, %v", mine, err)
		}
		got, err := db.Builtins.ListSteps(ctx, "turn")
		if diff := cmp.Diff([]builtins.Step{said, end}, got); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	})
}

// TestStepsEndWithTheirRequest: what has ended takes no step, whether or not
// its steps are forgotten, and they are once nobody can be at work on it.
func TestStepsEndWithTheirRequest(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx, b := t.Context(), storetest.Builtin(t, db, "helper")
		for _, turn := range []string{"over", "open"} {
			storetest.UnderWay(t, db, turn)
			if _, _, err := db.Builtins.TakeStep(ctx, b.ID, builtins.Step{Turn: turn, Step: 1, Content: "{}"}, database.Now()); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := db.ExecContext(ctx, "DELETE FROM deliveries WHERE turn = 'over'"); err != nil {
			t.Fatal(err)
		}
		count := func(turn string, want int) {
			t.Helper()
			if got, err := db.Builtins.ListSteps(ctx, turn); err != nil || len(got) != want {
				t.Errorf("%s: %v, %v", turn, got, err)
			}
		}
		refused := func() {
			t.Helper()
			_, _, err := db.Builtins.TakeStep(ctx, b.ID, builtins.Step{Turn: "over", Step: 2, Content: "{}"}, database.Now())
			storetest.WantCode(t, err, beeos.MessageTerminal)
		}
		refused()
		past, future := database.Now().Add(-time.Hour), database.Now().Add(time.Hour)
		forget := func(before, deletedBefore time.Time) {
			t.Helper()
			if err := db.Builtins.ForgetSteps(ctx, before, deletedBefore); err != nil {
				t.Fatal(err)
			}
		}
		forget(past, past)
		count("over", 1) // somebody may still be at work on it
		if _, err := db.ExecContext(ctx, `INSERT INTO messages (channel, off, id, type, in_reply_to, terminal, state, stop_reason, publisher, body, parts, payload, created_at)
			VALUES ('c', 2, 'reply', 'agent_reply', 'over', TRUE, 'completed', '', 'a', '', '', '', 0)`); err != nil {
			t.Fatal(err)
		}
		forget(past, future)
		count("over", 1) // its answer is there, and can be forked
		if _, err := db.ExecContext(ctx, "DELETE FROM messages"); err != nil {
			t.Fatal(err)
		}
		forget(past, future)
		count("over", 0)
		count("open", 1)
		refused()
		if err := db.Builtins.Delete(ctx, b.OwnerID, b.ID); err != nil {
			t.Fatal(err)
		}
		count("open", 0)
	})
}

// TestForkTakesOverSteps of another request, up to one of them, once, and only of
// the same agent.
func TestForkTakesOverSteps(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx, b := t.Context(), storetest.Builtin(t, db, "helper")
		take := func(turn string, step, call int, content string) {
			t.Helper()
			if _, _, err := db.Builtins.TakeStep(ctx, b.ID, builtins.Step{Turn: turn, Step: step, Call: call, Done: true, Content: content}, database.Now()); err != nil {
				t.Fatal(err)
			}
		}
		storetest.UnderWay(t, db, "first")
		for step := 1; step <= 3; step++ {
			take("first", step, 0, `"said"`)
			take("first", step, 1, `"done"`)
		}
		if last, err := db.Builtins.LastStep(ctx, "first"); err != nil || last != 3 {
			t.Errorf("the last step is %d, %v", last, err)
		}
		fork := func(agent string, before, want int) {
			t.Helper()
			if err := db.Builtins.ForkSteps(ctx, agent, "first", "fork", before, database.Now()); err != nil {
				t.Fatal(err)
			}
			if got, err := db.Builtins.ListSteps(ctx, "fork"); err != nil || len(got) != want {
				t.Errorf("the fork has %v, %v", got, err)
			}
		}
		fork(b.ID, 3, 0) // there is no such request under way
		storetest.UnderWay(t, db, "fork")
		fork("somebody else", 3, 0)
		fork(b.ID, 3, 4)
		take("fork", 3, 0, `"otherwise"`)
		fork(b.ID, 3, 5) // begun anew after a crash
		if last, err := db.Builtins.LastStep(ctx, "nothing"); err != nil || last != 0 {
			t.Errorf("the last step of nothing is %d, %v", last, err)
		}
	})
}
