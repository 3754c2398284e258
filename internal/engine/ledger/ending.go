package ledger

import (
	"context"
	"database/sql"

	"github.com/beeos/beeos"
)

var endDeliveries = newStatement(`DELETE FROM deliveries WHERE turn IN (`, `?`, `) RETURNING turn, agent_id, route, lane, trail, cancel_at, seq, attempt, trace`)

// ending is a delivery that ends in this batch.
type ending struct {
	route       int64
	lane, trail string
	cancelAt    int64
	began       int64 // when the request was stored
	attempt     int64 // the last one; 0 = it was never handed out
	trace       string
}

// markDeliveries notes on the deliveries of requests what messages about them mean.
func (b *batch) markDeliveries(ctx context.Context) error {
	for _, o := range b.ops {
		if o.message == nil || o.err != nil {
			continue
		}
		if err := b.markDelivery(ctx, o.message); err != nil {
			return err
		}
	}
	return nil
}

// markDelivery notes on the delivery of a request what a message about it means: it
// waits for its caller, goes on, or should end.
func (b *batch) markDelivery(ctx context.Context, m *beeos.Message) error {
	switch m.Type {
	case beeos.AgentInputRequired, beeos.AgentAuthRequired:
		return b.w.exec(ctx, `UPDATE deliveries SET paused = $2 WHERE turn = $1 AND leased`, m.InReplyTo, string(m.Type))
	case beeos.Continue, beeos.AuthGrant:
		return b.w.exec(ctx, `UPDATE deliveries SET paused = '' WHERE turn = $1`, m.InReplyTo)
	case beeos.ChatCancel:
		return b.w.exec(ctx, `UPDATE deliveries SET cancel_at = $2 WHERE turn = $1 AND cancel_at = 0`, m.InReplyTo, b.now)
	}
	return nil
}

// endDeliveries ends the deliveries of requests that get their terminal reply. Only
// the first reply to one finds it. A reply to a request whose end was asked for
// says so, whatever its agent calls it: the words are kept, but whoever cancelled
// finds the request cancelled.
func (b *batch) endDeliveries(ctx context.Context) error {
	var turns []any
	for _, o := range b.ops {
		if m := o.message; m != nil && o.err == nil && m.Type.Terminal() {
			turns = append(turns, m.InReplyTo)
		}
	}
	if len(turns) == 0 {
		return nil
	}
	b.endings = make(map[string]ending, len(turns))
	err := b.w.queryRows(ctx, endDeliveries, turns, func(r *sql.Rows) error {
		var turn, agent string
		var e ending
		err := r.Scan(&turn, &agent, &e.route, &e.lane, &e.trail, &e.cancelAt, &e.began, &e.attempt, &e.trace)
		if e.lane != "" {
			b.freed = append(b.freed, agent)
		}
		b.endings[turn] = e
		return err
	})
	if err != nil {
		return err
	}
	for _, o := range b.ops {
		if o.message != nil && b.endings[o.message.InReplyTo].cancelAt > 0 && o.message.Type.Terminal() {
			o.message.State, o.message.StopReason = beeos.StateCancelled, beeos.StopUser
		}
	}
	return nil
}
