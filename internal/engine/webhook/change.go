package webhook

import (
	"context"
	"fmt"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/store/outbox"
	"github.com/beeos/beeos/internal/store/webhooks"
)

// lookAt is how many messages are read at a time.
const lookAt = 500

// recordChanges brings a webhook up to date with its task, and says whether there is
// anything new to send.
func (h *Hooks) recordChanges(ctx context.Context, w webhooks.Webhook) (news bool, err error) {
	for w.Watching {
		next, events, err := h.readChanges(ctx, w)
		if err != nil {
			return news, err
		}
		if len(events) == 0 && next.Watching && next.Seen == w.Seen {
			return news, nil
		}
		list, err := h.render(ctx, w, events)
		if err != nil {
			return news, err
		}
		moved, err := h.opt.Webhooks.Advance(ctx, w, next, list, h.opt.Now())
		if err != nil || !moved { // somebody else is at it
			return news, err
		}
		news = news || len(list) > 0
		next.Events = w.Events + int64(len(list))
		w = next
	}
	return news, nil
}

// readChanges reads what happened to the task after the webhook last looked. What
// is said in the log counts, in order. Only when nothing was said does the
// delivery tell whether somebody has the task: it is read first, so that it is
// no younger than the log.
func (h *Hooks) readChanges(ctx context.Context, w webhooks.Webhook) (next webhooks.Webhook, events []Event, err error) {
	next = w
	open, err := h.opt.Ledger.OpenDelivery(ctx, w.Turn)
	gone := beeos.CodeOf(err) == beeos.NotFound
	if err != nil && !gone {
		return next, nil, err
	}
	said, err := h.opt.Ledger.RequestMessages(ctx, w.Channel, w.Turn, w.Seen, lookAt)
	if err != nil {
		return next, nil, err
	}
	turn := func(to beeos.TaskStatus, at time.Time, approval string) {
		if to != next.Status || approval != "" { // several may wait at once
			next.Status = to
			events = append(events, Event{w.Turn, w.Channel, w.Owner, to, at, approval})
		}
	}
	told := len(said) == lookAt // there is more, whatever this is about
	for i := range said {
		if to := h.statusAfter(&said[i]); to != "" && !next.Status.Terminal() {
			turn(to, said[i].CreatedAt, said[i].AskedApproval())
			told = true
		}
	}
	switch {
	case told:
		next.Seen = said[len(said)-1].Offset
	case gone: // with its log
		next.Watching = false
	default:
		turn(h.opt.Status(&ledger.Request{Open: &open}), h.opt.Now(), "")
	}
	next.Watching = next.Watching && !next.Status.Terminal()
	return next, events, nil
}

// statusAfter is how the task stands after a message; empty: as before.
func (h *Hooks) statusAfter(m *beeos.Message) beeos.TaskStatus {
	switch {
	case m.Type.Terminal():
		return h.opt.Status(&ledger.Request{Done: m})
	case m.Type == beeos.AgentInputRequired:
		return beeos.TaskInputRequired
	case m.Type == beeos.AgentAuthRequired:
		return beeos.TaskAuthRequired
	case m.Type == beeos.Continue, m.Type == beeos.AuthGrant:
		return beeos.TaskRunning
	}
	return ""
}

func (h *Hooks) render(ctx context.Context, w webhooks.Webhook, events []Event) ([]outbox.Delivery, error) {
	format, ok := h.formats[w.Renderer]
	if !ok {
		return nil, fmt.Errorf("webhook %s wants the form %q, which this version does not have", w.ID, w.Renderer)
	}
	list := make([]outbox.Delivery, len(events))
	for i, e := range events {
		body, err := format.Render(ctx, e)
		if err != nil {
			return nil, fmt.Errorf("render an event of webhook %s: %w", w.ID, err)
		}
		list[i] = outbox.Delivery{ID: "whd_" + beeos.NewID(), Payload: body}
	}
	return list, nil
}
