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

// A fork takes over what was done before a step of another request: only of the
// same agent, and once, however often it is begun anew.
const forkSteps = `INSERT INTO builtin_steps (` + stepColumns + `, builtin_id, created_at)
	SELECT CAST($1 AS TEXT), step, call, done, content, builtin_id, CAST($2 AS BIGINT) FROM builtin_steps WHERE turn = $3 AND step < $4 AND builtin_id = $5
	AND EXISTS (SELECT 1 FROM deliveries WHERE turn = CAST($1 AS TEXT))
	ON CONFLICT (turn, step, call) DO NOTHING`

// ForkSteps makes what was done for a request before a step of it count as done
// for another, which is under way.
func (tb *Table) ForkSteps(ctx context.Context, builtinID, from, to string, before int, now time.Time) error {
	return database.Exec(ctx, tb.db, "fork steps", forkSteps, to, database.Micros(now), from, before, builtinID)
}

// LastStep returns for which step of a request it is last known what the model
// said; 0 = for none.
func (tb *Table) LastStep(ctx context.Context, turn string) (int, error) {
	last, err := database.GetValue[int64](ctx, tb.db, "read the last step", "SELECT COALESCE(MAX(step), 0) FROM builtin_steps WHERE turn = $1 AND call = 0", turn)
	return int(last), err
}

// EndStep notes how a step that was taken came out.
func (tb *Table) EndStep(ctx context.Context, s Step) error {
	return database.Exec(ctx, tb.db, "keep the end of a step", "UPDATE builtin_steps SET done = TRUE, content = $4 WHERE turn = $1 AND step = $2 AND call = $3",
		s.Turn, s.Step, s.Call, s.Content)
}

// ForgetSteps drops what was done before the first time for requests that have
// ended, and what was done before the second for those whose answer has been
// deleted, too: nobody can fork them any more.
func (tb *Table) ForgetSteps(ctx context.Context, before, deletedBefore time.Time) error {
	return database.Exec(ctx, tb.db, "forget steps", `DELETE FROM builtin_steps WHERE created_at < $2
		AND NOT EXISTS (SELECT 1 FROM deliveries WHERE deliveries.turn = builtin_steps.turn)
		AND (created_at < $1 OR NOT EXISTS (SELECT 1 FROM messages WHERE terminal AND in_reply_to = builtin_steps.turn))`, database.Micros(before), database.Micros(deletedBefore))
}

func stepFields(s *Step) []any { return []any{&s.Turn, &s.Step, &s.Call, &s.Done, &s.Content} }
