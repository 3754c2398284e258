package invoke

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/beeos/beeos"
)

// limits holds one token bucket per credential and agent: burst = a minute's
// quota, refilled evenly. It is what one node counts by itself; nodes that
// count together have quotas.
type limits struct {
	mu      sync.Mutex
	buckets map[limitKey]*bucket
	swept   time.Time
}

type limitKey struct{ credential, agent string }

type bucket struct {
	limiter   *rate.Limiter
	perMinute int
	used      time.Time
}

// bucketIdle is when an unused bucket is full again and can be forgotten.
const bucketIdle = time.Minute

// allow takes one call from the quota, or says when to try again.
func (l *limits) allow(now time.Time, key limitKey, perMinute int) (ok bool, retry time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(now)
	b := l.buckets[key]
	if b == nil || b.perMinute != perMinute {
		b = &bucket{limiter: rate.NewLimiter(rate.Limit(float64(perMinute)/60), perMinute), perMinute: perMinute}
		l.buckets[key] = b
	}
	b.used = now
	r := b.limiter.ReserveN(now, 1)
	if wait := r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
		return false, wait
	}
	return true, 0
}

func (l *limits) forget(now time.Time) {
	if now.Sub(l.swept) < bucketIdle {
		return
	}
	l.swept = now
	for k, b := range l.buckets {
		if now.Sub(b.used) > bucketIdle {
			delete(l.buckets, k)
		}
	}
}

// withinLimit checks the caller's quota at the agent: the key's own, else
// the agent's, else the default.
func (c *Calls) withinLimit(ctx context.Context, caller *beeos.Caller, agent *beeos.Agent) error {
	perMinute := caller.RatePerMinute
	if perMinute <= 0 {
		perMinute = agent.RateLimit
	}
	if perMinute <= 0 {
		perMinute = c.opt.RateLimit
	}
	id := caller.CredentialID
	if id == "" {
		id = caller.Principal()
	}
	ok, retry, err := c.admit(ctx, limitKey{id, agent.ID}, perMinute)
	if ok || err != nil {
		return err
	}
	retry = (retry + time.Millisecond - 1).Truncate(time.Millisecond) // told in milliseconds, and then it must be time
	e := beeos.Errorf(beeos.RateLimited, "over the quota of %d calls a minute for this credential and agent; try again in %s", perMinute, retry)
	e.RetryAfter = retry
	return e
}

// admit takes one call from the quota: this node's own count when it is alone,
// else the one that all nodes share.
func (c *Calls) admit(ctx context.Context, key limitKey, perMinute int) (ok bool, retry time.Duration, err error) {
	if c.quotas != nil {
		return c.quotas.allow(ctx, key, perMinute)
	}
	ok, retry = c.limits.allow(c.opt.Now(), key, perMinute)
	return ok, retry, nil
}
