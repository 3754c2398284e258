package signin

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/beeos/beeos"
)

// idAlgorithms are the signatures that an ID token may have. Neither "none"
// nor a secret that both sides know is among them.
var idAlgorithms = []string{"RS256", "ES256", "EdDSA"}

// clockSkew is how far a provider's clock may be off.
const clockSkew = time.Minute

// idClaims is what we use of an ID token.
type idClaims struct {
	jwt.RegisteredClaims
	Party    string `json:"azp"`
	Nonce    string `json:"nonce"`
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

// checkIDToken follows OpenID Connect Core 3.1.3.7.
func (o *OIDC) checkIDToken(ctx context.Context, meta provider, token, nonce string) (*idClaims, error) {
	var c idClaims
	_, err := jwt.NewParser(
		jwt.WithValidMethods(idAlgorithms), jwt.WithIssuer(meta.Issuer), jwt.WithAudience(o.opt.ClientID),
		jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(clockSkew), jwt.WithTimeFunc(o.opt.Now), jwt.WithStrictDecoding(),
	).ParseWithClaims(token, &c, func(t *jwt.Token) (any, error) {
		kid, _ := t.Header["kid"].(string) //nolint:errcheck // none is "", and fits if there is one key
		return o.keys.find(ctx, o, meta.Keys, kid, t.Method.Alg())
	})
	if e, ok := errors.AsType[*beeos.Error](err); ok {
		return nil, e // the keys could not be had
	}
	switch {
	case err != nil:
	case c.Subject == "":
		err = errors.New("no sub")
	case len(c.Audience) > 1 && c.Party == "", c.Party != "" && c.Party != o.opt.ClientID:
		err = fmt.Errorf("azp is %q", c.Party)
	case nonce == "" || subtle.ConstantTimeCompare([]byte(nonce), []byte(c.Nonce)) != 1:
		err = errors.New("another nonce")
	}
	if err != nil {
		return nil, badIDToken(err)
	}
	return &c, nil
}

func badIDToken(err error) error {
	return beeos.Wrap(beeos.Forbidden, err, "the OpenID provider's answer does not hold; begin again; if it stays so an admin should look into the log")
}
