package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// pair is a caller and an agent that it has called.
type pair struct{ principal, agent string }

func (p pair) compare(q pair) int {
	if c := strings.Compare(p.principal, q.principal); c != 0 {
		return c
	}
	return strings.Compare(p.agent, q.agent)
}

const (
	seenEvery = time.Minute // how often a pair that goes on calling is noted again
	seenMax   = 100_000     // pairs remembered here; beyond, some are noted too often
)

// callers remembers which pairs are noted in the table, so that a call costs a
// write there once a minute at most.
type callers struct {
	mu   sync.Mutex
	seen map[pair]int64
}

// stale returns the pairs of a batch that are due to be noted, in order, so
// that two batches never wait for each other in a circle.
func (c *callers) stale(b *batch) (due []pair) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, open := range b.openings {
		p := pair{open.Message.Publisher, open.Channel.AgentID}
		if b.now-c.seen[p] >= seenEvery.Microseconds() && !slices.Contains(due, p) {
			due = append(due, p)
		}
	}
	slices.SortFunc(due, pair.compare)
	return due
}

// noted remembers pairs, once they are committed.
func (c *callers) noted(pairs []pair, now int64) {
	if len(pairs) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil || len(c.seen) > seenMax {
		c.seen = map[pair]int64{}
	}
	for _, p := range pairs {
		c.seen[p] = now
	}
}

// noteCallers writes down who calls whom, when that is due.
func (b *batch) noteCallers(ctx context.Context) error {
	b.callers = b.w.l.callers.stale(b)
	for _, p := range b.callers {
		err := b.w.exec(ctx, `INSERT INTO callers (principal, agent_id, seen_at) VALUES ($1, $2, $3)
			ON CONFLICT (principal, agent_id) DO UPDATE SET seen_at = excluded.seen_at WHERE callers.seen_at < excluded.seen_at`, p.principal, p.agent, b.now)
		if err != nil {
			return err
		}
	}
	return nil
}

// seenPair is a pair with the time of its last call, give or take seenEvery.
type seenPair struct {
	pair
	at time.Time
}

// pairs returns whose requests f may select, who called last first.
func (l *Ledger) pairs(ctx context.Context, f *RequestFilter) ([]seenPair, error) {
	if f.Caller != "" && len(f.AgentIDs) == 1 {
		return []seenPair{{pair{f.Caller, f.AgentIDs[0]}, l.opt.Now()}}, nil
	}
	var q clause
	if f.Caller != "" {
		q.add(`principal = ?`, f.Caller)
	}
	if len(f.AgentIDs) > 0 {
		q.in(`agent_id`, f.AgentIDs)
	}
	rows, err := l.db.QueryContext(ctx, `SELECT principal, agent_id, seen_at FROM callers`+q.text.String()+` ORDER BY seen_at DESC`, q.args...)
	if err != nil {
		return nil, fmt.Errorf("find callers: %w", err)
	}
	return scanPairs(rows)
}

func scanPairs(rows *sql.Rows) (list []seenPair, err error) {
	defer rows.Close()
	for rows.Next() {
		var p seenPair
		var at int64
		if err := rows.Scan(&p.principal, &p.agent, &at); err != nil {
			return nil, err
		}
		p.at = fromMicros(at)
		list = append(list, p)
	}
	return list, rows.Err()
}
