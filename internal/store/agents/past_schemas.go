package agents

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"slices"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/wire/schema"
)

// Calls outlive the schemas that they were made by: who looks at one later must
// still be able to tell what of its arguments was secret.

const (
	maxPastSchemas = 200      // of one agent; those before are forgotten
	maxPastSchema  = 64 << 10 // bytes; of a longer one it is only known that it was there

	tooLong = "too long" // which is no schema, so everything is secret
)

// keepPastSchemas keeps what the agent does not say any more about its tools: the
// schemas that named something secret, and which tools there were.
func keepPastSchemas(ctx context.Context, tx *sql.Tx, a *beeos.Agent, before []beeos.Skill) error {
	var rows [][]any
	for _, was := range before {
		i := slices.IndexFunc(a.Definition.Skills, func(s beeos.Skill) bool { return s.Name == was.Name })
		if i >= 0 && bytes.Equal(a.Definition.Skills[i].InputSchema, was.InputSchema) {
			continue
		}
		text := ""
		switch secret := schema.NamesSecrets(was.InputSchema); {
		case secret && len(was.InputSchema) > maxPastSchema:
			text = tooLong
		case secret:
			text = string(was.InputSchema)
		case i >= 0:
			continue // the tool is known without it
		}
		sum := sha256.Sum256([]byte(text))
		rows = append(rows, []any{a.ID, was.Name, sum[:], text, database.Micros(database.Now())})
	}
	if len(rows) == 0 {
		return nil
	}
	err := database.InsertRows(ctx, tx, "past_schemas", "agent_id, tool, hash, input_schema, seen_at", rows,
		" ON CONFLICT (agent_id, tool, hash) DO UPDATE SET seen_at = excluded.seen_at")
	if err != nil {
		return err
	}
	return database.Exec(ctx, tx, "forget old schemas", `DELETE FROM past_schemas WHERE agent_id = $1
		AND (tool, hash) NOT IN (SELECT tool, hash FROM past_schemas WHERE agent_id = $1 ORDER BY seen_at DESC, tool, hash LIMIT $2)`, a.ID, maxPastSchemas)
}

// ListPastSchemas returns the schemas of a tool that named something secret and that
// the agent does not have any more. One that is empty says that there was such a
// tool, and that it named nothing.
func (tb *Table) ListPastSchemas(ctx context.Context, agentID, tool string) ([]json.RawMessage, error) {
	texts, err := database.ListTexts(ctx, tb.db, "list past schemas", "SELECT input_schema FROM past_schemas WHERE agent_id = $1 AND tool = $2 ORDER BY hash", agentID, tool)
	list := make([]json.RawMessage, len(texts))
	for i, text := range texts {
		list[i] = json.RawMessage(text)
	}
	return list, err
}
