package tokens

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// The two types of tokens. Neither is good where the other is.
const (
	typeAccess = "at+jwt"   // of an MCP client, RFC 9068
	typeUser   = "user+jwt" // of a person, for REST
)

const tokenLongest = 12 << 10

// claims are those of RFC 9068, the agents that were granted when the token
// was made, and the chain that it belongs to. What counts is the chain: it
// leads to what is granted now. Times are whole seconds and the audience is
// one string; we never wrote anything else.
type claims struct {
	Issuer    string   `json:"iss"`
	Subject   string   `json:"sub"`
	Audience  string   `json:"aud"`
	Client    string   `json:"client_id,omitempty"`
	Scope     string   `json:"scope,omitempty"`
	Agents    []string `json:"agents,omitempty"`
	IssuedAt  int64    `json:"iat"`
	NotBefore int64    `json:"nbf,omitempty"`
	Expires   int64    `json:"exp"`
	ID        string   `json:"jti"`
	Family    string   `json:"fam"`
}

func (c claims) GetIssuer() (string, error)                   { return c.Issuer, nil }
func (c claims) GetSubject() (string, error)                  { return c.Subject, nil }
func (c claims) GetAudience() (jwt.ClaimStrings, error)       { return jwt.ClaimStrings{c.Audience}, nil }
func (c claims) GetIssuedAt() (*jwt.NumericDate, error)       { return date(c.IssuedAt), nil }
func (c claims) GetNotBefore() (*jwt.NumericDate, error)      { return date(c.NotBefore), nil }
func (c claims) GetExpirationTime() (*jwt.NumericDate, error) { return date(c.Expires), nil }

func date(seconds int64) *jwt.NumericDate {
	if seconds == 0 {
		return nil
	}
	return jwt.NewNumericDate(time.Unix(seconds, 0))
}

// verify checks signature, type, issuer and times of a token.
func (k *keyring) verify(ctx context.Context, token, kind, issuer string) (claims, error) {
	var c claims
	if len(token) > tokenLongest || strings.Count(token, ".") != 2 {
		return c, jwt.ErrTokenMalformed
	}
	parser := jwt.NewParser(jwt.WithValidMethods([]string{"HS256"}), jwt.WithIssuer(issuer), jwt.WithExpirationRequired(), jwt.WithTimeFunc(k.now), jwt.WithStrictDecoding())
	t, err := parser.ParseWithClaims(token, &c, func(t *jwt.Token) (any, error) {
		id, _ := t.Header["kid"].(string)
		if t.Header["typ"] != kind {
			return nil, errors.New("a token of another type")
		}
		key, err := k.find(ctx, id)
		return key.Secret, err
	})
	if err != nil {
		return c, err
	}
	if !t.Valid || c.Family == "" || c.Subject == "" {
		return c, jwt.ErrTokenInvalidClaims
	}
	return c, nil
}
