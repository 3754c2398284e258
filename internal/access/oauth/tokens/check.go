package tokens

import (
	"cmp"
	"context"
	"crypto/sha256"
	"net/http"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
)

// restAudience is where people's own tokens are good.
const restAudience = "beeos:rest"

// Methods are the tokens that are made here, as credentials of requests: those
// of apps at the MCP endpoint that they are for, those of people at REST and A2A.
func (m *Minter) Methods() []auth.Method {
	return []auth.Method{
		{Surfaces: []auth.Surface{auth.MCP}, Check: func(r *http.Request, token string, at auth.Audience) (beeos.Caller, error) {
			return m.Check(r.Context(), token, at.Resource)
		}},
		{Surfaces: []auth.Surface{auth.REST, auth.A2A}, Check: func(r *http.Request, token string, _ auth.Audience) (beeos.Caller, error) {
			return m.CheckUser(r.Context(), token)
		}},
	}
}

// Check returns who holds an access token, if it is good at the resource: that
// agent's endpoint or that of all agents. A token for the gateway as a whole is
// good at each of them. Which agents its holder reaches is the caller's to ask:
// the answer names them as they are granted now.
func (m *Minter) Check(ctx context.Context, token, resource string) (beeos.Caller, error) {
	e, err := m.look(ctx, token, typeAccess)
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
	e, err := m.look(ctx, token, typeUser)
	if err != nil {
		return beeos.Caller{}, err
	}
	if e.audience != restAudience {
		return beeos.Caller{}, auth.ErrUnknownKind()
	}
	return e.caller, nil
}

// look finds out what a token is good for, at most every few seconds from the
// database.
func (m *Minter) look(ctx context.Context, token, kind string) (*cachedToken, error) {
	if len(token) > tokenLongest {
		return nil, auth.ErrUnknownKind()
	}
	now, hash := m.Now(), hashText(token)
	e, generation := m.tokens.get(hash, now)
	if e == nil {
		c, err := m.keys.verify(ctx, token, kind, m.Issuer)
		if err != nil {
			return nil, cmp.Or(ctx.Err(), auth.ErrUnknownKind())
		}
		if e, err = m.load(ctx, c, kind, now); err != nil {
			return nil, err
		}
		m.tokens.put(hash, e, generation)
	}
	if e.dead || e.kind != kind || !now.Before(e.expires) {
		return nil, auth.ErrUnknownKind()
	}
	return e, nil
}

// load reads what stands behind a token.
func (m *Minter) load(ctx context.Context, c claims, kind string, now time.Time) (*cachedToken, error) {
	e := &cachedToken{kind: kind, audience: c.Audience, family: c.Family, expires: time.Unix(c.Expires, 0), until: now.Add(liveFor)}
	f, g, err := m.Grants.GetFamily(ctx, c.Family, now)
	if err != nil && beeos.CodeOf(err) != beeos.NotFound {
		return nil, err
	}
	if err != nil || f.UserID != c.Subject || (f.GrantID == "") != (kind == typeUser) {
		e.dead, e.until = true, now.Add(deadFor)
		return e, nil
	}
	if kind == typeUser {
		e.caller = beeos.Caller{Kind: beeos.BySession, UserID: f.UserID, CredentialID: f.ID, Name: "log-in"}
		return e, nil
	}
	e.caller = beeos.Caller{Kind: beeos.ByOAuth, UserID: f.UserID, CredentialID: g.ID, AgentIDs: g.Agents, AllAgents: g.All, Name: g.ClientName}
	m.mu.Lock()
	m.used[g.ID] = now
	m.mu.Unlock()
	return e, nil
}

// flush writes when grants were last used, for people to look at.
func (m *Minter) flush(ctx context.Context) error {
	m.mu.Lock()
	used := m.used
	m.used = map[string]time.Time{}
	m.mu.Unlock()
	return m.Grants.TouchGrants(ctx, used)
}

func hashText(s string) tokenHash { return sha256.Sum256([]byte(s)) }
