// Package quota limits how many calls a minute one credential may make to one
// agent. A node that is alone counts in memory (buckets.go); nodes that share a
// database count together in it (shared.go).
package quota

import (
	"context"
	"log/slog"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/cluster"
)

// Options are what quotas are counted with.
type Options struct {
	Cluster   *cluster.Table
	Log       *slog.Logger
	Now       func() time.Time
	PerMinute int  // calls, where neither the credential nor the agent says otherwise
	Shared    bool // other nodes count in the same database

	// DrawWithin is how long the database may take to say what is left of a quota
	// before this node counts alone; 0 = 1 s.
	DrawWithin time.Duration
}

// Quotas counts calls.
type Quotas struct {
	opt    Options
	alone  buckets
	shared *shared // nil when no other node can be there
}

// New returns a Quotas; Run must be running where they are shared.
func New(opt Options) *Quotas {
	q := &Quotas{opt: opt, alone: buckets{byKey: map[bucketKey]*bucket{}}}
	if opt.Shared {
		q.shared = newShared(opt, &q.alone)
	}
	return q
}

// Run counts together with other nodes until ctx ends.
func (q *Quotas) Run(ctx context.Context) error {
	if q.shared == nil {
		return nil
	}
	return q.shared.run(ctx)
}

// Take takes one call from the caller's quota at the agent. It is RateLimited
// when none is left. For the agent's owner the credential's own quota counts, else
// the agent's, else the default. Others make keys as they like, so the owner's
// word holds for all of a person's keys together, and a key can only narrow it.
func (q *Quotas) Take(ctx context.Context, caller *beeos.Caller, agent *beeos.Agent) error {
	ofAgent, own := agent.RateLimit, caller.RatePerMinute
	if ofAgent <= 0 {
		ofAgent = q.opt.PerMinute
	}
	id := caller.CredentialID
	if id == "" {
		id = caller.Principal()
	}
	if caller.UserID == agent.OwnerID {
		if own <= 0 {
			own = ofAgent
		}
		return q.takeFrom(ctx, bucketKey{id, agent.ID}, own)
	}
	if own > 0 && own < ofAgent {
		if err := q.takeFrom(ctx, bucketKey{id, agent.ID}, own); err != nil {
			return err
		}
	}
	return q.takeFrom(ctx, bucketKey{caller.Principal(), agent.ID}, ofAgent)
}

func (q *Quotas) takeFrom(ctx context.Context, key bucketKey, perMinute int) error {
	ok, retry, err := q.allow(ctx, key, perMinute)
	if ok || err != nil {
		return err
	}
	retry = (retry + time.Millisecond - 1).Truncate(time.Millisecond) // told in milliseconds, and then it must be time
	e := beeos.Errorf(beeos.RateLimited, "over the quota of %d calls a minute for this credential and agent; try again in %s", perMinute, retry)
	e.RetryAfter = retry
	return e
}

func (q *Quotas) allow(ctx context.Context, key bucketKey, perMinute int) (ok bool, retry time.Duration, err error) {
	if q.shared != nil {
		return q.shared.allow(ctx, key, perMinute)
	}
	ok, retry = q.alone.allow(q.opt.Now(), key, perMinute)
	return ok, retry, nil
}
