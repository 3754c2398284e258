package quota

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// buckets is what one node counts by itself: a token bucket per credential and
// agent, which holds a minute's quota and is refilled evenly.
type buckets struct {
	mu    sync.Mutex
	byKey map[bucketKey]*bucket
	swept time.Time
}

type bucketKey struct{ credential, agent string }

type bucket struct {
	limiter   *rate.Limiter
	perMinute int
	used      time.Time
}

// idleAfter is when an unused bucket is full again, and can be forgotten.
const idleAfter = time.Minute

// allow takes one call from the quota, or says when to try again.
func (b *buckets) allow(now time.Time, key bucketKey, perMinute int) (ok bool, retry time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget(now)
	one := b.byKey[key]
	if one == nil || one.perMinute != perMinute {
		one = &bucket{limiter: rate.NewLimiter(rate.Limit(float64(perMinute)/60), perMinute), perMinute: perMinute}
		b.byKey[key] = one
	}
	one.used = now
	r := one.limiter.ReserveN(now, 1)
	if wait := r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
		return false, wait
	}
	return true, 0
}

func (b *buckets) forget(now time.Time) {
	if now.Sub(b.swept) < idleAfter {
		return
	}
	b.swept = now
	for k, one := range b.byKey {
		if now.Sub(one.used) > idleAfter {
			delete(b.byKey, k)
		}
	}
}
