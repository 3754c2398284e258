package notifications

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
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
	listWaiting = "SELECT id FROM approvals WHERE open AND expires_at > $1"

	// Of some approvals those who may decide and do not know: the owner, and the reviewers
	// whose time has come. Whoever is locked out is asked for nothing.
	listUntold = `SELECT a.id, ` + channelColumns + ` FROM approvals a
		JOIN notification_channels c ON c.owner_id = a.owner_id AND NOT c.disabled
		JOIN users u ON u.id = a.owner_id AND u.disabled_at = 0
		WHERE a.id IN (%[1]s) AND a.open AND NOT a.only_reviewers AND a.barred <> a.owner_id
		AND NOT EXISTS (SELECT 1 FROM notifications n WHERE n.approval = a.id AND n.channel = c.id)
		UNION SELECT a.id, ` + channelColumns + ` FROM approvals a
		JOIN approval_reviewers r ON r.approval = a.id AND r.since <= $1
		JOIN notification_channels c ON c.owner_id = r.user_id AND NOT c.disabled
		JOIN users u ON u.id = r.user_id AND u.disabled_at = 0
		WHERE a.id IN (%[1]s) AND a.open AND a.barred <> r.user_id
		AND NOT EXISTS (SELECT 1 FROM notifications n WHERE n.approval = a.id AND n.channel = c.id)
		ORDER BY 1, 2 LIMIT $2`

	listEnded = `SELECT n.approval, ` + channelColumns + ` FROM notifications n
		JOIN notification_channels c ON c.id = n.channel
		WHERE n.open AND NOT EXISTS (SELECT 1 FROM approvals a WHERE a.id = n.approval AND a.open)
		ORDER BY n.approval, c.id LIMIT $1`

	listToRemind = `SELECT n.approval, ` + channelColumns + ` FROM notifications n
		JOIN notification_channels c ON c.id = n.channel
		WHERE n.remind_at > 0 AND n.remind_at <= $1 AND n.open ORDER BY n.remind_at LIMIT $2`
)

// atOnce is of how many approvals one statement asks who is to be told.
const atOnce = 500

// ListUntold returns approvals that wait, with the channels that do not know of them. It
// passes over all that waits, which is little.
func (tb *Table) ListUntold(ctx context.Context, now time.Time, limit int) (all []News, err error) {
	waiting, err := database.ListTexts(ctx, tb.db, "look for approvals", listWaiting, database.Micros(now))
	if err != nil {
		return nil, err
	}
	for ids := range slices.Chunk(waiting, atOnce) {
		query := fmt.Sprintf(listUntold, database.Placeholders(3, len(ids)))
		news, err := database.List(ctx, tb.db, "list untold approvals", newsFields, query, append([]any{database.Micros(now), limit - len(all)}, database.Args(ids)...)...)
		if all = append(all, news...); err != nil || len(all) >= limit {
			return all, err
		}
	}
	return all, nil
}

// ListEnded returns approvals that no longer wait for anybody, with the channels
// that were told of them and do not know.
func (tb *Table) ListEnded(ctx context.Context, limit int) ([]News, error) {
	return database.List(ctx, tb.db, "list approvals that ended", newsFields, listEnded, limit)
}

// ListToRemind returns approvals that channels are to be told of once more.
func (tb *Table) ListToRemind(ctx context.Context, now time.Time, limit int) ([]News, error) {
	return database.List(ctx, tb.db, "list reminders", newsFields, listToRemind, database.Micros(now), limit)
}

// TellAsked notes that a channel is told of an approval, and when it is to be told
// again, and sends it. False: another node did already.
func (tb *Table) TellAsked(ctx context.Context, n News, d outbox.Delivery, remindAt, now time.Time) (told bool, err error) {
	return database.Tx(ctx, tb.db, "tell of an approval", func(tx *sql.Tx) (bool, error) {
		told, err := database.Change(ctx, tx, "note what is told", `INSERT INTO notifications (approval, channel, open, created_at, remind_at, reference)
			SELECT CAST($1 AS TEXT), c.id, TRUE, CAST($3 AS BIGINT), CAST($4 AS BIGINT), '' FROM notification_channels c WHERE c.id = $2 AND NOT c.disabled ON CONFLICT (approval, channel) DO NOTHING`,
			n.Approval, n.Channel.ID, database.Micros(now), database.Micros(remindAt))
		if err != nil || !told {
			return false, err
		}
		return true, tb.add(ctx, tx, n.Channel.ID, d, now)
	})
}

// KeepReference notes which message told a channel of an approval.
func (tb *Table) KeepReference(ctx context.Context, approval, channel, reference string) error {
	return database.Exec(ctx, tb.db, "note a message", "UPDATE notifications SET reference = $3 WHERE approval = $1 AND channel = $2", approval, channel, reference)
}

// Reference returns the message that told a channel of an approval; "" = none did.
func (tb *Table) Reference(ctx context.Context, approval, channel string) (string, error) {
	list, err := database.ListTexts(ctx, tb.db, "look for a message", "SELECT reference FROM notifications WHERE approval = $1 AND channel = $2", approval, channel)
	if err != nil || len(list) == 0 {
		return "", err
	}
	return list[0], nil
}

// TellAgain notes that a channel was reminded of an approval, and does so; nil = it is
// not to be reminded any more. False: another node did already.
func (tb *Table) TellAgain(ctx context.Context, n News, d *outbox.Delivery, now time.Time) (told bool, err error) {
	return tb.note(ctx, n, d, "remind of an approval", "UPDATE notifications SET remind_at = 0 WHERE approval = $1 AND channel = $2 AND remind_at > 0", now)
}

// TellEnded notes that a channel is told how an approval ended, and sends it; nil =
// there is nothing to tell. False: another node did already.
func (tb *Table) TellEnded(ctx context.Context, n News, d *outbox.Delivery, now time.Time) (told bool, err error) {
	return tb.note(ctx, n, d, "tell how an approval ended", "UPDATE notifications SET open = FALSE, remind_at = 0 WHERE approval = $1 AND channel = $2 AND open", now)
}

// note makes a change that only one node can make, and sends what goes with it.
func (tb *Table) note(ctx context.Context, n News, d *outbox.Delivery, what, change string, now time.Time) (told bool, err error) {
	return database.Tx(ctx, tb.db, what, func(tx *sql.Tx) (bool, error) {
		told, err := database.Change(ctx, tx, "note what is told", change, n.Approval, n.Channel.ID)
		if err != nil || !told || d == nil {
			return false, err
		}
		return true, tb.add(ctx, tx, n.Channel.ID, *d, now)
	})
}
