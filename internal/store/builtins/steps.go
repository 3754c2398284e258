package builtins

import (
	"context"
	"database/sql"
	"fmt"
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
	rows, err := tb.db.QueryContext(ctx, "SELECT "+stepColumns+" FROM builtin_steps WHERE turn = $1 ORDER BY step, call", turn)
	list, err := database.Collect(rows, err, scanStep)
	if err != nil {
		return nil, fmt.Errorf("read steps: %w", err)
	}
	return list, nil
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
	err = tb.db.Tx(ctx, func(tx *sql.Tx) error {
		mine = false
		res, err := tx.ExecContext(ctx, takeStep, s.Turn, s.Step, s.Call, s.Done, s.Content, builtinID, database.Micros(now))
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		if err != nil {
			return err
		}
		if mine = n == 1; mine {
			kept = s
			return nil
		}
		kept, err = scanStep(tx.QueryRowContext(ctx, "SELECT "+stepColumns+" FROM builtin_steps WHERE turn = $1 AND step = $2 AND call = $3", s.Turn, s.Step, s.Call))
		return err
	})
	if database.IsAbsent(err) {
		return kept, false, beeos.Errorf(beeos.MessageTerminal, "the request has ended already")
	}
	if err != nil {
		return kept, false, fmt.Errorf("keep step: %w", err)
	}
	return kept, mine, nil
}

// EndStep notes how a step that was taken came out.
func (tb *Table) EndStep(ctx context.Context, s Step) error {
	_, err := tb.db.Write(ctx, "UPDATE builtin_steps SET done = TRUE, content = $4 WHERE turn = $1 AND step = $2 AND call = $3", s.Turn, s.Step, s.Call, s.Content)
	if err != nil {
		return fmt.Errorf("keep the end of a step: %w", err)
	}
	return nil
}

// ForgetSteps drops what was done before then for requests that have ended.
func (tb *Table) ForgetSteps(ctx context.Context, before time.Time) error {
	_, err := tb.db.Write(ctx, `DELETE FROM builtin_steps WHERE created_at < $1
		AND NOT EXISTS (SELECT 1 FROM deliveries WHERE deliveries.turn = builtin_steps.turn)`, database.Micros(before))
	if err != nil {
		return fmt.Errorf("forget steps: %w", err)
	}
	return nil
}

func scanStep(row database.Scanner) (s Step, err error) {
	err = row.Scan(&s.Turn, &s.Step, &s.Call, &s.Done, &s.Content)
	return s, err
}
