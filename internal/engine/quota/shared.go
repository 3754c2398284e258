package quota

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/beeos/beeos/internal/store/cluster"
)

// shared is the count that all nodes keep together. The database has the
// buckets; a node draws calls from them, for all who wait at that moment in
// one statement, plus a hundredth of the quota for those to come. A bucket
// that is empty is not asked again before there is something in it. So a quota
// of 60 is counted call by call, and no bucket costs a node more than about a
// hundred draws a minute, however many callers it has.
//
// When the database does not answer, every node counts by itself.
type shared struct {
	opt   Options
	alone *buckets

	mu         sync.Mutex
	allowances map[bucketKey]*allowance
	pending    []*allowance // those that somebody waits for
	swept      time.Time
	ended      bool
	wake       chan struct{}

	draws   atomic.Int64 // statements so far
	failing bool         // run's own: the last draw failed
}

// allowance is what this node holds of one bucket.
type allowance struct {
	key       bucketKey
	perMinute int
	left      int64     // calls drawn and not made yet
	empty     time.Time // until when the bucket is known to be
	queue     []chan admission
	used      time.Time
}

type admission struct {
	ok    bool
	retry time.Duration
}

const (
	drawAhead  = 100                   // a hundredth of the quota
	drawPause  = 20 * time.Millisecond // between draws from a bucket that was empty
	drawAtOnce = 64                    // buckets in one statement
	drawWithin = time.Second
)

func newShared(opt Options, alone *buckets) *shared {
	return &shared{opt: opt, alone: alone, allowances: map[bucketKey]*allowance{}, wake: make(chan struct{}, 1)}
}

// allow takes one call from the quota, or says when to try again. An error is
// that of ctx.
func (q *shared) allow(ctx context.Context, key bucketKey, perMinute int) (ok bool, retry time.Duration, err error) {
	now := q.opt.Now()
	q.mu.Lock()
	if q.ended {
		q.mu.Unlock()
		ok, retry = q.alone.allow(now, key, perMinute)
		return ok, retry, nil
	}
	p := q.allowanceFor(now, key, perMinute)
	if p.left > 0 {
		p.left--
		q.mu.Unlock()
		return true, 0, nil
	}
	if wait := p.empty.Sub(now); wait > 0 {
		q.mu.Unlock()
		return false, wait, nil
	}
	told := make(chan admission, 1)
	if p.queue = append(p.queue, told); len(p.queue) == 1 {
		q.pending = append(q.pending, p)
	}
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
	select {
	case a := <-told:
		return a.ok, a.retry, nil
	case <-ctx.Done():
		return false, 0, ctx.Err()
	}
}

// allowanceFor finds or makes an allowance; q.mu is held.
func (q *shared) allowanceFor(now time.Time, key bucketKey, perMinute int) *allowance {
	if now.Sub(q.swept) >= idleAfter {
		q.swept = now
		for k, p := range q.allowances {
			if now.Sub(p.used) > idleAfter && len(p.queue) == 0 {
				delete(q.allowances, k)
			}
		}
	}
	p := q.allowances[key]
	if p == nil {
		p = &allowance{key: key, perMinute: perMinute}
		q.allowances[key] = p
	}
	if p.perMinute != perMinute {
		p.perMinute, p.left, p.empty = perMinute, 0, time.Time{}
	}
	p.used = now
	return p
}

// run draws for those who wait until ctx ends; then everybody counts alone.
func (q *shared) run(ctx context.Context) error {
	for {
		select {
		case <-q.wake:
			for part := range slices.Chunk(q.takeWaiting(false), drawAtOnce) {
				q.drawCalls(ctx, part)
			}
		case <-ctx.Done():
			for _, r := range q.takeWaiting(true) {
				q.countAlone(r)
			}
			return nil
		}
	}
}

// draw is one allowance and those for whom it is being filled.
type draw struct {
	allowance *allowance
	perMinute int
	queue     []chan admission
}

// takeWaiting returns what is waited for, in the order in which every node draws.
func (q *shared) takeWaiting(last bool) []draw {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = q.ended || last
	rounds := make([]draw, 0, len(q.pending))
	for _, p := range q.pending {
		rounds = append(rounds, draw{p, p.perMinute, p.queue})
		p.queue = nil
	}
	q.pending = nil
	slices.SortFunc(rounds, func(a, b draw) int {
		return cmp.Or(cmp.Compare(a.allowance.key.credential, b.allowance.key.credential), cmp.Compare(a.allowance.key.agent, b.allowance.key.agent))
	})
	return rounds
}

// drawCalls fills allowances and tells those who wait.
func (q *shared) drawCalls(ctx context.Context, rounds []draw) {
	draws := make([]cluster.Draw, len(rounds))
	byKey := make(map[bucketKey]draw, len(rounds))
	for i, r := range rounds {
		perMinute := min(int64(r.perMinute), cluster.MaxPerMinute)
		draws[i] = cluster.Draw{
			Credential: r.allowance.key.credential, Agent: r.allowance.key.agent,
			PerMinute: perMinute, Want: int64(len(r.queue)) + perMinute/drawAhead,
		}
		byKey[r.allowance.key] = r
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(q.opt.DrawWithin, drawWithin))
	defer cancel()
	now := q.opt.Now()
	q.draws.Add(1)
	drawn, err := q.opt.Cluster.DrawQuota(ctx, now, draws)
	if err != nil {
		if !q.failing {
			q.opt.Log.Warn("quotas are counted by each node alone until the database answers", "err", err)
		}
		q.failing = true
		for _, r := range rounds {
			q.countAlone(r)
		}
		return
	}
	q.failing = false
	for _, d := range drawn {
		q.shareOut(now, byKey[bucketKey{d.Credential, d.Agent}], d)
	}
}

// shareOut hands out what was drawn: to those who wait, first come first served,
// then into the allowance.
func (q *shared) shareOut(now time.Time, r draw, d cluster.Drawn) {
	served := min(int64(len(r.queue)), d.Took)
	retry := max(d.Next.Sub(now), drawPause)
	q.mu.Lock()
	if r.allowance.perMinute == r.perMinute {
		r.allowance.left += d.Took - served
		if served < int64(len(r.queue)) {
			r.allowance.empty = now.Add(retry)
		}
	}
	q.mu.Unlock()
	for i, told := range r.queue {
		if int64(i) < served {
			told <- admission{ok: true}
		} else {
			told <- admission{retry: retry}
		}
	}
}

// countAlone answers by this node's own count.
func (q *shared) countAlone(r draw) {
	for _, told := range r.queue {
		ok, retry := q.alone.allow(q.opt.Now(), r.allowance.key, r.perMinute)
		told <- admission{ok, retry}
	}
}
