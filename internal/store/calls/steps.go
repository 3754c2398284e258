package calls

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
)

// Steps returns what the agent told of its work for a call.
func (t *Table) Steps(ctx context.Context, turn string) (list []beeos.Step, err error) {
	text, err := database.GetValue[string](ctx, t.db, "read steps",
		`SELECT s.steps FROM calls c JOIN call_steps s ON s.n = c.n WHERE c.n IN ($1, $2) AND c.turn = $3`, append(Places(turn), encodeID(turn))...)
	if err != nil || text == "" {
		return nil, err
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, fmt.Errorf("read steps: %w", err)
	}
	return list, nil
}
