// Package auth answers who is calling. Authenticate turns the credential of an
// HTTP request into a beeos.Caller, for every surface alike: method.go holds the
// list of the kinds of credentials and where each is good; API keys are checked
// here (key.go, key_cache.go), tokens by the packages that make them.
// Agents that dial in sign their requests instead, and are a beeos.Instance
// (signature.go). What a caller may do is for the callee to ask. People sign in
// elsewhere, in package signin.
package auth

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/beeos/beeos/internal/store"
)

// Options are the parts that an Authenticator stands on.
type Options struct {
	DB  *store.Store
	Log *slog.Logger
	Now func() time.Time // nil = time.Now

	// From is where a request comes from; nil = nobody knows.
	From func(*http.Request) string

	// Methods are the kinds of credentials besides API keys.
	Methods []Method
}

// Authenticator checks credentials. Its answers about keys are cached, so a key
// costs one read of the database every 30 seconds. Run must be running for
// last-used times to be kept.
type Authenticator struct {
	Options
	methods []Method // the longest prefix first
	keys    keyCache
	guesses Limiter // credentials that are no good, by address
}

// New returns an Authenticator that knows API keys and the methods of opt.
func New(opt Options) *Authenticator {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Now == nil {
		opt.Now = time.Now
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
// agent: something about it has changed, here or on another replica.
func (a *Authenticator) Forget(id string) { a.keys.forget(id) }

const (
	flushEvery = 10 * time.Second
	pruneEvery = time.Minute
	lastFlush  = 5 * time.Second
)

// Run keeps last-used times and forgets old nonces until ctx ends.
func (a *Authenticator) Run(ctx context.Context) error {
	flush, prune := time.NewTicker(flushEvery), time.NewTicker(pruneEvery)
	defer flush.Stop()
	defer prune.Stop()
	for {
		select {
		case <-flush.C:
			a.flush(ctx)
		case <-prune.C:
			if err := a.DB.Cluster.Prune(ctx, a.Now()); err != nil && ctx.Err() == nil {
				a.Log.Warn("old nonces stay for now", "err", err)
			}
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
	used := a.keys.takeUsed()
	if err := a.DB.Keys.Touch(ctx, used); err != nil && !errors.Is(err, context.Canceled) {
		a.keys.giveBack(used)
		a.Log.Warn("last-used times of keys not written", "keys", len(used), "err", err)
	}
}
