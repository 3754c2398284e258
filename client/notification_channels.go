package client

import (
	"context"
	"net/http"
	"strconv"
	"time"
)

// NotificationChannel is where the user hears of approvals. Disabled: its receiver
// wants no more and is left alone.
type NotificationChannel struct {
	ID        string    `json:"id"`
	Kind      string    `json:"kind"` // webhook, email, slack or telegram
	URL       string    `json:"url,omitempty"`
	To        string    `json:"to,omitempty"`        // of Slack and Telegram
	PressURL  string    `json:"press_url,omitempty"` // to be entered at Slack
	Secret    string    `json:"secret,omitempty"`    // when it was made just now
	Disabled  bool      `json:"disabled,omitempty"`
	CreatedAt time.Time `json:"created_at"`
}

// NotificationChannelRequest describes a channel to set up.
type NotificationChannelRequest struct {
	Kind   string `json:"kind"`
	URL    string `json:"url,omitempty"`    // of a webhook
	To     string `json:"to,omitempty"`     // a member of Slack, a chat of Telegram
	Secret string `json:"secret,omitempty"` // signs what a webhook is sent (empty = one is made); the signing secret of Slack
	Token  string `json:"token,omitempty"`  // of a bot; sent to a webhook as Authorization: Bearer
}

// Notification is one thing that a channel was told, or will be. Status is pending,
// failed (another attempt follows), succeeded or dead_letter.
type Notification struct {
	ID                 string            `json:"delivery_id"`
	Event              string            `json:"event"`
	ApprovalID         string            `json:"approval_id,omitempty"`
	Status             string            `json:"status"`
	AttemptNum         int               `json:"attempt_num"`
	LastResponseStatus int               `json:"last_response_status"`
	LastError          string            `json:"last_error,omitempty"`
	NextAttemptAt      time.Time         `json:"next_attempt_at,omitzero"`
	LastAttemptedAt    time.Time         `json:"last_attempted_at,omitzero"`
	CreatedAt          time.Time         `json:"created_at"`
	CompletedAt        time.Time         `json:"completed_at,omitzero"`
	Attempts           []DeliveryAttempt `json:"attempts"`
}

const notificationChannels = "notification-channels"

// NotificationChannels lists where the user hears of approvals.
func (c *Client) NotificationChannels(ctx context.Context) ([]NotificationChannel, error) {
	var list struct {
		Channels []NotificationChannel `json:"channels"`
	}
	_, err := c.do(ctx, http.MethodGet, apiPath(notificationChannels), nil, &list)
	return list.Channels, err
}

// CreateNotificationChannel lets the user hear of approvals somewhere.
func (c *Client) CreateNotificationChannel(ctx context.Context, r NotificationChannelRequest) (*NotificationChannel, error) {
	return call[NotificationChannel](ctx, c, http.MethodPost, apiPath(notificationChannels), r)
}

// DeleteNotificationChannel ends a channel and everything that is still to be sent to it.
func (c *Client) DeleteNotificationChannel(ctx context.Context, id string) error {
	_, err := c.do(ctx, http.MethodDelete, apiPath(notificationChannels, id), nil, nil)
	return err
}

// TestNotificationChannel sends something that asks for nothing.
func (c *Client) TestNotificationChannel(ctx context.Context, id string) (*Notification, error) {
	return call[Notification](ctx, c, http.MethodPost, apiPath(notificationChannels, id, "test"), nil)
}

// Notifications lists what a channel was told, newest first, at most limit.
func (c *Client) Notifications(ctx context.Context, id string, limit int) ([]Notification, error) {
	var list []Notification
	_, err := c.do(ctx, http.MethodGet, apiPath(notificationChannels, id, "deliveries")+"?limit="+strconv.Itoa(limit), nil, &list)
	return list, err
}

// RedeliverNotification sends a delivery once more.
func (c *Client) RedeliverNotification(ctx context.Context, id, deliveryID string) (*Notification, error) {
	return call[Notification](ctx, c, http.MethodPost, apiPath(notificationChannels, id, "deliveries", deliveryID, "redeliver"), nil)
}
