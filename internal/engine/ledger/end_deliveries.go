package ledger

import (
	"context"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
)

// What is empty in nearly all rows comes as one value: each that is read costs a
// call.
const (
	separator     = "\x1f" // in no id, trail or trace
	rareOfEndings = `CASE WHEN lane = '' AND trail = '' AND cancel_at = 0 AND trace = '' THEN ''
		ELSE agent_id || '` + separator + `' || lane || '` + separator + `' || trail || '` + separator + `' || cancel_at || '` + separator + `' || trace END`
)

var endDeliveries = newStatement(`DELETE FROM deliveries WHERE turn IN (`, `?`, `) RETURNING turn, route, seq, attempt, `+rareOfEndings)

// ending is a delivery that ends in this batch.
type ending struct {
	route       int64
	lane, trail string
	cancelled   bool
	began       int64 // when the request was stored
	attempt     int64 // the last one; 0 = it was never handed out
	trace       string
}

// readRare reads what few endings have, and returns the agent.
func (e *ending) readRare(text string) (agent string) {
	f := strings.SplitN(text, separator, 5)
	if len(f) < 5 {
		return ""
	}
	e.lane, e.trail, e.cancelled, e.trace = f[1], f[2], f[3] != "0", f[4]
	return f[0]
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
	err := b.w.queryRows(ctx, endDeliveries, turns, func(r database.Row) error {
		var turn, rare string
		var e ending
		err := r.Scan(&turn, &e.route, &e.began, &e.attempt, &rare)
		if agent := e.readRare(rare); e.lane != "" {
			b.freed = append(b.freed, agent)
		}
		b.endings[turn] = e
		return err
	})
	if err != nil {
		return err
	}
	for _, o := range b.ops {
		if o.message != nil && b.endings[o.message.InReplyTo].cancelled && o.message.Type.Terminal() {
			o.message.State, o.message.StopReason = beeos.StateCancelled, beeos.StopUser
		}
	}
	return nil
}
