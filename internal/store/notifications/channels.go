// Package notifications keeps where people want to hear of approvals that wait for
// them (channels.go), and which channel was told of which approval (news.go). What
// is to be sent to channels is in the outbox that the table has.
package notifications

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/store/outbox"
)

// Table keeps the notification channels of people.
type Table struct {
	*outbox.Queue // what is sent
	db            *database.DB
}

// New returns the tables of db.
func New(db *database.DB) *Table {
	return &Table{outbox.New(db, "notification_deliveries", "channel"), db}
}

// SealedWith is the name of the key that seals the secrets of channels, each for its
// channel's id.
const SealedWith = "notification channels"

// Kind is what a channel is.
type Kind string

const (
	Webhook  Kind = "webhook"
	Email    Kind = "email"
	Slack    Kind = "slack"
	Telegram Kind = "telegram"
)

// Channel is where a person wants to hear of approvals.
type Channel struct {
	ID        string
	OwnerID   string
	Kind      Kind
	Target    string // URL of a webhook, member of Slack, chat of Telegram; "" = the person's own address
	Sealed    []byte // what proves that we are it, encrypted
	Disabled  bool   // its receiver wants no more
	CreatedAt time.Time
}

const channelColumns = "c.id, c.owner_id, c.kind, c.target, c.sealed, c.disabled, c.created_at"

const channelSelect = "SELECT " + channelColumns + " FROM notification_channels c "

func channelFields(c *Channel) []any {
	return []any{&c.ID, &c.OwnerID, &c.Kind, &c.Target, &c.Sealed, &c.Disabled, database.Time(&c.CreatedAt)}
}

// Create adds a channel of somebody who has fewer than so many. One of the same kind
// and target is a Conflict.
func (tb *Table) Create(ctx context.Context, c Channel, most int) error {
	err := tb.db.Tx(ctx, "create notification channel", func(tx *sql.Tx) error {
		n, err := database.GetValue[int](ctx, tx, "count channels", "SELECT COUNT(*) FROM notification_channels WHERE owner_id = $1", c.OwnerID)
		if err != nil {
			return err
		}
		if n >= most {
			return beeos.Errorf(beeos.InvalidParam, "you have %d notification channels, which is the most; delete one first", n)
		}
		return database.Insert(ctx, tx, "insert channel", "notification_channels", "id, owner_id, kind, target, sealed, events, disabled, created_at",
			c.ID, c.OwnerID, c.Kind, c.Target, c.Sealed, 0, false, database.Micros(c.CreatedAt))
	})
	if database.IsDuplicate(err) {
		return beeos.Errorf(beeos.Conflict, "you have a channel like this already; delete it first to set it up anew")
	}
	return err
}

// List returns the channels of a person, oldest first.
func (tb *Table) List(ctx context.Context, ownerID string) ([]Channel, error) {
	return database.List(ctx, tb.db, "list notification channels", channelFields, channelSelect+"WHERE c.owner_id = $1 ORDER BY c.created_at, c.id", ownerID)
}

// Get returns one.
func (tb *Table) Get(ctx context.Context, id string) (Channel, error) {
	return database.Get(ctx, tb.db, "read notification channel", database.NotFound("notification channel"), channelFields, channelSelect+"WHERE c.id = $1", id)
}

// Delete removes a channel and all that was to be sent to it.
func (tb *Table) Delete(ctx context.Context, id string) error {
	return database.Exec(ctx, tb.db, "delete notification channel", "DELETE FROM notification_channels WHERE id = $1", id)
}

// Disable ends a channel whose receiver wants no more, with everything that is
// still to be sent to it.
func (tb *Table) Disable(ctx context.Context, id string, now time.Time) error {
	return tb.db.Tx(ctx, "disable notification channel", func(tx *sql.Tx) error {
		err := database.Exec(ctx, tx, "disable", "UPDATE notification_channels SET disabled = TRUE WHERE id = $1", id)
		if err == nil {
			err = tb.End(ctx, tx, id, "the receiver wants no more", now)
		}
		return err
	})
}

// ListByDeliveries returns the channels of deliveries, by id.
func (tb *Table) ListByDeliveries(ctx context.Context, list []outbox.Delivery) (map[string]Channel, error) {
	ids := make([]any, len(list))
	for i, d := range list {
		ids[i] = d.Receiver
	}
	where := database.Conditions{}
	where.AddList("c.id", ids)
	found, err := database.List(ctx, tb.db, "read notification channels", channelFields, channelSelect+where.SQL(), where.Args...)
	byID := map[string]Channel{}
	for _, c := range found {
		byID[c.ID] = c
	}
	return byID, err
}

// Send puts something into the outbox of a channel.
func (tb *Table) Send(ctx context.Context, channel string, d outbox.Delivery, now time.Time) error {
	return tb.db.Tx(ctx, "send to a channel", func(tx *sql.Tx) error { return tb.add(ctx, tx, channel, d, now) })
}

func (tb *Table) add(ctx context.Context, tx *sql.Tx, channel string, d outbox.Delivery, now time.Time) error {
	after, err := database.Get(ctx, tx, "count deliveries", database.NotFound("notification channel"), database.Itself[int64],
		"UPDATE notification_channels SET events = events + 1 WHERE id = $1 RETURNING events", channel)
	if err != nil {
		return err
	}
	return tb.Add(ctx, tx, channel, after-1, []outbox.Delivery{d}, now)
}

// Prune forgets what was sent, and who was told of what is decided, before then.
func (tb *Table) Prune(ctx context.Context, before time.Time) error {
	for _, query := range []string{
		"DELETE FROM notification_deliveries WHERE due = 0 AND created_at < $1",
		"DELETE FROM notifications WHERE NOT open AND created_at < $1",
	} {
		if err := database.Exec(ctx, tb.db, "prune notifications", query, database.Micros(before)); err != nil {
			return fmt.Errorf("forget what was sent: %w", err)
		}
	}
	return nil
}
