package ledger

import (
	"context"
	"fmt"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
)

// ConversationFilter selects conversations of one owner.
type ConversationFilter struct {
	Owner        string
	AgentID      string // with this agent; empty = with all
	Open, Closed bool   // only those that are; neither = all
	Before       string // only those with a smaller id
	Limit        int

	// Words picks those that have it in their title, or are with one of Agents;
	// empty = all.
	Words  string
	Agents []string
}

// Conversations returns the channels that f selects, the newest first.
func (l *Ledger) Conversations(ctx context.Context, f ConversationFilter) ([]beeos.Channel, error) {
	var q clause
	q.add(`kind = 'conversation'`)
	q.add(`owner = ?`, f.Owner)
	if f.AgentID != "" {
		q.add(`agent_id = ?`, f.AgentID)
	}
	if f.Words != "" {
		either, args := `LOWER(title) LIKE ? ESCAPE '!'`, []any{"%" + likeEscape.Replace(strings.ToLower(f.Words)) + "%"}
		for _, id := range f.Agents {
			either, args = either+` OR agent_id = ?`, append(args, id)
		}
		q.add(`(`+either+`)`, args...)
	}
	if f.Before != "" {
		q.add(`id < ?`, f.Before)
	}
	switch {
	case f.Open:
		q.add(`closed_reason = ''`)
	case f.Closed:
		q.add(`closed_reason <> ''`)
	}
	return database.List(ctx, l.db, "list conversations", channelFields,
		`SELECT `+channelColumns+` FROM channels`+q.text.String()+fmt.Sprintf(` ORDER BY id DESC LIMIT %d`, f.Limit), q.args...)
}

// likeEscape makes a text mean itself in LIKE.
var likeEscape = strings.NewReplacer(`!`, `!!`, `%`, `!%`, `_`, `!_`)

// ConversationAgents returns the agents that an owner has conversations with.
func (l *Ledger) ConversationAgents(ctx context.Context, owner string) ([]string, error) {
	return database.ListTexts(ctx, l.db, "list agents of conversations", `SELECT DISTINCT agent_id FROM channels WHERE kind = 'conversation' AND owner = $1`, owner)
}

// RenameChannel gives a channel a title.
func (l *Ledger) RenameChannel(ctx context.Context, id, title string) error {
	return l.runInWriter(ctx, func(ctx context.Context, b *batch) error {
		return b.w.exec(ctx, `UPDATE channels SET title = $2, metadata_version = metadata_version + 1 WHERE id = $1`, id, title)
	})
}

// SetModel chooses the model for a channel; "" is the agent's own again.
func (l *Ledger) SetModel(ctx context.Context, id, model string) error {
	return l.runInWriter(ctx, func(ctx context.Context, b *batch) error {
		return b.w.exec(ctx, `UPDATE channels SET model = $2, metadata_version = metadata_version + 1 WHERE id = $1`, id, model)
	})
}

// ClearHistory lets the agent start afresh in a channel: what has been said stays in
// the log, and is not its history any more. It returns how often that was done.
func (l *Ledger) ClearHistory(ctx context.Context, id string) (generation int64, err error) {
	err = l.runInWriter(ctx, func(ctx context.Context, b *batch) error {
		generation = 0
		err := b.w.exec(ctx, `UPDATE channels SET generation = generation + 1, cleared = next_off - 1, metadata_version = metadata_version + 1 WHERE id = $1`, id)
		if err != nil {
			return err
		}
		return b.w.query(ctx, `SELECT generation FROM channels WHERE id = $1`, []any{id}, func(r database.Row) error { return r.Scan(&generation) })
	})
	if err == nil && generation == 0 {
		err = errNoChannel
	}
	return generation, err
}

// DeleteChannel forgets a channel and what was said in it. While a request of
// it is open that is a Conflict.
func (l *Ledger) DeleteChannel(ctx context.Context, id string) error {
	busy := false // the writer's work is shared, so a refusal must not look like a failure to it
	err := l.runInWriter(ctx, func(ctx context.Context, b *batch) error {
		busy = false
		if err := b.lockChannels(ctx, []any{id}); err != nil { // a request that another writer stores now is seen then
			return err
		}
		err := b.w.query(ctx, `SELECT 1 FROM channels WHERE id = $1 AND `+isBusy, []any{id}, func(database.Row) error { busy = true; return nil })
		if err != nil || busy {
			return err
		}
		return b.forgetChannels(ctx, []any{id})
	})
	if err == nil && busy {
		return beeos.Errorf(beeos.Conflict, "the agent still works on a message of this channel; cancel it, or wait for its reply, and try again")
	}
	return err
}

// ClaimKey claims an idempotency key for an act that is not a request, done to
// the channel. A known key gives the channel of the first time; another
// payload under it is a Conflict.
func (l *Ledger) ClaimKey(ctx context.Context, k Idempotency, channel string) (*Duplicate, error) {
	var dup *Duplicate
	var same bool
	err := l.runInWriter(ctx, func(ctx context.Context, b *batch) (err error) {
		dup, same, err = b.claimKey(ctx, &k, "", channel)
		return err
	})
	switch {
	case err != nil:
		return nil, err // dup may still be the writer's
	case !same:
		return dup, errReused
	}
	return dup, nil
}

var errReused = beeos.Errorf(beeos.Conflict, "idempotency_key was used before with another payload; use a new key for a new request")
