package notifications

import (
	"context"
	"database/sql"
	"time"

	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/store/outbox"
)

// News is something that a channel has not been told yet about an approval.
type News struct {
	Approval string
	Channel  Channel
}

func newsFields(n *News) []any { return append([]any{&n.Approval}, channelFields(&n.Channel)...) }

const (
	// Whoever is locked out is asked for nothing. One statement passes over all that
	// waits, which is little.
	listUntold = `SELECT a.id, ` + channelColumns + ` FROM approvals a
		JOIN notification_channels c ON c.owner_id = a.owner_id AND NOT c.disabled
		JOIN users u ON u.id = a.owner_id AND u.disabled_at = 0
		WHERE a.open AND a.expires_at > $1
		AND NOT EXISTS (SELECT 1 FROM notifications n WHERE n.approval = a.id AND n.channel = c.id)
		ORDER BY a.id, c.id LIMIT $2`

	listEnded = `SELECT n.approval, ` + channelColumns + ` FROM notifications n
		JOIN notification_channels c ON c.id = n.channel
		WHERE n.open AND NOT EXISTS (SELECT 1 FROM approvals a WHERE a.id = n.approval AND a.open)
		ORDER BY n.approval, c.id LIMIT $1`
)

// ListUntold returns approvals that wait, with the channels that do not know of them.
func (tb *Table) ListUntold(ctx context.Context, now time.Time, limit int) ([]News, error) {
	return database.List(ctx, tb.db, "list untold approvals", newsFields, listUntold, database.Micros(now), limit)
}

// ListEnded returns approvals that nobody need decide any more, with the channels
// that were told of them and do not know.
func (tb *Table) ListEnded(ctx context.Context, limit int) ([]News, error) {
	return database.List(ctx, tb.db, "list approvals that ended", newsFields, listEnded, limit)
}

// TellAsked notes that a channel is told of an approval, and sends it. False:
// another node did already.
func (tb *Table) TellAsked(ctx context.Context, n News, d outbox.Delivery, now time.Time) (told bool, err error) {
	return database.Tx(ctx, tb.db, "tell of an approval", func(tx *sql.Tx) (bool, error) {
		told, err := database.Change(ctx, tx, "note what is told", `INSERT INTO notifications (approval, channel, open, created_at)
			SELECT CAST($1 AS TEXT), c.id, TRUE, CAST($3 AS BIGINT) FROM notification_channels c WHERE c.id = $2 AND NOT c.disabled ON CONFLICT (approval, channel) DO NOTHING`,
			n.Approval, n.Channel.ID, database.Micros(now))
		if err != nil || !told {
			return false, err
		}
		return true, tb.add(ctx, tx, n.Channel.ID, d, now)
	})
}

// TellEnded notes that a channel is told how an approval ended, and sends it; nil =
// there is nothing to tell. False: another node did already.
func (tb *Table) TellEnded(ctx context.Context, n News, d *outbox.Delivery, now time.Time) (told bool, err error) {
	return database.Tx(ctx, tb.db, "tell how an approval ended", func(tx *sql.Tx) (bool, error) {
		told, err := database.Change(ctx, tx, "note what is told", "UPDATE notifications SET open = FALSE WHERE approval = $1 AND channel = $2 AND open", n.Approval, n.Channel.ID)
		if err != nil || !told || d == nil {
			return false, err
		}
		return true, tb.add(ctx, tx, n.Channel.ID, *d, now)
	})
}
