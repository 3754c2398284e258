package notify

import (
	"context"
	"slices"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/notifications"
	"github.com/beeos/beeos/internal/store/outbox"
)

const (
	maxChannels = 10 // of one person
	maxTo       = 32 // bytes of a member or chat
)

// Setup is a channel to be.
type Setup struct {
	Kind   notifications.Kind
	URL    string // of a webhook
	To     string // a member of Slack, a chat of Telegram
	Secret string // signs what a webhook is sent ("" = one is made), and what Slack sends
	Token  string // of a bot; sent to a webhook as Authorization, when set
}

// secrets is what a channel must not show to anybody.
type secrets struct {
	Secret string `json:"secret,omitempty"`
	Token  string `json:"token,omitempty"`

	hidden bool // it was made for a service, and nobody else needs it
}

// Kinds are those of which somebody can set up channels here.
func (n *Notifier) Kinds() []notifications.Kind {
	var kinds []notifications.Kind
	for kind := range n.senders {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	return kinds
}

// Create sets up a channel of a person. made is the secret that signs what it is
// sent, when that was made here: it is not shown again.
func (n *Notifier) Create(ctx context.Context, ownerID string, s Setup) (c notifications.Channel, made string, err error) {
	to, ok := n.senders[s.Kind]
	if !ok {
		return c, "", n.refuseKind(s.Kind)
	}
	if len(s.To) > maxTo {
		return c, "", beeos.Errorf(beeos.InvalidParam, "to may have at most %d bytes", maxTo)
	}
	given := s.Secret
	c = notifications.Channel{ID: newID("nch_"), OwnerID: ownerID, Kind: s.Kind, CreatedAt: n.opt.Now().UTC()}
	kept, err := to.setUp(ctx, &c, &s)
	if err != nil {
		return c, "", err
	}
	if c.Sealed, err = n.sealer.SealJSON(kept, c.ID); err != nil {
		return c, "", err
	}
	if err := n.opt.Table.Create(ctx, c, maxChannels); err != nil {
		return c, "", err
	}
	n.wakeWatch() // it hears of what waits already
	if kept.Secret != given && !kept.hidden {
		made = kept.Secret
	}
	return c, made, nil
}

func (n *Notifier) refuseKind(kind notifications.Kind) error {
	return beeos.Errorf(beeos.InvalidParam, "kind must be one of %v, not %q", n.Kinds(), beeos.Shorten(string(kind), 20))
}

// Test sends something that asks for nothing, to see whether it arrives.
func (n *Notifier) Test(ctx context.Context, c notifications.Channel) (outbox.Delivery, error) {
	if err := refuseDisabled(&c); err != nil {
		return outbox.Delivery{}, err
	}
	d, err := newDelivery(Event{Type: ChannelTest, Timestamp: n.opt.Now().UTC()})
	if err != nil {
		return d, err
	}
	if err := n.opt.Table.Send(ctx, c.ID, d, n.opt.Now()); err != nil {
		return d, err
	}
	n.courier.Wake()
	return n.opt.Table.GetDelivery(ctx, c.ID, d.ID)
}

// Redeliver sends a delivery once more.
func (n *Notifier) Redeliver(ctx context.Context, c notifications.Channel, deliveryID string) (outbox.Delivery, error) {
	if _, err := n.opt.Table.GetDelivery(ctx, c.ID, deliveryID); err != nil {
		return outbox.Delivery{}, err
	}
	if err := refuseDisabled(&c); err != nil {
		return outbox.Delivery{}, err
	}
	d, err := n.opt.Table.RepeatDelivery(ctx, c.ID, deliveryID, n.opt.Now())
	n.courier.Wake()
	return d, err
}

func refuseDisabled(c *notifications.Channel) error {
	if c.Disabled {
		return beeos.Errorf(beeos.Conflict, "its receiver wants no more; delete this channel and set it up anew")
	}
	return nil
}
