package ledger

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"

	"github.com/beeos/beeos"
)

// ConversationFilter selects the conversations of one owner with one agent.
type ConversationFilter struct {
	Owner, AgentID string
	Open, Closed   bool   // only those that are; neither = all
	Before         string // only those with a smaller id
	Limit          int
}

// Conversations returns the channels that f selects, the newest first.
func (l *Ledger) Conversations(ctx context.Context, f ConversationFilter) ([]beeos.Channel, error) {
	var q clause
	q.add(`kind = 'conversation'`)
	q.add(`owner = ?`, f.Owner)
	q.add(`agent_id = ?`, f.AgentID)
	if f.Before != "" {
		q.add(`id < ?`, f.Before)
	}
	switch {
	case f.Open:
		q.add(`closed_reason = ''`)
	case f.Closed:
		q.add(`closed_reason <> ''`)
	}
	rows, err := l.db.QueryContext(ctx, `SELECT `+channelColumns+` FROM channels`+q.text.String()+fmt.Sprintf(` ORDER BY id DESC LIMIT %d`, f.Limit), q.args...)
	if err != nil {
		return nil, fmt.Errorf("list conversations: %w", err)
	}
	defer rows.Close()
	var all []beeos.Channel
	for rows.Next() {
		c, err := scanChannel(rows)
		if err != nil {
			return nil, fmt.Errorf("list conversations: %w", err)
		}
		all = append(all, c)
	}
	return all, rows.Err()
}

// Rename gives a channel a title.
func (l *Ledger) Rename(ctx context.Context, id, title string) error {
	return l.do(ctx, func(ctx context.Context, b *batch) error {
		return b.w.exec(ctx, `UPDATE channels SET title = $2 WHERE id = $1`, id, title)
	})
}

// SetModel chooses the model for a channel; "" is the agent's own again.
func (l *Ledger) SetModel(ctx context.Context, id, model string) error {
	return l.do(ctx, func(ctx context.Context, b *batch) error {
		return b.w.exec(ctx, `UPDATE channels SET model = $2 WHERE id = $1`, id, model)
	})
}

// Clear lets the agent start afresh in a channel: what has been said stays in
// the log, and is not its history any more. It returns how often that was done.
func (l *Ledger) Clear(ctx context.Context, id string) (generation int64, err error) {
	err = l.do(ctx, func(ctx context.Context, b *batch) error {
		generation = 0
		err := b.w.exec(ctx, `UPDATE channels SET generation = generation + 1, cleared = next_off - 1 WHERE id = $1`, id)
		if err != nil {
			return err
		}
		return b.w.query(ctx, `SELECT generation FROM channels WHERE id = $1`, []any{id}, func(r *sql.Rows) error { return r.Scan(&generation) })
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
	err := l.do(ctx, func(ctx context.Context, b *batch) error {
		busy = false
		if err := b.lock(ctx, []any{id}); err != nil { // a request that another writer stores now is seen then
			return err
		}
		err := b.w.query(ctx, `SELECT 1 FROM deliveries WHERE channel = $1 LIMIT 1`, []any{id}, func(*sql.Rows) error { busy = true; return nil })
		if err != nil || busy {
			return err
		}
		if _, err := b.w.execRows(ctx, forgetMessages, []any{id}); err != nil {
			return err
		}
		_, err = b.w.execRows(ctx, forgetChannels, []any{id})
		return err
	})
	if err == nil && busy {
		return beeos.Errorf(beeos.Conflict, "the agent still works on a message of this channel; cancel it, or wait for its reply, and try again")
	}
	return err
}

// Remember claims an idempotency key for an act that is not a request, done to
// the channel. A known key gives the channel of the first time; another
// payload under it is a Conflict.
func (l *Ledger) Remember(ctx context.Context, k Idempotency, channel string) (*Duplicate, error) {
	var dup *Duplicate
	var known []byte
	err := l.do(ctx, func(ctx context.Context, b *batch) error {
		dup = nil
		if err := b.w.exec(ctx, `DELETE FROM idempotency WHERE scope = $1 AND key = $2 AND expires_at <= $3`, k.Scope, k.Key, b.now); err != nil {
			return err
		}
		n, err := b.w.execRows(ctx, insertKeys, []any{k.Scope, k.Key, "", channel, k.Fingerprint, micros(k.Expires)})
		if err != nil || n == 1 {
			return err
		}
		dup = &Duplicate{}
		return b.w.query(ctx, `SELECT turn, channel, fingerprint FROM idempotency WHERE scope = $1 AND key = $2`, []any{k.Scope, k.Key},
			func(r *sql.Rows) error { return r.Scan(&dup.Turn, &dup.Channel, &known) })
	})
	switch {
	case err != nil:
		return nil, err // dup may still be the writer's
	case dup != nil && !bytes.Equal(known, k.Fingerprint):
		return dup, errReused
	}
	return dup, nil
}

var errReused = beeos.Errorf(beeos.Conflict, "idempotency_key was used before with another payload; use a new key for a new request")
