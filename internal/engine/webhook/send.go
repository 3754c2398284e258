package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/courier"
	"github.com/beeos/beeos/internal/store/outbox"
	"github.com/beeos/beeos/internal/store/webhooks"
	"github.com/beeos/beeos/internal/telemetry/trace"
)

// send sends the bytes of a delivery.
func (h *Hooks) send(ctx context.Context, d outbox.Delivery, w webhooks.Webhook) courier.Outcome {
	req, err := h.newRequest(ctx, d, w)
	if err != nil {
		return courier.Outcome{Err: err}
	}
	return courier.Post(h.client, req.WithContext(h.withTrace(ctx, w.Turn)), h.opt.Now())
}

// withTrace is ctx at the place of a task in its distributed trace, if it has one.
func (h *Hooks) withTrace(ctx context.Context, turn string) context.Context {
	stored, err := h.opt.Ledger.Trace(ctx, turn)
	if err != nil {
		h.opt.Log.DebugContext(ctx, "a webhook is sent without its trace", "turn", turn, "err", err)
	}
	return beeos.WithTrace(ctx, trace.ParseOrigin(stored).At(turn))
}

func (h *Hooks) newRequest(ctx context.Context, d outbox.Delivery, w webhooks.Webhook) (*http.Request, error) {
	c, err := h.unseal(w.ID, w.Sealed)
	if err != nil {
		return nil, err
	}
	body, err := h.composeBody(ctx, d, w)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("the URL cannot be used; register another one")
	}
	for name, value := range map[string]string{
		"Content-Type": h.formats[w.Renderer].ContentType, "User-Agent": "BeeOS/" + beeos.Version,
		"X-BeeOS-Event": "task.state", "X-BeeOS-Task-Id": w.Turn, "X-BeeOS-Webhook-Format": w.Renderer,
	} {
		req.Header.Set(name, value)
	}
	if c.Token != "" {
		scheme := c.Scheme
		if scheme == "" {
			scheme = "Bearer"
		}
		req.Header.Set("Authorization", scheme+" "+c.Token)
	}
	if c.Note != "" {
		req.Header.Set("X-A2A-Notification-Token", c.Note)
	}
	now := h.opt.Now()
	courier.Sign(req.Header, d.ID, c.secrets(now), now, body)
	return req, nil
}

// composeBody is what is sent: the payload as it is kept, and a link that lets a
// person decide, which is made for this attempt and kept nowhere.
func (h *Hooks) composeBody(ctx context.Context, d outbox.Delivery, w webhooks.Webhook) ([]byte, error) {
	f := h.formats[w.Renderer]
	if f.Link == nil || h.opt.ApprovalLink == nil {
		return d.Payload, nil
	}
	body, err := f.Link(d.Payload, func(approval string) (string, error) { return h.opt.ApprovalLink(ctx, approval, w) })
	if err != nil {
		h.opt.Log.ErrorContext(ctx, "no link for an approval", "delivery", d.ID, "err", err)
		return nil, errors.New("the link to decide by could not be made; it is tried again")
	}
	return body, nil
}
