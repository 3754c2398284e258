package rest

import (
	"net/http"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/webhook"
	"github.com/beeos/beeos/internal/store/webhooks"
	"github.com/beeos/beeos/internal/wire/httpd"
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

func viewWebhook(w webhooks.Webhook) webhookView {
	return webhookView{w.ID, w.Turn, w.URL, w.HasSecret, w.Disabled, w.CreatedAt}
}

// deliveryView is the contract's WebhookDeliveryResponse, with every attempt.
type deliveryView struct {
	DeliveryID         string                  `json:"delivery_id"`
	WebhookID          string                  `json:"webhook_id"`
	TaskID             string                  `json:"task_id"`
	Renderer           string                  `json:"renderer"`
	Status             webhooks.DeliveryStatus `json:"status"`
	AttemptNum         int                     `json:"attempt_num"`
	LastResponseStatus int                     `json:"last_response_status"`
	LastError          string                  `json:"last_error,omitempty"`
	NextAttemptAt      time.Time               `json:"next_attempt_at"`
	LastAttemptedAt    time.Time               `json:"last_attempted_at,omitzero"`
	CreatedAt          time.Time               `json:"created_at"`
	CompletedAt        time.Time               `json:"completed_at,omitzero"`
	Attempts           []webhooks.Attempt      `json:"attempts"`
}

func viewDelivery(d webhooks.Delivery, w webhooks.Webhook) deliveryView {
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
func (s *Surface) registerWebhook(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	t, err := s.task(r, c)
	if err != nil {
		return err
	}
	var url *string
	var token, secret string
	err = read(w, r, settingLimit, false, shape{"url": &url, "token": &token, "secret": &secret})
	switch {
	case err != nil:
		return err
	case url == nil:
		return beeos.Errorf(beeos.MissingParam, "url is required")
	}
	hook, err := s.Acts.RegisterWebhook(r.Context(), c, &t, webhook.Registration{Format: webhook.OpenAPI, URL: *url, Token: token, Secret: secret})
	if err != nil {
		return err
	}
	httpd.WriteData(w, http.StatusCreated, viewWebhook(hook))
	return nil
}

func (s *Surface) listWebhooks(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	t, err := s.task(r, c)
	if err != nil {
		return err
	}
	hooks, err := s.DB.Webhooks.List(r.Context(), t.Turn, webhook.OpenAPI)
	if err != nil {
		return err
	}
	list := struct {
		Webhooks []webhookView `json:"webhooks"`
	}{make([]webhookView, len(hooks))}
	for i := range hooks {
		list.Webhooks[i] = viewWebhook(hooks[i])
	}
	httpd.WriteData(w, http.StatusOK, list)
	return nil
}

// hook returns the webhook of the path if it belongs to the caller's task.
func (s *Surface) hook(r *http.Request, c beeos.Caller) (webhooks.Webhook, error) {
	t, err := s.task(r, c)
	if err != nil {
		return webhooks.Webhook{}, err
	}
	w, err := s.DB.Webhooks.Get(r.Context(), t.Turn, r.PathValue("webhookId"))
	if err == nil && w.Renderer != webhook.OpenAPI {
		err = beeos.Errorf(beeos.NotFound, "there is no such webhook; check the id")
	}
	return w, err
}

func (s *Surface) deleteWebhook(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	hook, err := s.hook(r, c)
	if err != nil {
		return err
	}
	if err := s.Acts.DeleteWebhook(r.Context(), c, hook); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// listDeliveries shows what was sent to a webhook, newest first.
func (s *Surface) listDeliveries(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	hook, err := s.hook(r, c)
	if err != nil {
		return err
	}
	limit, err := query(r, "limit", 50, 1, 200)
	if err != nil {
		return err
	}
	deliveries, err := s.DB.Webhooks.ListDeliveries(r.Context(), hook.ID, int(limit))
	if err != nil {
		return err
	}
	list := struct {
		Deliveries []deliveryView `json:"deliveries"`
	}{make([]deliveryView, len(deliveries))}
	for i := range deliveries {
		list.Deliveries[i] = viewDelivery(deliveries[i], hook)
	}
	httpd.WriteData(w, http.StatusOK, list)
	return nil
}

// redeliver sends a delivery once more, at once.
func (s *Surface) redeliver(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	hook, err := s.hook(r, c)
	if err != nil {
		return err
	}
	d, err := s.Hooks.Redeliver(r.Context(), hook, r.PathValue("deliveryId"))
	if err != nil {
		return err
	}
	httpd.WriteData(w, http.StatusAccepted, viewDelivery(d, hook))
	return nil
}
