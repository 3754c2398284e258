// Package tokens mints the tokens of the authorization server, says what they
// are good for, and ends them. A code becomes tokens (token.go), a refresh token
// the next ones (refresh.go), until somebody revokes them (revoke.go). Access
// tokens are JWTs (jwt.go) signed with keys that the store keeps (keys.go);
// machines.go gives them to programs that have an API key and nobody to ask;
// check.go answers who holds one, and user_tokens.go issues those of people for
// the REST surface. Replicas share nothing but the database.
package tokens

import (
	"context"
	"log/slog"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/access/oauth/protocol"
	"github.com/beeos/beeos/internal/store/audit"
	"github.com/beeos/beeos/internal/store/cluster"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/store/grants"
	"github.com/beeos/beeos/internal/store/keys"
)

// Options are the parts that a Minter stands on; all are needed.
type Options struct {
	Grants  *grants.Table
	Keys    *keys.Table
	Trail   *audit.Table
	Cluster *cluster.Table
	Issuer  string         // without a slash at its end
	Bases   protocol.Bases // the issuer first
	Log     *slog.Logger
	Now     func() time.Time

	// Tell brings an id to the Forget of every replica: a grant, a token
	// family or a user about which something has changed.
	Tell func(id string)
}

// Minter is the only code that makes tokens.
type Minter struct {
	Options
	chain []byte // makes each refresh token out of the one before
	keys  keyring
	cache auth.Cache[*cachedToken]
	used  auth.LastUsed // grants
}

const (
	accessFor    = 60 * time.Minute
	refreshFor   = 30 * 24 * time.Hour // without use
	refreshGrace = 10 * time.Second    // for an answer that got lost
	bodyMost     = 16 << 10
)

// New returns a Minter. Its first signing key is made when there is none.
func New(ctx context.Context, opt Options) (*Minter, error) {
	chain, err := opt.Cluster.Secret(ctx, "oauth refresh", func() []byte { return []byte(beeos.NewSecret("")) })
	if err != nil {
		return nil, err
	}
	m := &Minter{Options: opt, chain: chain}
	return m, m.keys.open(ctx, m.Grants, opt.Now)
}

const (
	flushEvery = 10 * time.Second
	keysEvery  = 30 * time.Second
	pruneEvery = 10 * time.Minute
	lastFlush  = 5 * time.Second
)

// Run keeps last-used times, learns of new signing keys and forgets what is
// over, until ctx ends.
func (m *Minter) Run(ctx context.Context) error {
	flush, keys, prune := time.NewTicker(flushEvery), time.NewTicker(keysEvery), time.NewTicker(pruneEvery)
	defer flush.Stop()
	defer keys.Stop()
	defer prune.Stop()
	for {
		var err error
		select {
		case <-flush.C:
			err = database.Within(ctx, m.flush)
		case <-keys.C:
			err = database.Within(ctx, m.keys.reload)
		case <-prune.C:
			err = m.Grants.Prune(ctx, m.Now())
		case <-ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlush)
			defer cancel()
			if err := m.flush(ctx); err != nil {
				m.Log.Warn("last-used times of grants not written", "err", err)
			}
			return nil
		}
		if err != nil && ctx.Err() == nil {
			m.Log.Warn("the authorization server tries that again later", "err", err)
		}
	}
}

// Forget drops what is cached about a grant, a token family or a user, because
// something about it has changed, here or on another replica.
func (m *Minter) Forget(id string) {
	m.cache.Forget(func(e *cachedToken) bool { return e.concerns(id) })
}

// Changed forgets here and everywhere.
func (m *Minter) Changed(id string) {
	m.Forget(id)
	m.Tell(id)
}

// Audit writes a line into a person's trail.
func (m *Minter) Audit(ctx context.Context, userID, actor, action, subject string, detail map[string]string) {
	m.Trail.Record(ctx, m.Log, audit.Row{OwnerID: userID, At: m.Now(), Actor: actor, Action: action, Subject: subject, Detail: detail})
}
