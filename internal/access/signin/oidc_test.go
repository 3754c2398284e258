package signin

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/test/openid"
)

// openID is a provider that a test bends.
type openID struct {
	*openid.Provider
	t *testing.T
}

const callback = "http://console/oidc/callback"

func newOpenID(t *testing.T) *openID {
	p := openid.Start(t)
	p.Redirect = callback
	return &openID{p, t}
}

func (p *openID) relying() *OIDC {
	return NewOIDC(OIDCOptions{Issuer: p.URL, ClientID: openid.ClientID, ClientSecret: openid.Secret, RedirectURL: callback})
}

// signIn goes all the way, with the answer bent on its way back.
func (p *openID) signIn(o *OIDC, bend func(Pending, url.Values) Pending) (Identity, error) {
	p.t.Helper()
	to, pending, err := o.Start(p.t.Context())
	if err != nil {
		return Identity{}, err
	}
	back := p.Visit(to)
	if bend != nil {
		pending = bend(pending, back)
	}
	return o.Finish(p.t.Context(), pending, back)
}

func TestOIDC(t *testing.T) {
	for _, tt := range []struct {
		name string
		set  func(p *openID)
		want Identity
	}{
		{"RS256", func(*openID) {}, Identity{Email: "Ann@example.com", Verified: true, Name: "Ann"}},
		{"ES256", func(p *openID) { p.Rotate("ES256", "e1") }, Identity{Email: "Ann@example.com", Verified: true, Name: "Ann"}},
		{"EdDSA", func(p *openID) { p.Rotate("EdDSA", "d1") }, Identity{Email: "Ann@example.com", Verified: true, Name: "Ann"}},
		{"one key needs no kid", func(p *openID) { p.Kid = "" }, Identity{Email: "Ann@example.com", Verified: true, Name: "Ann"}},
		{"secret in the body", func(p *openID) {
			p.Meta = map[string]any{"token_endpoint_auth_methods_supported": []string{"client_secret_post"}}
		}, Identity{Email: "Ann@example.com", Verified: true, Name: "Ann"}},
		{"two audiences and azp", func(p *openID) { p.Claims = map[string]any{"aud": []string{"beeos", "other"}, "azp": "beeos"} }, Identity{Email: "Ann@example.com", Verified: true, Name: "Ann"}},
		{"verified as a string", func(p *openID) { p.Claims = map[string]any{"email_verified": "true"} }, Identity{Email: "Ann@example.com", Verified: true, Name: "Ann"}},
		{"not verified", func(p *openID) { p.Claims = map[string]any{"email_verified": false} }, Identity{Email: "Ann@example.com", Name: "Ann"}},
		{"verified unsaid", func(p *openID) { p.Claims = map[string]any{"email_verified": nil} }, Identity{Email: "Ann@example.com", Name: "Ann"}},
		{"clock a little off", func(p *openID) { p.Claims = map[string]any{"exp": time.Now().Add(-30 * time.Second).Unix()} }, Identity{Email: "Ann@example.com", Verified: true, Name: "Ann"}},
		{"address from userinfo", func(p *openID) {
			p.Claims = map[string]any{"email": nil, "email_verified": nil}
			p.UserInfo = map[string]any{"sub": "42", "email": "a@example.com", "email_verified": true, "name": "Other"}
		}, Identity{Email: "a@example.com", Verified: true, Name: "Ann"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newOpenID(t)
			tt.set(p)
			tt.want.Issuer, tt.want.Subject = p.URL, "42"
			got, err := p.signIn(p.relying(), nil)
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

func TestOIDCRefuses(t *testing.T) {
	part := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	claim := func(name string, value any) func(*openID) {
		return func(p *openID) { p.Claims = map[string]any{name: value} }
	}
	for _, tt := range []struct {
		name string
		set  func(p *openID)
		bend func(Pending, url.Values) Pending
		code beeos.Code
	}{
		{"wrong nonce", claim("nonce", "another"), nil, beeos.Forbidden},
		{"no nonce", claim("nonce", nil), nil, beeos.Forbidden},
		{"no nonce kept", nil, func(p Pending, _ url.Values) Pending { p.Nonce = ""; return p }, beeos.Forbidden},
		{"wrong aud", claim("aud", "another"), nil, beeos.Forbidden},
		{"no aud", claim("aud", nil), nil, beeos.Forbidden},
		{"two aud without azp", claim("aud", []string{"beeos", "other"}), nil, beeos.Forbidden},
		{"wrong azp", claim("azp", "other"), nil, beeos.Forbidden},
		{"wrong iss", claim("iss", "https://evil.example"), nil, beeos.Forbidden},
		{"no iss", claim("iss", nil), nil, beeos.Forbidden},
		{"expired", claim("exp", time.Now().Add(-2*time.Minute).Unix()), nil, beeos.Forbidden},
		{"no exp", claim("exp", nil), nil, beeos.Forbidden},
		{"from the future", claim("iat", time.Now().Add(time.Hour).Unix()), nil, beeos.Forbidden},
		{"no sub", claim("sub", nil), nil, beeos.Forbidden},
		{"alg none", func(p *openID) {
			p.Bend = func(s string) string {
				return part(`{"alg":"none","kid":"k1"}`) + "." + strings.Split(s, ".")[1] + "."
			}
		}, nil, beeos.Forbidden},
		{"alg nOnE", func(p *openID) {
			p.Bend = func(s string) string { return part(`{"alg":"nOnE"}`) + "." + strings.Split(s, ".")[1] + "." }
		}, nil, beeos.Forbidden},
		{"HS256 with the public secret", func(p *openID) {
			p.Bend = func(s string) string {
				head := part(`{"alg":"HS256","kid":"k1"}`) + "." + strings.Split(s, ".")[1]
				sig, err := jwt.SigningMethodHS256.Sign(head, []byte("secret"))
				if err != nil {
					p.t.Error(err)
				}
				return head + "." + base64.RawURLEncoding.EncodeToString(sig)
			}
		}, nil, beeos.Forbidden},
		{"another key of the same name", func(p *openID) {
			other := newOpenID(p.t)
			p.Bend = func(string) string {
				other.Nonce = p.Nonce
				other.Claims = map[string]any{"iss": p.URL}
				return other.IDToken()
			}
		}, nil, beeos.Forbidden},
		{"tampered", func(p *openID) {
			p.Bend = func(s string) string {
				parts := strings.Split(s, ".")
				return parts[0] + "." + part(`{"sub":"1"}`) + "." + parts[2]
			}
		}, nil, beeos.Forbidden},
		{"no token", func(p *openID) { p.Bend = func(string) string { return "" } }, nil, beeos.Forbidden},
		{"many dots", func(p *openID) { p.Bend = func(string) string { return strings.Repeat(".", 100_000) } }, nil, beeos.Forbidden},
		{"another's userinfo", func(p *openID) {
			p.Claims, p.UserInfo = map[string]any{"email": nil}, map[string]any{"sub": "43", "email": "boss@example.com", "email_verified": true}
		}, nil, beeos.Forbidden},

		{"wrong state", nil, func(p Pending, q url.Values) Pending { q.Set("state", "x"); return p }, beeos.InvalidParam},
		{"no state anywhere", nil, func(_ Pending, q url.Values) Pending { q.Del("state"); return Pending{} }, beeos.InvalidParam},
		{"another issuer answers", nil, func(p Pending, q url.Values) Pending { q.Set("iss", "https://evil.example"); return p }, beeos.InvalidParam},
		{"issuer left out", nil, func(p Pending, q url.Values) Pending { q.Del("iss"); return p }, beeos.InvalidParam},
		{"denied", nil, func(p Pending, q url.Values) Pending { q.Set("error", "access_denied"); return p }, beeos.Forbidden},
		{"no code", nil, func(p Pending, q url.Values) Pending { q.Del("code"); return p }, beeos.InvalidParam},
		{"wrong code", nil, func(p Pending, q url.Values) Pending { q.Set("code", "x"); return p }, beeos.AgentServiceUnavailable},
		{"another's verifier", nil, func(p Pending, _ url.Values) Pending { p.Verifier = "x"; return p }, beeos.AgentServiceUnavailable},
		{"discovery of another", func(p *openID) { p.Meta = map[string]any{"issuer": "https://evil.example"} }, nil, beeos.AgentServiceUnavailable},
		{"no endpoints", func(p *openID) { p.Meta = map[string]any{"token_endpoint": ""} }, nil, beeos.AgentServiceUnavailable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newOpenID(t)
			o := p.relying()
			if tt.set != nil {
				tt.set(p)
			}
			got, err := p.signIn(o, tt.bend)
			wantCode(t, err, tt.code)
			if got != (Identity{}) {
				t.Errorf("and yet %+v", got)
			}
			if strings.Contains(err.Error(), openid.Secret) || strings.Contains(err.Error(), "eyJ") {
				t.Errorf("the error shows a secret: %v", err)
			}
		})
	}
}

// TestOIDCReadsOnlySoMuch: a provider cannot fill our memory.
func TestOIDCReadsOnlySoMuch(t *testing.T) {
	p := newOpenID(t)
	p.Meta = map[string]any{"service_documentation": strings.Repeat("x", providerMost)}
	_, _, err := p.relying().Start(t.Context())
	wantCode(t, err, beeos.AgentServiceUnavailable, "OIDC_ISSUER")
	if n := len(err.Error()); n > 10*complaintMost {
		t.Errorf("the log gets %d bytes", n)
	}
}

func TestOIDCRotatedKeys(t *testing.T) {
	p := newOpenID(t)
	o := p.relying()
	clock := time.Now()
	o.opt.Now = func() time.Time { return clock }
	for range 3 {
		if _, err := p.signIn(o, nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := p.KeysRead.Load(); n != 1 {
		t.Errorf("the keys were read %d times", n)
	}
	p.Rotate("ES256", "k2")
	for range 3 { // too early to ask again
		_, err := p.signIn(o, nil)
		wantCode(t, err, beeos.Forbidden)
	}
	clock = clock.Add(keysAgain)
	if _, err := p.signIn(o, nil); err != nil {
		t.Errorf("after the rotation: %v", err)
	}
	if n := p.KeysRead.Load(); n != 2 {
		t.Errorf("the keys were read %d times", n)
	}
	p.Close()
	clock = clock.Add(providerFor)
	_, _, err := o.Start(t.Context())
	wantCode(t, err, beeos.AgentServiceUnavailable, "OIDC_ISSUER")
}
