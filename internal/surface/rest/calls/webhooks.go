package calls

import (
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/task"
	"github.com/beeos/beeos/internal/engine/webhook"
	"github.com/beeos/beeos/internal/store/outbox"
	"github.com/beeos/beeos/internal/store/webhooks"
	"github.com/beeos/beeos/internal/surface/rest/route"
)

// webhookView is the contract's, with whether its receiver still wants to be
// told. Token and secret are not in it, nor anywhere else.
type webhookView struct {
	WebhookID string    `json:"webhook_id"`
	TaskID    string    `json:"task_id"`
	URL       string    `json:"url"`
	HasSecret bool      `json:"has_secret"`
	Disabled  bool      `json:"disabled,omitempty"`
	CreatedAt time.Time `json:"created_at"`
}

func viewWebhook(w *webhooks.Webhook) webhookView {
	return webhookView{w.ID, w.Turn, w.URL, w.HasSecret, w.Disabled, w.CreatedAt}
}

// deliveryView is the contract's WebhookDeliveryResponse, with every attempt.
type deliveryView struct {
	DeliveryID         string           `json:"delivery_id"`
	WebhookID          string           `json:"webhook_id"`
	TaskID             string           `json:"task_id"`
	Renderer           string           `json:"renderer"`
	Status             outbox.Status    `json:"status"`
	AttemptNum         int              `json:"attempt_num"`
	LastResponseStatus int              `json:"last_response_status"`
	LastError          string           `json:"last_error,omitempty"`
	NextAttemptAt      time.Time        `json:"next_attempt_at"`
	LastAttemptedAt    time.Time        `json:"last_attempted_at,omitzero"`
	CreatedAt          time.Time        `json:"created_at"`
	CompletedAt        time.Time        `json:"completed_at,omitzero"`
	Attempts           []outbox.Attempt `json:"attempts"`
}

func viewDelivery(d *outbox.Delivery, w *webhooks.Webhook) deliveryView {
	v := deliveryView{
		DeliveryID: d.ID, WebhookID: w.ID, TaskID: w.Turn, Renderer: w.Renderer, Status: d.Status, AttemptNum: d.Attempts,
		LastResponseStatus: d.Response, LastError: d.Error, NextAttemptAt: d.Due, LastAttemptedAt: d.AttemptedAt,
		CreatedAt: d.CreatedAt, CompletedAt: d.CompletedAt, Attempts: d.History,
	}
	if d.Due.IsZero() { // the contract wants a time: there was none after this
		v.NextAttemptAt = d.CompletedAt
	}
	return v
}

// registerWebhook lets a receiver be told how a task goes.
func (h *Handlers) registerWebhook(r *route.Request, t *task.Task) (any, error) {
	var url *string
	reg := webhook.Registration{Format: webhook.OpenAPI}
	if err := r.ReadSettings(route.Lenient, route.Shape{"url": &url, "token": &reg.Token, "secret": &reg.Secret}); err != nil {
		return nil, err
	}
	if url == nil {
		return nil, beeos.Errorf(beeos.MissingParam, "url is required")
	}
	reg.URL = *url
	hook, err := h.opt.Acts.RegisterWebhook(r.Context(), r.Caller, t, reg)
	return route.Created(viewWebhook(&hook)), err
}

func (h *Handlers) listWebhooks(r *route.Request, t *task.Task) (any, error) {
	hooks, err := h.opt.Webhooks.List(r.Context(), t.Turn, webhook.OpenAPI)
	return map[string][]webhookView{"webhooks": route.Views(hooks, viewWebhook)}, err
}

// pathWebhook returns the webhook of the path if it belongs to the caller's
// task.
func (h *Handlers) pathWebhook(r *route.Request) (*webhooks.Webhook, error) {
	t, err := h.pathTask(r)
	if err != nil {
		return nil, err
	}
	hook, err := h.opt.Webhooks.Get(r.Context(), t.Turn, r.PathValue("webhookId"))
	if err == nil && hook.Renderer != webhook.OpenAPI {
		err = beeos.Errorf(beeos.NotFound, "there is no such webhook; check the id")
	}
	return &hook, err
}

func (h *Handlers) deleteWebhook(r *route.Request, hook *webhooks.Webhook) (any, error) {
	return route.NoContent, h.opt.Acts.DeleteWebhook(r.Context(), r.Caller, *hook)
}

// listDeliveries shows what was sent to a webhook, newest first.
func (h *Handlers) listDeliveries(r *route.Request, hook *webhooks.Webhook) (any, error) {
	limit, err := r.QueryLimit("limit", 50, 200)
	if err != nil {
		return nil, err
	}
	deliveries, err := h.opt.Webhooks.ListDeliveries(r.Context(), hook.ID, int(limit))
	views := route.Views(deliveries, func(d *outbox.Delivery) deliveryView { return viewDelivery(d, hook) })
	return map[string][]deliveryView{"deliveries": views}, err
}

// redeliver sends a delivery once more, at once.
func (h *Handlers) redeliver(r *route.Request, hook *webhooks.Webhook) (any, error) {
	if _, err := h.opt.Webhooks.GetDelivery(r.Context(), hook.ID, r.PathValue("deliveryId")); err != nil {
		return nil, err // of another task
	}
	d, err := h.opt.Acts.RedeliverWebhook(r.Context(), r.Caller, r.PathValue("deliveryId"))
	return route.Accepted(viewDelivery(&d, hook)), err
}
