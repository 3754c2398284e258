package tokens

import (
	"context"
	"crypto/subtle"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/access/oauth/protocol"
	"github.com/beeos/beeos/internal/store/grants"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// Pair is an access token and the refresh token that the next pair is for, as
// the token endpoint gives them.
type Pair struct {
	Access    string `json:"access_token"`
	Type      string `json:"token_type"`
	ExpiresIn int64  `json:"expires_in"` // of Access, in seconds
	Refresh   string `json:"refresh_token,omitempty"`
	Scope     string `json:"scope,omitempty"`
}

// ServeToken is the token endpoint: codes and refresh tokens become tokens.
func (m *Minter) ServeToken(w http.ResponseWriter, r *http.Request) {
	form, err := readForm(w, r)
	var answer Pair
	if err == nil {
		switch form.Get("grant_type") {
		case "authorization_code":
			answer, err = m.redeemCode(r.Context(), form)
		case "refresh_token":
			answer, err = m.refreshTokens(r.Context(), form)
		case "client_credentials":
			answer, err = m.identifyMachine(r, form)
		case "":
			err = protocol.Refuse("invalid_request", "grant_type is missing")
		default:
			err = protocol.Refuse("unsupported_grant_type", "grant_type is authorization_code, refresh_token or client_credentials")
		}
	}
	protocol.Answer(w, r, http.StatusOK, answer, err)
}

// readForm reads a form in which nothing is said twice, but for resource. The
// query of the URL is not looked at: logs keep it.
func readForm(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	if !isForm(r.Header.Get("Content-Type")) {
		return nil, protocol.Refuse("invalid_request", "send a form: Content-Type application/x-www-form-urlencoded")
	}
	body, err := httpd.ReadBody(w, r, bodyMost)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, protocol.Refuse("invalid_request", "the form cannot be read")
	}
	for name, values := range form {
		if len(values) > 1 && name != "resource" {
			return nil, protocol.Refuse("invalid_request", "a parameter is given twice")
		}
	}
	return form, nil
}

// isForm reports whether a body is said to be a form. Clients whose library
// puts its own header beside theirs say two things: the Inspector, when its
// page talks to us without its proxy, calls a refresh JSON and a form.
func isForm(contentType string) bool {
	for part := range strings.SplitSeq(contentType, ",") {
		if media, _, err := mime.ParseMediaType(part); err == nil && media == "application/x-www-form-urlencoded" {
			return true
		}
	}
	return false
}

// redeemCode changes a code into tokens.
func (m *Minter) redeemCode(ctx context.Context, form url.Values) (Pair, error) {
	for _, name := range []string{"code", "code_verifier", "client_id", "redirect_uri"} {
		if form.Get(name) == "" {
			return Pair{}, protocol.Refuse("invalid_request", name+" is missing")
		}
	}
	secret := newRefreshSecret()
	f, g, spent, err := m.Grants.RedeemOAuth(ctx, auth.Hash(form.Get("code")), func(c grants.Code, g grants.Grant) (grants.Family, error) {
		return m.familyOf(c, g, form, secret)
	})
	if spent != "" {
		m.Changed(spent)
		m.Log.WarnContext(ctx, "a code was used twice; what it gave is revoked", "client", form.Get("client_id"))
	}
	if beeos.CodeOf(err) == beeos.NotFound {
		return Pair{}, protocol.Refuse("invalid_grant", "the code is unknown, used or too old")
	}
	if err != nil {
		return Pair{}, err
	}
	return m.mint(f, g, secret)
}

// familyOf checks a code against the request that brings it, and returns the
// chain of tokens that it begins.
func (m *Minter) familyOf(c grants.Code, g grants.Grant, form url.Values, secret string) (grants.Family, error) {
	now := m.Now()
	switch {
	case !now.Before(c.ExpiresAt):
		return grants.Family{}, protocol.Refuse("invalid_grant", "the code is unknown, used or too old")
	case c.ClientID != form.Get("client_id") || c.RedirectURI != form.Get("redirect_uri"):
		return grants.Family{}, protocol.Refuse("invalid_grant", "the code was issued to another client or redirect_uri")
	case !verifies(form.Get("code_verifier"), c.Challenge):
		return grants.Family{}, protocol.Refuse("invalid_grant", "code_verifier does not fit code_challenge")
	}
	resource := c.Resource
	if len(form["resource"]) > 0 {
		given, refused := m.Bases.Read(form["resource"])
		if refused != nil {
			return grants.Family{}, refused
		}
		if given != resource && resource != m.Issuer { // the whole gateway may be narrowed
			return grants.Family{}, protocol.Refuse("invalid_target", "the code was issued for another resource")
		}
		resource = given
	}
	if !m.covers(g, resource) {
		return grants.Family{}, notCovered()
	}
	return grants.Family{
		ID: c.FamilyID, GrantID: g.ID, UserID: g.UserID, ClientID: c.ClientID, Resource: resource,
		Token: auth.Hash(secret), Generation: 1, RotatedAt: now, ExpiresAt: until(g, now.Add(refreshFor)),
	}, nil
}

// verifies reports whether a PKCE verifier is the one that a challenge is of.
func verifies(verifier, challenge string) bool {
	if len(verifier) < 43 || len(verifier) > 128 {
		return false
	}
	return subtle.ConstantTimeCompare([]byte(encode(auth.Hash(verifier))), []byte(challenge)) == 1
}

// covers reports whether a grant still reaches a resource.
func (m *Minter) covers(g grants.Grant, resource string) bool {
	_, agentID, ok := protocol.ParseResource(m.Issuer, resource)
	if !ok || agentID == "" || g.All {
		return ok
	}
	return slices.Contains(g.Agents, agentID)
}

func notCovered() *protocol.Error {
	return protocol.Refuse("invalid_target", "the person has taken this agent away from the app; authorize again")
}

// until is the earlier of a time and the end of a grant.
func until(g grants.Grant, t time.Time) time.Time {
	if !g.ExpiresAt.IsZero() && g.ExpiresAt.Before(t) {
		return g.ExpiresAt
	}
	return t
}

// mint makes the access token of a chain, and writes its refresh token. The
// chain of a person's own tokens has no grant.
func (m *Minter) mint(f grants.Family, g grants.Grant, secret string) (Pair, error) {
	now, kind := m.Now(), typeAccess
	if f.GrantID == "" {
		kind = typeUser
	}
	expires := until(g, now.Add(accessFor))
	scope, agents := scopeOf(g)
	access, err := m.keys.sign(kind, claims{
		Issuer: m.Issuer, Subject: f.UserID, Audience: f.Resource, Client: f.ClientID, Scope: scope, Agents: agents,
		IssuedAt: now.Unix(), Expires: expires.Unix(), ID: beeos.NewID(), Family: f.ID,
	})
	if err != nil {
		return Pair{}, err
	}
	return Pair{
		Access: access, Type: "Bearer", ExpiresIn: int64(expires.Sub(now) / time.Second),
		Refresh: refreshToken(f.ID, secret), Scope: scope,
	}, nil
}

// scopeOf is a grant as scope and as list.
func scopeOf(g grants.Grant) (scope string, agents []string) {
	if g.All {
		return protocol.AllScope, []string{"*"}
	}
	words := make([]string, len(g.Agents))
	for i, id := range g.Agents {
		words[i] = protocol.AgentScope + id
	}
	return strings.Join(words, " "), g.Agents
}
