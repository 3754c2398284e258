package signin

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/beeos/beeos"
)

// OIDCOptions is one OpenID provider and who we are to it.
type OIDCOptions struct {
	Issuer       string
	ClientID     string
	ClientSecret string // "" = a public client: PKCE alone
	RedirectURL  string
	Client       *http.Client     // nil = http.DefaultClient
	Now          func() time.Time // nil = time.Now
}

// OIDC signs people in through an OpenID provider: authorization code, PKCE
// (S256), state and nonce. What the provider says about itself is read when
// it is needed first and again every hour.
type OIDC struct {
	opt    OIDCOptions
	client *http.Client
	keys   keySet

	mu   sync.Mutex
	meta provider
	read time.Time // when meta was read; zero = never
}

// Pending is a sign-in under way, for the browser's cookie.
type Pending struct {
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"`
}

// provider is what we use of the discovery document.
type provider struct {
	Issuer        string   `json:"issuer"`
	Authorization string   `json:"authorization_endpoint"`
	Token         string   `json:"token_endpoint"`
	UserInfo      string   `json:"userinfo_endpoint"`
	Keys          string   `json:"jwks_uri"`
	TokenAuth     []string `json:"token_endpoint_auth_methods_supported"`
	SendsIssuer   bool     `json:"authorization_response_iss_parameter_supported"`
}

const (
	providerFor  = time.Hour
	providerWait = 10 * time.Second
	providerMost = 1 << 20 // bytes of any answer
)

// NewOIDC returns a provider; it is not asked anything yet.
func NewOIDC(opt OIDCOptions) *OIDC {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	client := http.Client{}
	if opt.Client != nil {
		client = *opt.Client
	}
	client.Timeout = providerWait
	// A secret goes to the address that discovery named and to no other.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &OIDC{opt: opt, client: &client}
}

// Issuer is the provider's name.
func (o *OIDC) Issuer() string { return o.opt.Issuer }

// Start begins a sign-in: where to send the browser, and what to keep in it.
func (o *OIDC) Start(ctx context.Context) (string, Pending, error) {
	meta, err := o.discover(ctx)
	if err != nil {
		return "", Pending{}, err
	}
	to, err := url.Parse(meta.Authorization)
	if err != nil {
		return "", Pending{}, unreachable(err)
	}
	p := Pending{State: rand.Text(), Nonce: rand.Text(), Verifier: rand.Text() + rand.Text()}
	challenge := sha256.Sum256([]byte(p.Verifier))
	q := to.Query()
	for name, value := range map[string]string{
		"response_type": "code", "client_id": o.opt.ClientID, "redirect_uri": o.opt.RedirectURL, "scope": "openid email profile",
		"state": p.State, "nonce": p.Nonce,
		"code_challenge": base64.RawURLEncoding.EncodeToString(challenge[:]), "code_challenge_method": "S256",
	} {
		q.Set(name, value)
	}
	to.RawQuery = q.Encode()
	return to.String(), p, nil
}

// Finish takes what the browser brought back and returns who that is.
func (o *OIDC) Finish(ctx context.Context, p Pending, query url.Values) (Identity, error) {
	meta, err := o.discover(ctx)
	if err != nil {
		return Identity{}, err
	}
	iss := query.Get("iss")
	switch {
	case p.State == "" || subtle.ConstantTimeCompare([]byte(p.State), []byte(query.Get("state"))) != 1:
		return Identity{}, beeos.Errorf(beeos.InvalidParam, "this sign-in was begun in another browser or too long ago; begin again")
	case iss != "" && iss != meta.Issuer, iss == "" && meta.SendsIssuer:
		return Identity{}, beeos.Errorf(beeos.InvalidParam, "the answer comes from another provider than the one asked; begin again")
	case query.Get("error") != "":
		return Identity{}, beeos.Wrap(beeos.Forbidden, fmt.Errorf("%q", query.Get("error")), "your provider did not sign you in; begin again, or sign in with a password")
	case query.Get("code") == "":
		return Identity{}, beeos.Errorf(beeos.InvalidParam, "the provider's answer has no code; begin again")
	}
	tokens, err := o.exchange(ctx, meta, query.Get("code"), p.Verifier)
	if err != nil {
		return Identity{}, err
	}
	claims, err := o.checkIDToken(ctx, meta, tokens.ID, p.Nonce)
	if err != nil {
		return Identity{}, err
	}
	if claims.Email == "" && meta.UserInfo != "" && tokens.Access != "" {
		if err := o.userInfo(ctx, meta, tokens.Access, claims); err != nil {
			return Identity{}, err
		}
	}
	return Identity{Issuer: meta.Issuer, Subject: claims.Subject, Email: claims.Email, Verified: bool(claims.Verified), Name: claims.Name}, nil
}

// discover returns what the provider says about itself.
func (o *OIDC) discover(ctx context.Context) (provider, error) {
	o.mu.Lock()
	meta, read := o.meta, o.read
	o.mu.Unlock()
	if !read.IsZero() && o.opt.Now().Sub(read) < providerFor {
		return meta, nil
	}
	req, err := http.NewRequestWithContext(ctx, "GET", strings.TrimRight(o.opt.Issuer, "/")+"/.well-known/openid-configuration", nil)
	if err != nil {
		return provider{}, unreachable(err)
	}
	var fresh provider
	if err := o.ask(req, &fresh); err != nil {
		return provider{}, unreachable(err)
	}
	if fresh.Issuer != o.opt.Issuer {
		return provider{}, unreachable(fmt.Errorf("it says that it is %q", fresh.Issuer))
	}
	for _, endpoint := range []string{fresh.Authorization, fresh.Token, fresh.Keys} {
		if u, err := url.Parse(endpoint); err != nil || u.Host == "" || u.Scheme != "https" && !strings.HasPrefix(o.opt.Issuer, "http:") {
			return provider{}, unreachable(fmt.Errorf("it names the endpoint %q", endpoint))
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.meta, o.read = fresh, o.opt.Now()
	return fresh, nil
}

type tokens struct {
	ID     string `json:"id_token"`
	Access string `json:"access_token"`
}

// exchange turns the code into tokens.
func (o *OIDC) exchange(ctx context.Context, meta provider, code, verifier string) (t tokens, err error) {
	form := url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {o.opt.RedirectURL}, "code_verifier": {verifier}}
	basic := o.opt.ClientSecret != "" && (len(meta.TokenAuth) == 0 || slices.Contains(meta.TokenAuth, "client_secret_basic"))
	if !basic {
		form.Set("client_id", o.opt.ClientID)
		if o.opt.ClientSecret != "" {
			form.Set("client_secret", o.opt.ClientSecret)
		}
	}
	req, err := http.NewRequestWithContext(ctx, "POST", meta.Token, strings.NewReader(form.Encode()))
	if err != nil {
		return t, unreachable(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if basic { // RFC 6749 2.3.1: both are form-encoded first
		req.SetBasicAuth(url.QueryEscape(o.opt.ClientID), url.QueryEscape(o.opt.ClientSecret))
	}
	if err := o.ask(req, &t); err != nil {
		return t, beeos.Wrap(beeos.AgentServiceUnavailable, err, "the OpenID provider did not accept the sign-in; begin again; if it stays so an admin should check OIDC_CLIENT_ID and OIDC_CLIENT_SECRET")
	}
	return t, nil
}

// userInfo asks for what the ID token leaves out.
func (o *OIDC) userInfo(ctx context.Context, meta provider, access string, c *idClaims) error {
	req, err := http.NewRequestWithContext(ctx, "GET", meta.UserInfo, nil)
	if err != nil {
		return unreachable(err)
	}
	req.Header.Set("Authorization", "Bearer "+access)
	var more struct {
		Subject  string `json:"sub"`
		Email    string `json:"email"`
		Verified flag   `json:"email_verified"`
		Name     string `json:"name"`
	}
	if err := o.ask(req, &more); err != nil {
		return unreachable(err)
	}
	if more.Subject != c.Subject {
		return badIDToken(errors.New("userinfo speaks of somebody else"))
	}
	c.Email, c.Verified, c.Name = more.Email, more.Verified, cmp.Or(c.Name, more.Name)
	return nil
}

// ask sends a request and reads the JSON of a good answer.
func (o *OIDC) ask(req *http.Request, into any) error {
	req.Header.Set("Accept", "application/json")
	res, err := o.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, providerMost))
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		var e struct {
			Error string `json:"error"`
		}
		_ = json.Unmarshal(body, &e) // the status says enough without it
		return fmt.Errorf("%s answered %d %q", req.URL.Path, res.StatusCode, e.Error)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%s did not answer with JSON: %w", req.URL.Path, err)
	}
	return nil
}

func unreachable(err error) error {
	return beeos.Wrap(beeos.AgentServiceUnavailable, err, "the OpenID provider cannot be used; try again, or sign in with a password; an admin should check OIDC_ISSUER")
}
