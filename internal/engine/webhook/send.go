package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/webhooks"
	"github.com/beeos/beeos/internal/telemetry/trace"
)

// attempt sends a delivery once and writes down what came of it.
func (h *Hooks) attempt(ctx context.Context, d webhooks.Delivery, w webhooks.Webhook) error {
	begun := time.Now()
	status, wait, err := h.post(ctx, d, w)
	if err != nil && ctx.Err() != nil {
		return nil // we are stopping: whoever has the lease next tries again
	}
	ctx = context.WithoutCancel(ctx) // what was taken is not to be sent again
	now := h.opt.Now()
	last := webhooks.Attempt{At: now.UTC(), Response: status, TookMS: time.Since(begun).Milliseconds()}
	if err != nil {
		last.Error = err.Error()
	}
	d.Attempts, d.Tries = d.Attempts+1, d.Tries+1
	d.AttemptedAt, d.Response, d.Error, d.History = now, last.Response, last.Error, append(d.History, last)
	next, again := retryPause(d.Tries, wait)
	switch {
	case err == nil:
		d.Status, d.Due, d.CompletedAt = webhooks.DeliverySucceeded, time.Time{}, now
	case status == http.StatusGone || !again:
		d.Status, d.Due, d.CompletedAt = webhooks.DeliveryDead, time.Time{}, now
		h.opt.Log.WarnContext(ctx, "webhook delivery given up", "delivery", d.ID, "webhook", w.ID, "attempts", d.Attempts, "status", status, "reason", last.Error)
	default:
		d.Status, d.Due = webhooks.DeliveryFailed, now.Add(next)
	}
	if h.opt.Attempted != nil {
		h.opt.Attempted(d.Status)
	}
	if err := h.opt.Webhooks.FinishDelivery(ctx, d); err != nil {
		return err
	}
	if status == http.StatusGone {
		return h.opt.Webhooks.Disable(ctx, w.ID, now)
	}
	return nil
}

// post sends the bytes of a delivery. wait is what the receiver asks for
// before the next attempt.
func (h *Hooks) post(ctx context.Context, d webhooks.Delivery, w webhooks.Webhook) (status int, wait time.Duration, err error) {
	req, err := h.newRequest(ctx, d, w)
	if err != nil {
		return 0, 0, err
	}
	resp, err := h.client.Do(req.WithContext(h.withTrace(ctx, w.Turn)))
	if err != nil {
		return 0, 0, fmt.Errorf("%s", publicReason(err)) // the whole error would tell about our network
	}
	defer resp.Body.Close()
	// What it says does not matter; a short answer is read so that the
	// connection can be used again.
	io.Copy(io.Discard, resp.Body) //nolint:errcheck // the status has come
	switch code := resp.StatusCode; {
	case code >= 200 && code < 300:
		return code, 0, nil
	case code >= 300 && code < 400:
		return code, 0, fmt.Errorf("the receiver answered %d; redirects are not followed, register the address that it names", code)
	default:
		return code, retryAfter(resp.Header, h.opt.Now()), fmt.Errorf("the receiver answered %d", code)
	}
}

// withTrace is ctx at the place of a task in its distributed trace, if it has one.
func (h *Hooks) withTrace(ctx context.Context, turn string) context.Context {
	stored, err := h.opt.Ledger.Trace(ctx, turn)
	if err != nil {
		h.opt.Log.DebugContext(ctx, "a webhook is sent without its trace", "turn", turn, "err", err)
	}
	return beeos.WithTrace(ctx, trace.ParseOrigin(stored).At(turn))
}

func (h *Hooks) newRequest(ctx context.Context, d webhooks.Delivery, w webhooks.Webhook) (*http.Request, error) {
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
	sign(req.Header, d.ID, c.secrets(now), now, body)
	return req, nil
}

// composeBody is what is sent: the payload as it is kept, and a link that lets a
// person decide, which is made for this attempt and kept nowhere.
func (h *Hooks) composeBody(ctx context.Context, d webhooks.Delivery, w webhooks.Webhook) ([]byte, error) {
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
