package tokens

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/access/oauth/protocol"
)

// keyFamily before the id of an API key is the chain of the tokens that it gave.
// There is no refresh token in it: the key is at hand for the next one.
const keyFamily = "key:"

// identifyMachine gives a token to a program that has an API key: the key is its
// client_secret, and the key's id, or the beginning by which people know it, its
// client_id. The token acts for whom the key does, for as long as the key does,
// and at one resource only.
func (m *Minter) identifyMachine(r *http.Request, form url.Values) (Pair, error) {
	id, secret, err := machineCredentials(r, form)
	if err != nil {
		return Pair{}, err
	}
	now := m.Now()
	key, err := m.Keys.GetByHash(r.Context(), auth.Hash(secret))
	if err != nil && beeos.CodeOf(err) != beeos.NotFound {
		return Pair{}, err
	}
	caller, ok := auth.CallerOf(key)
	if err != nil || !ok || id != key.ID && id != key.Prefix || !key.ExpiresAt.IsZero() && !now.Before(key.ExpiresAt) {
		return Pair{}, protocol.Refuse("invalid_client", "client_secret is no API key that is in force, or client_id is not its id")
	}
	resource, scope, err := m.machineResource(caller, form["resource"])
	if err != nil {
		return Pair{}, err
	}
	expires := now.Add(accessFor)
	if !key.ExpiresAt.IsZero() && key.ExpiresAt.Before(expires) {
		expires = key.ExpiresAt
	}
	access, err := m.keys.sign(typeAccess, claims{
		Issuer: m.Issuer, Subject: key.OwnerID, Audience: resource, Client: key.ID, Scope: scope,
		IssuedAt: now.Unix(), Expires: expires.Unix(), ID: beeos.NewID(), Family: keyFamily + key.ID,
	})
	return Pair{Access: access, Type: "Bearer", ExpiresIn: int64(expires.Sub(now) / time.Second), Scope: scope}, err
}

// machineCredentials reads them from the header or from the form, not from both.
func machineCredentials(r *http.Request, form url.Values) (id, secret string, err error) {
	id, secret = form.Get("client_id"), form.Get("client_secret")
	if user, password, ok := r.BasicAuth(); ok {
		if secret != "" {
			return "", "", protocol.Refuse("invalid_request", "the client proves who it is twice; use the header or the form")
		}
		var bad1, bad2 error // RFC 6749 writes both as in a form
		id, bad1 = url.QueryUnescape(user)
		secret, bad2 = url.QueryUnescape(password)
		if bad1 != nil || bad2 != nil {
			return "", "", protocol.Refuse("invalid_request", "the Authorization header cannot be read")
		}
	}
	if id == "" || secret == "" {
		return "", "", protocol.Refuse("invalid_client", "send an API key as client_secret, and its id as client_id")
	}
	return id, secret, nil
}

// machineResource is what a token of a key is for: what was asked for, or all
// that the key reaches.
func (m *Minter) machineResource(caller beeos.Caller, asked []string) (resource, scope string, err error) {
	resource, refused := m.Bases.Read(asked)
	if refused != nil {
		return "", "", refused
	}
	if !caller.IsAgentKey() {
		return resource, protocol.AllScope, nil
	}
	own := m.Issuer + "/" + caller.AgentID + "/mcp"
	if resource != m.Issuer && resource != own {
		return "", "", protocol.Refuse("invalid_target", "this key reaches one agent; ask for the resource "+own)
	}
	return own, protocol.AgentScope + caller.AgentID, nil
}

// loadMachine reads what stands behind a token that a key gave.
func (m *Minter) loadMachine(ctx context.Context, e *cachedToken, c claims, now time.Time) error {
	key, err := m.Keys.Get(ctx, strings.TrimPrefix(c.Family, keyFamily))
	if err != nil && beeos.CodeOf(err) != beeos.NotFound {
		return err
	}
	caller, ok := auth.CallerOf(key)
	e.caller, e.dead = caller, err != nil || !ok || key.OwnerID != c.Subject || !key.ExpiresAt.IsZero() && !now.Before(key.ExpiresAt)
	return nil
}
