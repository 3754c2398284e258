package mcp

import (
	"maps"
	"sync"
	"time"
)

// pollLimit limits how often a credential looks at its tasks: each look costs reads
// of the database, and calls no agent whose own limit would count.
type pollLimit struct {
	mu     sync.Mutex
	fullAt map[string]time.Time // when a credential will have its whole burst again
	swept  time.Time
}

const (
	pollEvery = time.Second / 5
	pollBurst = 50
)

// take counts a look, or returns how long to wait for the next.
func (p *pollLimit) take(credential string, now time.Time) (wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.swept) > time.Minute {
		p.swept = now
		maps.DeleteFunc(p.fullAt, func(_ string, full time.Time) bool { return full.Before(now) })
	}
	full := p.fullAt[credential]
	if full.Before(now) {
		full = now
	}
	full = full.Add(pollEvery)
	if over := full.Sub(now) - pollBurst*pollEvery; over > 0 {
		return over
	}
	p.fullAt[credential] = full
	return 0
}
