package ledger

import (
	"context"
	"time"

	"github.com/beeos/beeos/internal/store/database"
)

// Load is how much there is to do, on all nodes together.
type Load struct {
	Waiting  int           // requests that nobody has
	InFlight int           // requests that an instance has
	Oldest   time.Duration // since the first of those that wait was stored
}

// Load counts the requests that have no final reply. It walks them in two indexes:
// for those who ask a few times a minute.
func (l *Ledger) Load(ctx context.Context) (Load, error) {
	var open, waiting int
	var first int64
	err := l.db.QueryRowContext(ctx, `SELECT COUNT(*) FROM deliveries`).Scan(&open)
	if err == nil {
		err = l.db.QueryRowContext(ctx, `SELECT COUNT(*), COALESCE(MIN(seq), 0) FROM deliveries WHERE NOT leased`).Scan(&waiting, &first)
	}
	if err != nil {
		return Load{}, database.Explain("count open requests", err)
	}
	load := Load{Waiting: waiting, InFlight: max(0, open-waiting)}
	if waiting > 0 {
		load.Oldest = max(0, l.opt.Now().Sub(database.Moment(first)))
	}
	return load, nil
}
