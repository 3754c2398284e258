package signin

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"time"

	"golang.org/x/oauth2"

	"github.com/beeos/beeos"
)

// idAlgorithms are the signatures that an ID token may have. Neither "none"
// nor a secret that both sides know is among them.
var idAlgorithms = []string{"RS256", "ES256", "EdDSA"}

// clockSkew is how far a provider's clock may be off.
const clockSkew = time.Minute

// claims are what we use of an ID token, or of the answer of userinfo.
type claims struct {
	Party    string `json:"azp"`
	Email    string `json:"email"`
	Verified flag   `json:"email_verified"`
	Name     string `json:"name"`
}

// flag is a boolean that some providers write as a string.
type flag bool

// UnmarshalJSON takes true and "true"; everything else is false.
func (f *flag) UnmarshalJSON(b []byte) error {
	*f = string(b) == "true" || string(b) == `"true"`
	return nil
}

// readIDToken follows OpenID Connect Core 3.1.3.7: the verifier looks at the
// signature, iss, aud and exp, and the rest is here.
func (o *OIDC) readIDToken(ctx context.Context, p *provider, t *oauth2.Token, nonce string) (Identity, error) {
	raw, _ := t.Extra("id_token").(string) //nolint:errcheck // none is refused like a bad one
	token, err := p.verifier.Verify(ctx, raw)
	if err != nil {
		return Identity{}, badIDToken(err)
	}
	var c claims
	err = token.Claims(&c)
	switch {
	case err != nil:
	case token.Subject == "":
		err = errors.New("no sub")
	case len(token.Audience) > 1 && c.Party == "", c.Party != "" && c.Party != o.opt.ClientID:
		err = fmt.Errorf("azp is %q", c.Party)
	case token.IssuedAt.After(o.opt.Now().Add(clockSkew)):
		err = fmt.Errorf("iat is %s", token.IssuedAt)
	case nonce == "" || subtle.ConstantTimeCompare([]byte(nonce), []byte(token.Nonce)) != 1:
		err = errors.New("another nonce")
	}
	if err != nil {
		return Identity{}, badIDToken(err)
	}
	if c.Email == "" && p.UserInfoEndpoint() != "" {
		if err := readUserInfo(ctx, p, t, token.Subject, &c); err != nil {
			return Identity{}, err
		}
	}
	return Identity{Issuer: o.opt.Issuer, Subject: token.Subject, Email: c.Email, Verified: bool(c.Verified), Name: c.Name}, nil
}

// readUserInfo asks for what an ID token leaves out.
func readUserInfo(ctx context.Context, p *provider, t *oauth2.Token, subject string, c *claims) error {
	info, err := p.UserInfo(ctx, oauth2.StaticTokenSource(t))
	var more claims
	if err == nil {
		err = info.Claims(&more)
	}
	if err != nil {
		return unreachable(err)
	}
	if info.Subject != subject {
		return badIDToken(errors.New("userinfo speaks of somebody else"))
	}
	c.Email, c.Verified, c.Name = more.Email, more.Verified, cmp.Or(c.Name, more.Name)
	return nil
}

func badIDToken(err error) error {
	return beeos.Wrap(beeos.Forbidden, err, "the OpenID provider's answer does not hold; begin again; if it stays so an admin should look into the log")
}
