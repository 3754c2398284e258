package builtins

import (
	"context"
	"database/sql"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
)

// Step is something that a built-in agent does for a request: it asks its
// model, or makes a tool call.
type Step struct {
	Turn    string // the request
	Step    int    // counts how often the model was asked, from 1
	Call    int    // 0 = what the model said; else which of its tool calls, from 1
	Done    bool   // false = it was begun, and how it ended is not known
	Content string // JSON
}

const stepColumns = "turn, step, call, done, content"

// ListSteps returns what was done for a request so far, in order.
func (tb *Table) ListSteps(ctx context.Context, turn string) ([]Step, error) {
	return database.List(ctx, tb.db, "read steps", stepFields, "SELECT "+stepColumns+" FROM builtin_steps WHERE turn = $1 ORDER BY step, call", turn)
}

// A request that has ended takes no more steps: what was done for it may be
// forgotten, and would be done again.
const takeStep = `INSERT INTO builtin_steps (` + stepColumns + `, builtin_id, created_at)
	SELECT CAST($1 AS TEXT), CAST($2 AS BIGINT), CAST($3 AS BIGINT), CAST($4 AS BOOLEAN), CAST($5 AS TEXT), CAST($6 AS TEXT), CAST($7 AS BIGINT)
	WHERE EXISTS (SELECT 1 FROM deliveries WHERE turn = CAST($1 AS TEXT))
	ON CONFLICT (turn, step, call) DO NOTHING`

// TakeStep writes a step down before it is acted upon. When another instance
// was first, mine is false and kept is what that one wrote.
func (tb *Table) TakeStep(ctx context.Context, builtinID string, s Step, now time.Time) (kept Step, mine bool, err error) {
	err = tb.db.Tx(ctx, "keep step", func(tx *sql.Tx) error {
		mine, err = database.Change(ctx, tx, "insert step", takeStep, s.Turn, s.Step, s.Call, s.Done, s.Content, builtinID, database.Micros(now))
		if err != nil || mine {
			kept = s
			return err
		}
		ended := beeos.Errorf(beeos.MessageTerminal, "the request has ended already")
		kept, err = database.Get(ctx, tx, "read step", ended, stepFields, "SELECT "+stepColumns+" FROM builtin_steps WHERE turn = $1 AND step = $2 AND call = $3", s.Turn, s.Step, s.Call)
		return err
	})
	return kept, mine && err == nil, err
}

// EndStep notes how a step that was taken came out.
func (tb *Table) EndStep(ctx context.Context, s Step) error {
	return database.Exec(ctx, tb.db, "keep the end of a step", "UPDATE builtin_steps SET done = TRUE, content = $4 WHERE turn = $1 AND step = $2 AND call = $3",
		s.Turn, s.Step, s.Call, s.Content)
}

// ForgetSteps drops what was done before then for requests that have ended.
func (tb *Table) ForgetSteps(ctx context.Context, before time.Time) error {
	return database.Exec(ctx, tb.db, "forget steps", `DELETE FROM builtin_steps WHERE created_at < $1
		AND NOT EXISTS (SELECT 1 FROM deliveries WHERE deliveries.turn = builtin_steps.turn)`, database.Micros(before))
}

func stepFields(s *Step) []any { return []any{&s.Turn, &s.Step, &s.Call, &s.Done, &s.Content} }
