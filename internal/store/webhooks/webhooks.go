// Package webhooks keeps who wants to hear about which task, and how far they have
// been told; what is sent to them lies in an outbox.
package webhooks

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/store/outbox"
)

// Table keeps webhooks and what is to be sent to them.
type Table struct {
	*outbox.Queue // what is sent
	db            *database.DB
}

// New returns the tables of db.
func New(db *database.DB) *Table {
	return &Table{outbox.New(db, "webhook_deliveries", "webhook_id"), db}
}

// SealedWith is the name of the key that seals the credentials of webhooks, each
// for its webhook's id.
const SealedWith = "webhook credentials"

// Webhook is somebody who wants to be told how a task goes.
type Webhook struct {
	ID        string
	Turn      string // the task
	Channel   string
	Owner     string // a Caller.Principal
	Renderer  string // the form of what is sent
	URL       string
	Sealed    []byte // token and secrets, encrypted
	HasSecret bool
	Seen      int64            // offset up to which the log was looked at
	Status    beeos.TaskStatus // as it was told last
	Events    int64            // deliveries made so far
	Watching  bool             // something may still happen
	Disabled  bool             // its receiver wants no more
	CreatedAt time.Time
}

const webhookSelect = "SELECT w.id, w.turn, w.channel, w.owner, w.renderer, w.url, w.sealed, w.has_secret, w.seen, w.status, w.events, w.watching, w.disabled, w.created_at FROM webhooks w "

func webhookFields(w *Webhook) []any {
	return []any{
		&w.ID, &w.Turn, &w.Channel, &w.Owner, &w.Renderer, &w.URL, &w.Sealed, &w.HasSecret, &w.Seen, &w.Status, &w.Events,
		&w.Watching, &w.Disabled, database.Time(&w.CreatedAt),
	}
}

func listWebhooks(ctx context.Context, q database.Querier, rest string, args ...any) ([]Webhook, error) {
	return database.List(ctx, q, "read webhooks", webhookFields, webhookSelect+rest, args...)
}

// Put adds w to its task, or changes what is known about the one with
// the same URL: seal gets the latter, nil when there is none, and returns what
// to keep of both. A task has at most so many.
func (tb *Table) Put(ctx context.Context, w Webhook, most int, seal func(old *Webhook) ([]byte, error)) (Webhook, error) {
	kept, err := database.Tx(ctx, tb.db, "put webhook", func(tx *sql.Tx) (kept Webhook, err error) {
		all, err := listWebhooks(ctx, tx, "WHERE w.turn = $1 AND w.renderer = $2", w.Turn, w.Renderer)
		if err != nil {
			return w, err
		}
		if i := slices.IndexFunc(all, func(old Webhook) bool { return old.URL == w.URL }); i >= 0 {
			kept = all[i]
			if kept.Sealed, err = seal(&all[i]); err != nil {
				return kept, err
			}
			kept.HasSecret, kept.Disabled = w.HasSecret, false
			return kept, database.Exec(ctx, tx, "update webhook", `UPDATE webhooks SET sealed = $2, has_secret = $3, disabled = FALSE,
				watching = (watching OR disabled), closed_at = CASE WHEN watching OR disabled THEN 0 ELSE closed_at END WHERE id = $1`,
				kept.ID, kept.Sealed, kept.HasSecret)
		}
		if len(all) >= most {
			return w, beeos.Errorf(beeos.InvalidParam, "a task has at most %d webhooks; delete one first", most)
		}
		kept = w
		if kept.Sealed, err = seal(nil); err != nil {
			return kept, err
		}
		return kept, database.Exec(ctx, tx, "insert webhook", `INSERT INTO webhooks (id, turn, channel, owner, renderer, url, sealed, has_secret, seen, status, events, watching, disabled, created_at, closed_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, TRUE, FALSE, $11, 0)`,
			w.ID, w.Turn, w.Channel, w.Owner, w.Renderer, w.URL, kept.Sealed, w.HasSecret, w.Seen, w.Status, database.Micros(w.CreatedAt))
	})
	if database.IsDuplicate(err) {
		return Webhook{}, beeos.Errorf(beeos.Conflict, "somebody else registers the same URL this very moment; try again")
	}
	return kept, err
}

// List returns those of a task, oldest first.
func (tb *Table) List(ctx context.Context, turn, renderer string) ([]Webhook, error) {
	return listWebhooks(ctx, tb.db, "WHERE w.turn = $1 AND w.renderer = $2 ORDER BY w.id", turn, renderer)
}

// Get returns one of a task's.
func (tb *Table) Get(ctx context.Context, turn, id string) (Webhook, error) {
	return database.Get(ctx, tb.db, "read webhook", database.NotFound("webhook"), webhookFields, webhookSelect+"WHERE w.turn = $1 AND w.id = $2", turn, id)
}

// Delete removes a webhook and all that was to be sent to it.
func (tb *Table) Delete(ctx context.Context, id string) error {
	return database.Exec(ctx, tb.db, "delete webhook", "DELETE FROM webhooks WHERE id = $1", id)
}

// ListWatchedTurns returns the tasks that got a webhook since then.
func (tb *Table) ListWatchedTurns(ctx context.Context, since time.Time) ([]string, error) {
	return database.ListTexts(ctx, tb.db, "list watched tasks", "SELECT turn FROM webhooks WHERE watching AND created_at >= $1", database.Micros(since))
}

// ListWatching returns the webhooks of a task to which something may
// still happen.
func (tb *Table) ListWatching(ctx context.Context, turn string) ([]Webhook, error) {
	return listWebhooks(ctx, tb.db, "WHERE w.turn = $1 AND w.watching", turn)
}

// ListStale returns watching ones whose task stands otherwise than they
// were told, or that were not told of everything that their task waits for. How
// a request stands by its delivery is task.StatusOf, here in
// SQL because one statement then passes over all that wait.
func (tb *Table) ListStale(ctx context.Context, limit int) ([]Webhook, error) {
	return listWebhooks(ctx, tb.db, `LEFT JOIN deliveries d ON d.turn = w.turn WHERE w.watching AND (d.turn IS NULL OR w.status <>
		CASE WHEN NOT d.leased THEN 'queued' WHEN d.paused = 'agent.input_required' THEN 'input_required'
		WHEN d.paused = 'agent.auth_required' THEN 'auth_required' ELSE 'running' END
		OR w.status = 'input_required' AND EXISTS (SELECT 1 FROM messages m WHERE m.channel = w.channel AND m.off > w.seen AND m.in_reply_to = w.turn AND m.type = 'agent.input_required')) ORDER BY w.created_at LIMIT $1`, limit)
}

// Advance moves w on from where it is to where next is, together with
// what is to be sent about it. False: somebody else has moved it already.
func (tb *Table) Advance(ctx context.Context, w, next Webhook, news []outbox.Delivery, now time.Time) (moved bool, err error) {
	return database.Tx(ctx, tb.db, "advance webhook", func(tx *sql.Tx) (bool, error) {
		closed := int64(0)
		if !next.Watching {
			closed = database.Micros(now)
		}
		moved, err := database.Change(ctx, tx, "move webhook", `UPDATE webhooks SET seen = $2, status = $3, events = $4, watching = $5, closed_at = $6
			WHERE id = $1 AND seen = $7 AND events = $8 AND watching`,
			w.ID, next.Seen, next.Status, w.Events+int64(len(news)), next.Watching, closed, w.Seen, w.Events)
		if err != nil || !moved {
			return false, err
		}
		return true, tb.Add(ctx, tx, w.ID, w.Events, news, now)
	})
}

// Disable ends a webhook whose receiver wants no more, and everything
// that is still to be sent to it.
func (tb *Table) Disable(ctx context.Context, id string, now time.Time) error {
	return tb.db.Tx(ctx, "disable webhook", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE webhooks SET disabled = TRUE, watching = FALSE, closed_at = $2 WHERE id = $1`, id, database.Micros(now))
		if err == nil {
			err = tb.End(ctx, tx, id, "the receiver answered 410 to another delivery", now)
		}
		return err
	})
}

// Prune forgets those that have had nothing to do since before then.
func (tb *Table) Prune(ctx context.Context, before time.Time) error {
	return database.Exec(ctx, tb.db, "prune webhooks", `DELETE FROM webhooks WHERE NOT watching AND closed_at < $1
		AND NOT EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.webhook_id = webhooks.id AND d.due > 0)`, database.Micros(before))
}
