// Package auth answers who is calling. Authenticate turns the credential of an
// HTTP request into a beeos.Caller, for every surface alike. method.go says what
// a kind of credential is and has the two kinds that are checked here, API keys
// (key.go); the two kinds of tokens come from package tokens, which makes them.
// What is known about a credential is kept for a moment (cache.go), and when it
// was used is noted (last_used.go). Responses that can outlive their credential
// are counted, and end with it (streams.go). Agents that dial in sign their requests
// instead, and are a beeos.Instance (signature.go). What a caller may do is for
// the callee to ask. People sign in elsewhere, in package signin.
package auth

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/store/cluster"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/store/keys"
	"github.com/beeos/beeos/internal/store/people"
)

// Options are the parts that an Authenticator stands on.
type Options struct {
	Keys      *keys.Table
	Instances *agents.Instances
	People    *people.Table
	Cluster   *cluster.Table
	Log       *slog.Logger
	Now       func() time.Time // nil = time.Now

	// From is where a request comes from; nil = nobody knows.
	From func(*http.Request) string

	// Methods are the kinds of credentials besides API keys.
	Methods []Method

	// Streams are those that are open on this node; nil = a set of its own.
	Streams *Streams
}

// Authenticator checks credentials. Its answers about keys are cached, so a key
// costs one read of the database every 30 seconds. Run must be running for
// last-used times to be kept.
type Authenticator struct {
	Options
	methods []Method // the longest prefix first
	cache   Cache[*cachedKey]
	used    LastUsed // keys
	seen    LastUsed // instances
	guesses Limiter  // credentials that are no good, by address
}

// New returns an Authenticator that knows API keys and the methods of opt.
func New(opt Options) *Authenticator {
	opt.Log = cmp.Or(opt.Log, slog.New(slog.DiscardHandler))
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Streams == nil {
		opt.Streams = NewStreams()
	}
	a := &Authenticator{Options: opt, guesses: Limiter{Most: guessesMost, Per: time.Minute, Now: opt.Now}}
	a.methods = append(a.keyMethods(), opt.Methods...)
	for i := range a.methods {
		a.methods[i].headerKey = http.CanonicalHeaderKey(a.methods[i].Header)
	}
	slices.SortStableFunc(a.methods, func(m, n Method) int { return cmp.Compare(len(n.Prefix), len(m.Prefix)) })
	return a
}

// Forget drops what is cached about a key, or about all keys of a user or an
// agent: something about it has changed, here or on another replica. Streams
// whose credential is no good any more end, of every kind of credential, so
// whoever else caches something forgets it first.
func (a *Authenticator) Forget(id string) {
	a.cache.Forget(func(k *cachedKey) bool { return k.concerns(id) })
	a.Streams.Recheck(id)
}

const (
	flushEvery = 10 * time.Second
	pruneEvery = time.Minute
	checkEvery = 30 * time.Second // streams of what has expired, or of whose end no notice came
	lastFlush  = 5 * time.Second
)

// Run keeps last-used times, forgets old nonces and looks after streams until
// ctx ends.
func (a *Authenticator) Run(ctx context.Context) error {
	flush, prune, check := time.NewTicker(flushEvery), time.NewTicker(pruneEvery), time.NewTicker(checkEvery)
	defer flush.Stop()
	defer check.Stop()
	defer prune.Stop()
	for {
		select {
		case <-flush.C:
			a.flush(ctx)
		case <-prune.C:
			if err := a.Cluster.Prune(ctx, a.Now()); err != nil && ctx.Err() == nil {
				a.Log.Warn("old nonces stay for now", "err", err)
			}
		case <-check.C:
			a.Streams.Recheck("")
		case <-ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlush)
			defer cancel()
			a.flush(ctx)
			return nil
		}
	}
}

// flush writes the last-used times that have changed. They are for people to
// look at, so a failure is logged and the next flush tries again.
func (a *Authenticator) flush(ctx context.Context) {
	err := database.Within(ctx, func(ctx context.Context) error {
		return errors.Join(
			a.used.Flush(func(used map[string]time.Time) error { return a.Keys.Touch(ctx, used) }),
			a.seen.Flush(func(seen map[string]time.Time) error { return a.Instances.Touch(ctx, seen) }),
		)
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		a.Log.Warn("last-used times of keys and instances not written", "err", err)
	}
}
