package client

import (
	"context"
	"net/http"
	"strconv"
	"time"
)

// WebhookRequest is a receiver to be told how a task goes. Token is sent to it
// as Authorization: Bearer, Secret signs what is sent; both may be empty.
type WebhookRequest struct {
	URL    string `json:"url"`
	Token  string `json:"token,omitempty"`
	Secret string `json:"secret,omitempty"`
}

// Webhook is a receiver that is told how a task goes. Disabled: it answered
// 410 and is left alone.
type Webhook struct {
	ID        string    `json:"webhook_id"`
	TaskID    string    `json:"task_id"`
	URL       string    `json:"url"`
	HasSecret bool      `json:"has_secret"`
	Disabled  bool      `json:"disabled,omitempty"`
	CreatedAt time.Time `json:"created_at"`
}

// Delivery is one thing that a webhook was told, or will be. Status is
// pending, failed (another attempt follows), succeeded or dead_letter.
type Delivery struct {
	ID                 string            `json:"delivery_id"`
	WebhookID          string            `json:"webhook_id"`
	TaskID             string            `json:"task_id"`
	Renderer           string            `json:"renderer"`
	Status             string            `json:"status"`
	AttemptNum         int               `json:"attempt_num"`
	LastResponseStatus int               `json:"last_response_status"`
	LastError          string            `json:"last_error,omitempty"`
	NextAttemptAt      time.Time         `json:"next_attempt_at"`
	LastAttemptedAt    time.Time         `json:"last_attempted_at,omitzero"`
	CreatedAt          time.Time         `json:"created_at"`
	CompletedAt        time.Time         `json:"completed_at,omitzero"`
	Attempts           []DeliveryAttempt `json:"attempts"`
}

// DeliveryAttempt is what came of one attempt.
type DeliveryAttempt struct {
	At             time.Time `json:"at"`
	ResponseStatus int       `json:"response_status"`
	Error          string    `json:"error,omitempty"`
	TookMS         int64     `json:"took_ms"`
}

// AddWebhook lets a receiver be told how a task goes. The same URL again
// replaces token and secret.
func (c *Client) AddWebhook(ctx context.Context, agentID, taskID string, r WebhookRequest) (*Webhook, error) {
	return call[Webhook](ctx, c, http.MethodPost, taskPath(agentID, taskID, "webhooks"), r)
}

// Webhooks lists the webhooks of a task.
func (c *Client) Webhooks(ctx context.Context, agentID, taskID string) ([]Webhook, error) {
	var list struct {
		Webhooks []Webhook `json:"webhooks"`
	}
	_, err := c.do(ctx, http.MethodGet, taskPath(agentID, taskID, "webhooks"), nil, &list)
	return list.Webhooks, err
}

// RemoveWebhook ends a webhook and everything that is still to be sent to it.
func (c *Client) RemoveWebhook(ctx context.Context, agentID, taskID, webhookID string) error {
	_, err := c.do(ctx, http.MethodDelete, taskPath(agentID, taskID, "webhooks", webhookID), nil, nil)
	return err
}

// Deliveries lists what a webhook was told, newest first, at most limit.
func (c *Client) Deliveries(ctx context.Context, agentID, taskID, webhookID string, limit int) ([]Delivery, error) {
	var list struct {
		Deliveries []Delivery `json:"deliveries"`
	}
	_, err := c.do(ctx, http.MethodGet, taskPath(agentID, taskID, "webhooks", webhookID, "deliveries")+"?limit="+strconv.Itoa(limit), nil, &list)
	return list.Deliveries, err
}

// Redeliver sends a delivery once more, signed afresh.
func (c *Client) Redeliver(ctx context.Context, agentID, taskID, webhookID, deliveryID string) (*Delivery, error) {
	return call[Delivery](ctx, c, http.MethodPost, taskPath(agentID, taskID, "webhooks", webhookID, "deliveries", deliveryID, "redeliver"), nil)
}
