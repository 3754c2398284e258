package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
)

// underWay makes a request that nobody has answered yet.
func underWay(t *testing.T, db *DB, turn string) {
	t.Helper()
	_, err := db.write(t.Context(), `INSERT INTO deliveries (turn, channel, off, agent_id, lane, seq, leased, attempt, lease_until, started, mode, redelivery, deadline)
		VALUES ($1, 'c', 1, 'a', '', 1, TRUE, 1, 0, FALSE, 'stream', 'always', 0)`, turn)
	if err != nil {
		t.Fatal(err)
	}
}

// TestStepsAreTakenOnce: of many who would take a step one does, and the others
// are told what that one wrote.
func TestStepsAreTakenOnce(t *testing.T) {
	each(t, func(t *testing.T, db *DB) {
		ctx, b := t.Context(), builtin(t, db, "helper")
		underWay(t, db, "turn")
		var wrote [8]Step
		var mine [8]bool
		if ok, codes := together(t, len(wrote), func(i int) (err error) {
			wrote[i], mine[i], err = db.TakeStep(ctx, b.ID, Step{Turn: "turn", Step: 1, Call: 1, Content: fmt.Sprintf(`"%d"`, i)}, now())
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
		end := Step{Turn: "turn", Step: 1, Call: 1, Content: `"it ran"`}
		if err := db.EndStep(ctx, end); err != nil {
			t.Fatal(err)
		}
		end.Done = true
		if got, mine, err := db.TakeStep(ctx, b.ID, Step{Turn: "turn", Step: 1, Call: 1}, now()); err != nil || mine || got != end {
			t.Errorf("afterwards: %+v, %v, %v", got, mine, err)
		}
		said := Step{Turn: "turn", Step: 1, Done: true, Content: `{"text":"hm"}`}
		if _, mine, err := db.TakeStep(ctx, b.ID, said, now()); err != nil || !mine {
			t.Errorf("another step: %v, %v", mine, err)
		}
		got, err := db.Steps(ctx, "turn")
		if diff := cmp.Diff([]Step{said, end}, got); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	})
}

// TestStepsEndWithTheirRequest: what has ended takes no step, whether or not
// its steps are forgotten, and they are once nobody can be at work on it.
func TestStepsEndWithTheirRequest(t *testing.T) {
	each(t, func(t *testing.T, db *DB) {
		ctx, b := t.Context(), builtin(t, db, "helper")
		for _, turn := range []string{"over", "open"} {
			underWay(t, db, turn)
			if _, _, err := db.TakeStep(ctx, b.ID, Step{Turn: turn, Step: 1, Content: "{}"}, now()); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := db.write(ctx, "DELETE FROM deliveries WHERE turn = 'over'"); err != nil {
			t.Fatal(err)
		}
		count := func(turn string, want int) {
			t.Helper()
			if got, err := db.Steps(ctx, turn); err != nil || len(got) != want {
				t.Errorf("%s: %v, %v", turn, got, err)
			}
		}
		refused := func() {
			t.Helper()
			_, _, err := db.TakeStep(ctx, b.ID, Step{Turn: "over", Step: 2, Content: "{}"}, now())
			wantCode(t, err, beeos.MessageTerminal)
		}
		refused()
		if err := db.ForgetSteps(ctx, now().Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
		count("over", 1) // somebody may still be at work on it
		if err := db.ForgetSteps(ctx, now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		count("over", 0)
		count("open", 1)
		refused()
		if err := db.DeleteBuiltin(ctx, b.OwnerID, b.ID); err != nil {
			t.Fatal(err)
		}
		count("open", 0)
	})
}
