package call

import (
	"maps"
	"sync"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/catalog"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
)

// pollLimit limits how often a credential looks at its tasks: each look costs
// reads of the database, and calls no agent whose own limit would count.
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

// takePoll takes one look at a task from what the credential is allowed.
func (x *Client) takePoll() error {
	id := x.Caller.CredentialID
	if id == "" {
		id = x.Caller.Principal()
	}
	wait := x.Runner.polls.take(id, x.Runner.Now())
	if wait == 0 {
		return nil
	}
	e := beeos.Errorf(beeos.RateLimited, "too many looks at tasks: leave %s between them, as pollIntervalMs says, or let %s wait", wire.TaskPoll, catalog.FetchToolName)
	e.RetryAfter = wait
	return e
}
