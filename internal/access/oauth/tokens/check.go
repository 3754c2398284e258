package tokens

import (
	"cmp"
	"context"
	"crypto/sha256"
	"net/http"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
)

// restAudience is where people's own tokens are good.
const restAudience = "beeos:rest"

const (
	liveFor = 5 * time.Second // how long a revocation elsewhere can go unnoticed
	deadFor = time.Second
)

// cachedToken is what is known about a token whose signature is good. It never
// changes after it is made.
type cachedToken struct {
	kind     string
	audience string
	family   string
	caller   beeos.Caller
	dead     bool // nothing stands behind it any more
	expires  time.Time
}

func (e *cachedToken) concerns(id string) bool {
	return id == e.family || id == e.caller.CredentialID || id == e.caller.UserID
}

// Methods are the tokens that are made here, as credentials of requests: those
// of apps at the MCP endpoint that they are for, those of people at REST and
// A2A.
func (m *Minter) Methods() []auth.Method {
	return []auth.Method{
		{Surfaces: []auth.Surface{auth.MCP}, Check: func(r *http.Request, token string, at auth.Audience) (beeos.Caller, error) {
			return m.CheckAccess(r.Context(), token, at.Resource)
		}},
		{Surfaces: []auth.Surface{auth.REST, auth.A2A}, Check: func(r *http.Request, token string, _ auth.Audience) (beeos.Caller, error) {
			return m.CheckUser(r.Context(), token)
		}},
	}
}

// CheckAccess returns who holds an access token, if it is good at the resource:
// that agent's endpoint or that of all agents. A token for the gateway as a
// whole is good at each of them. Which agents its holder reaches is the
// caller's to ask: the answer names them as they are granted now.
func (m *Minter) CheckAccess(ctx context.Context, token, resource string) (beeos.Caller, error) {
	e, err := m.findToken(ctx, token, typeAccess)
	if err != nil {
		return beeos.Caller{}, err
	}
	if e.audience != resource && e.audience != m.Issuer {
		return beeos.Caller{}, beeos.Errorf(beeos.InvalidToken, "this token was issued for another endpoint; authorize for this one")
	}
	return e.caller, nil
}

// CheckUser returns the person whose own token this is.
func (m *Minter) CheckUser(ctx context.Context, token string) (beeos.Caller, error) {
	e, err := m.findToken(ctx, token, typeUser)
	if err != nil {
		return beeos.Caller{}, err
	}
	if e.audience != restAudience {
		return beeos.Caller{}, auth.RefuseCredential()
	}
	return e.caller, nil
}

// findToken finds out what a token is good for, at most every few seconds from
// the database.
func (m *Minter) findToken(ctx context.Context, token, kind string) (*cachedToken, error) {
	if len(token) > tokenLongest {
		return nil, auth.RefuseCredential()
	}
	now, hash := m.Now(), sha256.Sum256([]byte(token))
	e, known, generation := m.cache.Get(hash, now)
	if !known {
		c, err := m.keys.verify(ctx, token, kind, m.Issuer)
		if err != nil {
			return nil, cmp.Or(ctx.Err(), auth.RefuseCredential())
		}
		if e, err = m.loadToken(ctx, c, kind, now); err != nil {
			return nil, err
		}
		until := now.Add(liveFor)
		if e.dead {
			until = now.Add(deadFor)
		}
		m.cache.Put(hash, e, now, until, generation)
	}
	if e.dead || e.kind != kind || !now.Before(e.expires) {
		return nil, auth.RefuseCredential()
	}
	return e, nil
}

// loadToken reads what stands behind a token.
func (m *Minter) loadToken(ctx context.Context, c claims, kind string, now time.Time) (*cachedToken, error) {
	e := &cachedToken{kind: kind, audience: c.Audience, family: c.Family, expires: time.Unix(c.Expires, 0)}
	if kind == typeAccess && strings.HasPrefix(c.Family, keyFamily) {
		return e, m.loadMachine(ctx, e, c, now)
	}
	f, g, err := m.Grants.GetFamily(ctx, c.Family, now)
	if err != nil && beeos.CodeOf(err) != beeos.NotFound {
		return nil, err
	}
	if err != nil || f.UserID != c.Subject || (f.GrantID == "") != (kind == typeUser) {
		e.dead = true
		return e, nil
	}
	if kind == typeUser {
		e.caller = beeos.Caller{Kind: beeos.BySession, UserID: f.UserID, CredentialID: f.ID, Name: "log-in"}
		return e, nil
	}
	e.caller = beeos.Caller{Kind: beeos.ByOAuth, UserID: f.UserID, CredentialID: g.ID, AgentIDs: g.Agents, AllAgents: g.All, Name: g.ClientName}
	m.used.Note(g.ID, now)
	return e, nil
}

// flush writes when grants were last used, for people to look at.
func (m *Minter) flush(ctx context.Context) error {
	return m.used.Flush(func(used map[string]time.Time) error { return m.Grants.TouchGrants(ctx, used) })
}
