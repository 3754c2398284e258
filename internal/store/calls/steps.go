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
	text, err := database.GetValue[string](ctx, t.db, "read steps", `SELECT steps FROM messages WHERE terminal AND in_reply_to = $1`, turn)
	if err != nil || text == "" {
		return nil, err
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, fmt.Errorf("read steps: %w", err)
	}
	return list, nil
}
