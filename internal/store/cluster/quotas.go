package cluster

import (
	"context"
	"strings"
	"time"

	"github.com/beeos/beeos/internal/store/database"
)

// Draw asks for calls of a credential to an agent, out of a quota that is a
// minute's worth at most and refills evenly.
type Draw struct {
	Credential, Agent string
	PerMinute         int64 // at most MaxPerMinute
	Want              int64
}

// Drawn is what a Draw came to.
type Drawn struct {
	Credential, Agent string
	Took              int64
	Next              time.Time // when there is one more call to draw
}

// MaxPerMinute is the largest quota that is counted.
const MaxPerMinute = 1_000_000_000

const (
	minute = int64(time.Minute / time.Microsecond)

	// A bucket is a point in time, the one at which it is full again: a call
	// moves it forward by the share of a minute that one call is. It can be
	// moved until it is a minute ahead.
	quotaFrom = `CASE WHEN quotas.expires_at > CAST($1 AS BIGINT) THEN quotas.expires_at ELSE CAST($1 AS BIGINT) END`
	quotaFree = `((CAST($1 AS BIGINT) + 60000000 - ` + quotaFrom + `) * excluded.per_minute / 60000000)`
	quotaTook = `CASE WHEN ` + quotaFree + ` < 0 THEN 0 WHEN ` + quotaFree + ` < excluded.took THEN ` + quotaFree + ` ELSE excluded.took END`

	quotaHead = `INSERT INTO quotas (credential, agent, took, per_minute, expires_at) VALUES `
	quotaTail = ` ON CONFLICT (credential, agent) DO UPDATE SET per_minute = excluded.per_minute, took = ` + quotaTook + `,
		expires_at = ` + quotaFrom + ` + ` + quotaTook + ` * 60000000 / excluded.per_minute
		RETURNING credential, agent, took, per_minute, expires_at`

	// What was drawn need not survive a power cut, so nobody waits for a disk.
	quotaLax = `, set_config('synchronous_commit', 'off', true)`
)

// DrawQuota draws calls from quotas, one statement for all of them. Each asks
// for another bucket; their order must be the same everywhere, by credential
// and agent, so that two replicas never wait for each other in a circle.
func (tb *Table) DrawQuota(ctx context.Context, now time.Time, draws []Draw) ([]Drawn, error) {
	args := []any{database.Micros(now)}
	var values []string
	for _, d := range draws {
		took := min(d.Want, d.PerMinute) // of a bucket that is not there yet
		values = append(values, "("+database.Placeholders(len(args)+1, 5)+")")
		args = append(args, d.Credential, d.Agent, took, d.PerMinute, database.Micros(now)+took*minute/d.PerMinute)
	}
	query, extra := quotaHead+strings.Join(values, ", ")+quotaTail, []any(nil)
	if tb.db.Postgres {
		query, extra = query+quotaLax, []any{new(string)}
	}
	unlock, err := tb.db.LockWriter(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	type bucket struct {
		Drawn
		perMinute, full int64
	}
	buckets, err := database.List(ctx, tb.db, "draw from quotas", func(b *bucket) []any {
		return append([]any{&b.Credential, &b.Agent, &b.Took, &b.perMinute, &b.full}, extra...)
	}, query, args...)
	drawn := make([]Drawn, len(buckets))
	for i, b := range buckets {
		drawn[i] = b.Drawn
		// One more call fits once the point in time is this far ahead.
		drawn[i].Next = database.Moment(max(b.full-minute+(minute+b.perMinute-1)/max(b.perMinute, 1), database.Micros(now)))
	}
	return drawn, err
}
