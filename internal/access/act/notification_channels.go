package act

import (
	"context"
	"net/http"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/notify"
	"github.com/beeos/beeos/internal/store/audit"
	"github.com/beeos/beeos/internal/store/notifications"
	"github.com/beeos/beeos/internal/store/outbox"
)

// Channels lists where the caller wants to hear of approvals.
func (a *Acts) Channels(ctx context.Context, c beeos.Caller) ([]notifications.Channel, error) {
	if err := RequirePerson(c); err != nil {
		return nil, err
	}
	return a.DB.Notifications.List(ctx, c.UserID)
}

// ChannelKinds are the kinds of channels that can be set up here.
func (a *Acts) ChannelKinds() []notifications.Kind { return a.Notify.Kinds() }

// CreateChannel lets the caller hear of approvals somewhere. made is the secret that
// was made for it, which nobody can look up later.
func (a *Acts) CreateChannel(ctx context.Context, c beeos.Caller, s notify.Setup) (ch notifications.Channel, made string, err error) {
	if err := RequirePerson(c); err != nil {
		return ch, "", err
	}
	if ch, made, err = a.Notify.Create(ctx, c.UserID, s); err != nil {
		return ch, "", err
	}
	a.record(ctx, c, c.UserID, audit.ChannelCreate, ch.ID, map[string]string{"kind": string(ch.Kind)})
	return ch, made, nil
}

// ChannelPressURL is where the service of a channel has to post what is pressed in its
// messages; "" = nobody has to enter that anywhere.
func (a *Acts) ChannelPressURL(c *notifications.Channel) string { return a.Notify.PressURL(c) }

// TakePress takes what a service posts when somebody presses a button, and returns what
// it wants to hear. What is decided by it stands in the audit trail as a decision.
func (a *Acts) TakePress(ctx context.Context, channelID string, header http.Header, body []byte) (answer any, err error) {
	return a.Notify.Press(ctx, channelID, header, body)
}

// DeleteChannel ends what a channel is told.
func (a *Acts) DeleteChannel(ctx context.Context, c beeos.Caller, id string) error {
	ch, err := a.OwnChannel(ctx, c, id)
	if err != nil {
		return err
	}
	if err := a.DB.Notifications.Delete(ctx, id); err != nil {
		return err
	}
	a.record(ctx, c, ch.OwnerID, audit.ChannelDelete, id, map[string]string{"kind": string(ch.Kind)})
	return nil
}

// TestChannel sends something through a channel that asks for nothing.
func (a *Acts) TestChannel(ctx context.Context, c beeos.Caller, id string) (outbox.Delivery, error) {
	ch, err := a.OwnChannel(ctx, c, id)
	if err != nil {
		return outbox.Delivery{}, err
	}
	d, err := a.Notify.Test(ctx, ch)
	if err == nil {
		a.record(ctx, c, ch.OwnerID, audit.ChannelTest, id, nil)
	}
	return d, err
}

// ChannelDeliveries lists what a channel was told, or is to be, newest first.
func (a *Acts) ChannelDeliveries(ctx context.Context, c beeos.Caller, id string, limit int) ([]outbox.Delivery, error) {
	ch, err := a.OwnChannel(ctx, c, id)
	if err != nil {
		return nil, err
	}
	return a.DB.Notifications.ListDeliveries(ctx, ch.ID, limit)
}

// RedeliverToChannel sends a delivery once more.
func (a *Acts) RedeliverToChannel(ctx context.Context, c beeos.Caller, id, deliveryID string) (outbox.Delivery, error) {
	ch, err := a.OwnChannel(ctx, c, id)
	if err != nil {
		return outbox.Delivery{}, err
	}
	d, err := a.Notify.Redeliver(ctx, ch, deliveryID)
	if err == nil {
		a.record(ctx, c, ch.OwnerID, audit.ChannelRepeat, id, map[string]string{"delivery": deliveryID})
	}
	return d, err
}

// OwnChannel returns a channel of the caller's. Admins have no part in others'.
func (a *Acts) OwnChannel(ctx context.Context, c beeos.Caller, id string) (notifications.Channel, error) {
	if err := RequirePerson(c); err != nil {
		return notifications.Channel{}, err
	}
	ch, err := a.DB.Notifications.Get(ctx, id)
	if err == nil && !owns(c, ch.OwnerID) || isAbsent(err) {
		return notifications.Channel{}, beeos.Errorf(beeos.NotFound, "you have no such notification channel; list them to see which you have")
	}
	return ch, err
}
