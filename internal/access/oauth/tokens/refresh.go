package tokens

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/access/oauth/protocol"
	"github.com/beeos/beeos/internal/store/audit"
	"github.com/beeos/beeos/internal/store/grants"
)

// A refresh token is the id of its chain and a secret. Each secret follows
// from the one before and from a key of the server's: so the store needs no
// more than the hash of the one that is good, a lost answer can be given again
// word for word, and any older token is recognised as one that was good once.

const (
	refreshPrefix  = "mcp_rt_"
	generationMost = 20_000 // links that a look for an older token goes along
)

var encode = base64.RawURLEncoding.EncodeToString

func newRefreshSecret() string {
	var b [32]byte
	rand.Read(b[:]) //nolint:errcheck // crypto/rand never fails since Go 1.24
	return encode(b[:])
}

func refreshToken(family, secret string) string { return refreshPrefix + family + "." + secret }

func parseRefresh(token string) (family, secret string, ok bool) {
	rest, found := strings.CutPrefix(token, refreshPrefix)
	family, secret, ok = strings.Cut(rest, ".")
	return family, secret, found && ok && len(secret) == 43 && len(family) == 36
}

// successor is the secret after this one.
func (m *Minter) successor(secret string) string {
	mac := hmac.New(sha256.New, m.chain)
	mac.Write([]byte(secret))
	return encode(mac.Sum(nil))
}

// refreshTokens gives the next tokens of a chain.
func (m *Minter) refreshTokens(ctx context.Context, form url.Values) (Pair, error) {
	family, secret, ok := parseRefresh(form.Get("refresh_token"))
	switch {
	case form.Get("refresh_token") == "":
		return Pair{}, protocol.Refuse("invalid_request", "refresh_token is missing")
	case form.Get("client_id") == "":
		return Pair{}, protocol.Refuse("invalid_request", "client_id is missing")
	case !ok:
		return Pair{}, badRefresh()
	}
	f, g, next, err := m.rotate(ctx, family, secret, func(f grants.Family, g grants.Grant) error {
		return m.mayRefresh(f, g, form)
	})
	if err != nil {
		return Pair{}, err
	}
	return m.mint(f, g, next)
}

// mayRefresh checks what a client asks of a chain. It cannot get more than it
// had, and a mistake here costs nothing but the answer.
func (m *Minter) mayRefresh(f grants.Family, g grants.Grant, form url.Values) error {
	if f.GrantID == "" || f.ClientID != form.Get("client_id") {
		return badRefresh()
	}
	if len(form["resource"]) > 0 {
		given, refused := m.Bases.Read(form["resource"])
		if refused != nil {
			return refused
		}
		if given != f.Resource {
			return protocol.Refuse("invalid_target", "the token was issued for another resource")
		}
	}
	for word := range strings.FieldsSeq(form.Get("scope")) {
		if id, ok := strings.CutPrefix(word, protocol.AgentScope); ok && !g.All && !m.covers(g, m.Issuer+"/"+id+"/mcp") || word == protocol.AllScope && !g.All {
			return protocol.Refuse("invalid_scope", "the person has not allowed that; authorize again")
		}
	}
	if !m.covers(g, f.Resource) {
		return notCovered()
	}
	return nil
}

func badRefresh() *protocol.Error {
	return protocol.Refuse("invalid_grant", "the refresh token is unknown, used or revoked; authorize again")
}

// rotate moves a chain on by one, and returns its new secret. Who asks again
// within the grace gets the same one: the answer got lost, or two threads of a
// client asked at once. Who comes with an older one has stolen it, or was
// stolen from; that ends the chain.
func (m *Minter) rotate(ctx context.Context, family, secret string, check func(grants.Family, grants.Grant) error) (f grants.Family, g grants.Grant, next string, err error) {
	next = m.successor(secret)
	presented, after := auth.Hash(secret), auth.Hash(next)
	for range 2 {
		now := m.Now()
		if f, g, err = m.Grants.GetFamily(ctx, family, now); err != nil {
			if beeos.CodeOf(err) == beeos.NotFound {
				err = badRefresh()
			}
			return f, g, "", err
		}
		current := bytes.Equal(f.Token, presented)
		lost := bytes.Equal(f.Previous, presented) && bytes.Equal(f.Token, after) && now.Sub(f.RotatedAt) <= refreshGrace
		if !current && !lost {
			return f, g, "", m.reused(ctx, f, g, secret)
		}
		if err := check(f, g); err != nil || lost {
			return f, g, next, err
		}
		won, err := m.Grants.Rotate(ctx, grants.Rotation{FamilyID: family, Token: presented, Successor: after, At: now, ExpiresAt: until(g, now.Add(refreshFor))})
		if won || err != nil {
			return f, g, next, err
		}
		// Somebody was faster; what they did decides.
	}
	return f, g, "", badRefresh()
}

// reused ends a chain whose older token came back. A secret that never was
// part of it ends nothing: to know a chain's id must not be enough.
func (m *Minter) reused(ctx context.Context, f grants.Family, g grants.Grant, secret string) error {
	if !m.wasGood(f, secret) {
		return badRefresh()
	}
	if err := m.Grants.EndFamily(ctx, f.ID); err != nil {
		return err
	}
	m.Changed(f.ID)
	m.Audit(ctx, f.UserID, "client:"+f.ClientID, audit.GrantReuse, f.GrantID, map[string]string{"client": g.ClientName})
	m.Log.WarnContext(ctx, "a refresh token was used twice; its tokens are revoked", "grant", f.GrantID, "client", f.ClientID)
	return badRefresh()
}

// wasGood reports whether a secret is, or leads to, the one that is good.
func (m *Minter) wasGood(f grants.Family, secret string) bool {
	for range min(f.Generation, generationMost) {
		if bytes.Equal(auth.Hash(secret), f.Token) {
			return true
		}
		secret = m.successor(secret)
	}
	return false
}
