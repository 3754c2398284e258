package ledger

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/beeos/beeos/internal/store/database"
)

// callerAgent is a caller and an agent that it has called.
type callerAgent struct{ principal, agent string }

func (p callerAgent) compare(q callerAgent) int {
	if c := strings.Compare(p.principal, q.principal); c != 0 {
		return c
	}
	return strings.Compare(p.agent, q.agent)
}

const (
	seenEvery = time.Minute // how often a pair that goes on calling is noted again
	seenMax   = 100_000     // pairs remembered here; beyond, some are noted too often
)

// knownCallers remembers which pairs are noted in the table, so that a call costs a
// write there once a minute at most.
type knownCallers struct {
	mu   sync.Mutex
	seen map[callerAgent]int64
}

// due returns the pairs of a batch that are due to be noted, in order, so
// that two batches never wait for each other in a circle.
func (c *knownCallers) due(b *batch) (list []callerAgent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, open := range b.standingOpenings {
		p := callerAgent{open.Message.Publisher, open.Channel.AgentID}
		if b.now-c.seen[p] >= seenEvery.Microseconds() && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, callerAgent.compare)
	return list
}

// remember keeps pairs, once they are committed.
func (c *knownCallers) remember(pairs []callerAgent, now int64) {
	if len(pairs) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil || len(c.seen) > seenMax {
		c.seen = map[callerAgent]int64{}
	}
	for _, p := range pairs {
		c.seen[p] = now
	}
}

// noteCallers writes down who calls whom, when that is due.
func (b *batch) noteCallers(ctx context.Context) error {
	b.callers = b.w.l.callers.due(b)
	for _, p := range b.callers {
		err := b.w.exec(ctx, `INSERT INTO callers (principal, agent_id, seen_at) VALUES ($1, $2, $3)
			ON CONFLICT (principal, agent_id) DO UPDATE SET seen_at = excluded.seen_at WHERE callers.seen_at < excluded.seen_at`, p.principal, p.agent, b.now)
		if err != nil {
			return err
		}
	}
	return nil
}

// recentCaller is a pair with the time of its last call, give or take seenEvery.
type recentCaller struct {
	callerAgent
	at time.Time
}

// recentCallers returns whose requests f may select, who called last first.
func (l *Ledger) recentCallers(ctx context.Context, f *RequestFilter) ([]recentCaller, error) {
	if f.Caller != "" && len(f.AgentIDs) == 1 {
		return []recentCaller{{callerAgent{f.Caller, f.AgentIDs[0]}, l.opt.Now()}}, nil
	}
	var q clause
	if f.Caller != "" {
		q.add(`principal = ?`, f.Caller)
	}
	if len(f.AgentIDs) > 0 {
		q.in(`agent_id`, f.AgentIDs)
	}
	return database.List(ctx, l.db, "find callers", func(c *recentCaller) []any { return []any{&c.principal, &c.agent, database.Time(&c.at)} },
		`SELECT principal, agent_id, seen_at FROM callers`+q.text.String()+` ORDER BY seen_at DESC`, q.args...)
}
