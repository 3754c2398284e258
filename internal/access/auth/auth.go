// Package auth answers who is calling. A Checker turns the credential of a
// request into a beeos.Caller (API keys: auth.go, key.go,
// cache.go, guesses.go) or into a
// beeos.Instance (Ed25519 signatures: signature.go). People lets persons in
// (people.go names its files), with a password (password.go) or through an
// OpenID provider (oidc.go, id_token.go, jwks.go). What a caller may do is for
// the callee to ask.
package auth

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
)

// Checker checks credentials. Its answers about keys are cached, so a key
// costs one read of the database every 30 seconds. Run must be running for
// last-used times to be kept.
type Checker struct {
	DB  *store.DB
	Log *slog.Logger
	Now func() time.Time // nil = time.Now

	// From is where a request comes from; nil = nobody knows.
	From func(*http.Request) string

	keys cache
	bad  guesses
}

// AgentKeyHeader carries an agent key for clients that cannot set
// Authorization.
const AgentKeyHeader = "X-Agent-API-Key"

// HTTP returns who sent the request, by API key: a user's (oag_) as Bearer,
// an agent's (bak_) as Bearer or in X-Agent-API-Key. Which other tokens are
// good is for each surface to say: it asks IsKey first.
func (c *Checker) HTTP(r *http.Request) (beeos.Caller, error) {
	token, err := Credential(r)
	if err != nil {
		return beeos.Caller{}, err
	}
	return c.KeyOf(r, token)
}

// Credential returns the one credential of a request. Two different ones are
// refused, because acting on either could surprise somebody.
func Credential(r *http.Request) (string, error) {
	bearer := r.Header["Authorization"]
	agent := r.Header[http.CanonicalHeaderKey(AgentKeyHeader)]
	if len(bearer)+len(agent) == 0 {
		return "", beeos.Errorf(beeos.MissingToken, "no credential; send \"Authorization: Bearer <key>\" or \"X-Agent-API-Key: <agent key>\"")
	}
	token := ""
	for _, h := range bearer {
		scheme, rest, _ := strings.Cut(h, " ")
		rest = strings.TrimSpace(rest)
		if !strings.EqualFold(scheme, "Bearer") || rest == "" {
			return "", beeos.Errorf(beeos.Unauthorized, "the Authorization header is not of the form \"Bearer <key>\"; correct it")
		}
		if token != "" && token != rest {
			return "", twoCredentials()
		}
		token = rest
	}
	for _, h := range agent {
		h = strings.TrimSpace(h)
		if token != "" && token != h {
			return "", twoCredentials()
		}
		if !strings.HasPrefix(h, beeos.AgentKeyPrefix) {
			return "", beeos.Errorf(beeos.InvalidToken, "%s takes an agent key (%s...); send other credentials as \"Authorization: Bearer <key>\"", AgentKeyHeader, beeos.AgentKeyPrefix)
		}
		token = h
	}
	return token, nil
}

func twoCredentials() error {
	return beeos.Errorf(beeos.Unauthorized, "the request has two different credentials; send one, in Authorization or in %s", AgentKeyHeader)
}

// Key returns whom an API key belongs to. Unknown, expired, revoked and
// malformed keys get one and the same answer.
func (c *Checker) Key(ctx context.Context, token string) (beeos.Caller, error) {
	hash, ok := keyHash(token)
	if !ok {
		return beeos.Caller{}, Unknown()
	}
	now := c.now()
	e, gen := c.keys.get(hash, now)
	if e == nil {
		k, err := c.DB.KeyByHash(ctx, hash[:])
		if err != nil && beeos.CodeOf(err) != beeos.NotFound {
			return beeos.Caller{}, err
		}
		e = c.keys.put(hash, k, now, gen)
	}
	if !e.valid(now) {
		return beeos.Caller{}, Unknown()
	}
	e.used.Store(now.UnixMicro())
	return e.caller, nil
}

// Unknown is the one answer to every credential that is no good, whatever it is
// and whyever.
func Unknown() error {
	return beeos.Errorf(beeos.InvalidToken, "this credential is unknown, expired or revoked; get a new one and send that")
}

// Forget drops what is cached about a key, or about all keys of a user or an
// agent: something about it has changed, here or on another replica.
func (c *Checker) Forget(id string) { c.keys.forget(id) }

const (
	flushEvery = 10 * time.Second
	pruneEvery = time.Minute
	lastFlush  = 5 * time.Second
)

// Run keeps last-used times and forgets old nonces until ctx ends.
func (c *Checker) Run(ctx context.Context) error {
	flush, prune := time.NewTicker(flushEvery), time.NewTicker(pruneEvery)
	defer flush.Stop()
	defer prune.Stop()
	for {
		select {
		case <-flush.C:
			c.flush(ctx)
		case <-prune.C:
			if err := c.DB.Prune(ctx, c.now()); err != nil && ctx.Err() == nil {
				c.Log.Warn("old nonces stay for now", "err", err)
			}
		case <-ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlush)
			defer cancel()
			c.flush(ctx)
			return nil
		}
	}
}

// flush writes the last-used times that have changed. They are for people to
// look at, so a failure is logged and the next flush tries again.
func (c *Checker) flush(ctx context.Context) {
	used := c.keys.takeUsed()
	if err := c.DB.TouchKeys(ctx, used); err != nil && !errors.Is(err, context.Canceled) {
		c.keys.giveBack(used)
		c.Log.Warn("last-used times of keys not written", "keys", len(used), "err", err)
	}
}

func (c *Checker) now() time.Time {
	if c.Now != nil {
		return c.Now()
	}
	return time.Now()
}
