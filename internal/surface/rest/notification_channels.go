package rest

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/beeos/beeos/internal/access/notify"
	"github.com/beeos/beeos/internal/store/notifications"
	"github.com/beeos/beeos/internal/store/outbox"
	"github.com/beeos/beeos/internal/surface/rest/route"
)

// notificationChannelView is where the caller hears of approvals.
type notificationChannelView struct {
	ID        string             `json:"id"`
	Kind      notifications.Kind `json:"kind"`
	URL       string             `json:"url,omitempty"`
	To        string             `json:"to,omitempty"`        // of Slack and Telegram
	PressURL  string             `json:"press_url,omitempty"` // to be entered at Slack
	Secret    string             `json:"secret,omitempty"`    // when it was made just now
	Disabled  bool               `json:"disabled,omitempty"`
	CreatedAt time.Time          `json:"created_at"`
}

func (s *Surface) viewNotificationChannel(c *notifications.Channel) notificationChannelView {
	v := notificationChannelView{ID: c.ID, Kind: c.Kind, PressURL: s.opt.Acts.ChannelPressURL(c), Disabled: c.Disabled, CreatedAt: c.CreatedAt}
	if c.Kind == notifications.Webhook {
		v.URL = c.Target
	} else {
		v.To = c.Target
	}
	return v
}

type notificationChannelList struct {
	Channels []notificationChannelView `json:"channels"`
	Kinds    []notifications.Kind      `json:"kinds"` // that can be set up
}

// notificationDeliveryView is one thing that a channel was told, or will be.
type notificationDeliveryView struct {
	DeliveryID         string           `json:"delivery_id"`
	Event              string           `json:"event"`
	ApprovalID         string           `json:"approval_id,omitempty"`
	Status             outbox.Status    `json:"status"`
	AttemptNum         int              `json:"attempt_num"`
	LastResponseStatus int              `json:"last_response_status"`
	LastError          string           `json:"last_error,omitempty"`
	NextAttemptAt      time.Time        `json:"next_attempt_at,omitzero"`
	LastAttemptedAt    time.Time        `json:"last_attempted_at,omitzero"`
	CreatedAt          time.Time        `json:"created_at"`
	CompletedAt        time.Time        `json:"completed_at,omitzero"`
	Attempts           []outbox.Attempt `json:"attempts"`
}

func viewNotificationDelivery(d *outbox.Delivery) notificationDeliveryView {
	v := notificationDeliveryView{
		DeliveryID: d.ID, Status: d.Status, AttemptNum: d.Attempts, LastResponseStatus: d.Response, LastError: d.Error,
		NextAttemptAt: d.Due, LastAttemptedAt: d.AttemptedAt, CreatedAt: d.CreatedAt, CompletedAt: d.CompletedAt, Attempts: d.History,
	}
	var told notify.Event
	if json.Unmarshal(d.Payload, &told) == nil {
		v.Event = told.Type
		if told.Approval != nil {
			v.ApprovalID = told.Approval.ID
		}
	}
	return v
}

func (s *Surface) listNotificationChannels(r *route.Request) (any, error) {
	list, err := s.opt.Acts.Channels(r.Context(), r.Caller)
	return notificationChannelList{route.Views(list, s.viewNotificationChannel), s.opt.Acts.ChannelKinds()}, err
}

// createNotificationChannel lets the caller hear of approvals somewhere. A secret that
// is made for it is shown this once.
func (s *Surface) createNotificationChannel(r *route.Request) (any, error) {
	r.ForbidCaching()
	var kind string
	var setup notify.Setup
	err := r.ReadSettings(route.Strict, route.Shape{"kind": &kind, "url": &setup.URL, "to": &setup.To, "secret": &setup.Secret, "token": &setup.Token})
	if err != nil {
		return nil, err
	}
	setup.Kind = notifications.Kind(kind)
	c, made, err := s.opt.Acts.CreateChannel(r.Context(), r.Caller, setup)
	v := s.viewNotificationChannel(&c)
	v.Secret = made
	return route.Created(v), err
}

func (s *Surface) deleteNotificationChannel(r *route.Request) (any, error) {
	return route.NoContent, s.opt.Acts.DeleteChannel(r.Context(), r.Caller, r.PathValue("notificationChannelId"))
}

// takePress takes what Slack or Telegram post when a button of a message is pressed.
// Their signature is the credential.
func (s *Surface) takePress(r *route.Request) (any, error) {
	body, err := r.ReadWhole(route.SettingLimit)
	if err != nil {
		return nil, err
	}
	answer, err := s.opt.Acts.TakePress(r.Context(), r.PathValue("notificationChannelId"), r.Header, body)
	return route.Whole(http.StatusOK, answer), err
}

// testNotificationChannel sends something that asks for nothing.
func (s *Surface) testNotificationChannel(r *route.Request) (any, error) {
	d, err := s.opt.Acts.TestChannel(r.Context(), r.Caller, r.PathValue("notificationChannelId"))
	return route.Accepted(viewNotificationDelivery(&d)), err
}

// listNotificationDeliveries shows what a channel was told, newest first.
func (s *Surface) listNotificationDeliveries(r *route.Request) (any, error) {
	limit, err := r.QueryLimit("limit", 50, 200)
	if err != nil {
		return nil, err
	}
	list, err := s.opt.Acts.ChannelDeliveries(r.Context(), r.Caller, r.PathValue("notificationChannelId"), int(limit))
	return route.Views(list, viewNotificationDelivery), err
}

func (s *Surface) redeliverNotification(r *route.Request) (any, error) {
	d, err := s.opt.Acts.RedeliverToChannel(r.Context(), r.Caller, r.PathValue("notificationChannelId"), r.PathValue("notificationDeliveryId"))
	return route.Accepted(viewNotificationDelivery(&d)), err
}
