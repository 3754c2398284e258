package signin

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/wire/outbound"
)

// OIDCOptions is one OpenID provider and who we are to it.
type OIDCOptions struct {
	Issuer       string
	ClientID     string
	ClientSecret string // "" = a public client: PKCE alone
	RedirectURL  string
	Now          func() time.Time // nil = time.Now
}

// OIDC signs people in through an OpenID provider: authorization code, PKCE
// (S256), state and nonce. What the provider says about itself, and its keys,
// are read when they are needed first and again every hour.
type OIDC struct {
	opt      OIDCOptions
	client   *http.Client
	keyReads auth.Limiter
	known    atomic.Pointer[provider] // nil = it was never asked
}

// Pending is a sign-in under way, for the browser's cookie.
type Pending struct {
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"`
}

// provider is what we use of the discovery document.
type provider struct {
	*oidc.Provider
	oauth       oauth2.Config
	verifier    *oidc.IDTokenVerifier
	sendsIssuer bool
	read        time.Time
}

const (
	providerFor   = time.Hour
	providerWait  = 10 * time.Second
	providerMost  = 1 << 20 // bytes of a good answer
	complaintMost = 1 << 10 // bytes of an error, which ends up in the log
	keysAgain     = 10 * time.Second
)

// NewOIDC returns a provider; it is not asked anything yet.
func NewOIDC(opt OIDCOptions) *OIDC {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	// No redirects: a secret goes to the address that discovery named and to no other.
	limits := outbound.Options{Trusted: true, Timeout: providerWait, MaxBody: providerMost}
	o := &OIDC{opt: opt, client: outbound.ClientOver(shortComplaints{outbound.Transport(limits)}, limits)}
	o.keyReads = auth.Limiter{Most: 1, Per: keysAgain, Now: func() time.Time { return o.opt.Now() }}
	return o
}

// Issuer is the provider's name.
func (o *OIDC) Issuer() string { return o.opt.Issuer }

// Start begins a sign-in: where to send the browser, and what to keep in it.
func (o *OIDC) Start(ctx context.Context) (string, Pending, error) {
	p, err := o.discover(ctx)
	if err != nil {
		return "", Pending{}, err
	}
	pending := Pending{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()}
	return p.oauth.AuthCodeURL(pending.State, oidc.Nonce(pending.Nonce), oauth2.S256ChallengeOption(pending.Verifier)), pending, nil
}

// Finish takes what the browser brought back and returns who that is.
func (o *OIDC) Finish(ctx context.Context, begun Pending, query url.Values) (Identity, error) {
	p, err := o.discover(ctx)
	if err != nil {
		return Identity{}, err
	}
	iss := query.Get("iss")
	switch {
	case begun.State == "" || subtle.ConstantTimeCompare([]byte(begun.State), []byte(query.Get("state"))) != 1:
		return Identity{}, beeos.Errorf(beeos.InvalidParam, "this sign-in was begun in another browser or too long ago; begin again")
	case iss != "" && iss != o.opt.Issuer, iss == "" && p.sendsIssuer:
		return Identity{}, beeos.Errorf(beeos.InvalidParam, "the answer comes from another provider than the one asked; begin again")
	case query.Get("error") != "":
		return Identity{}, beeos.Wrap(beeos.Forbidden, fmt.Errorf("%q", query.Get("error")), "your provider did not sign you in; begin again, or sign in with a password")
	case query.Get("code") == "":
		return Identity{}, beeos.Errorf(beeos.InvalidParam, "the provider's answer has no code; begin again")
	}
	ctx = oidc.ClientContext(ctx, o.client)
	token, err := p.oauth.Exchange(ctx, query.Get("code"), oauth2.VerifierOption(begun.Verifier))
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		err = fmt.Errorf("the token endpoint answered %s %q", refused.Response.Status, refused.ErrorCode) // without its body
	}
	if err != nil {
		return Identity{}, beeos.Wrap(beeos.AgentServiceUnavailable, err, "the OpenID provider did not accept the sign-in; begin again; if it stays so an admin should check OIDC_CLIENT_ID and OIDC_CLIENT_SECRET")
	}
	return o.readIDToken(ctx, p, token, begun.Nonce)
}

// discover returns what the provider says about itself.
func (o *OIDC) discover(ctx context.Context) (*provider, error) {
	p := o.known.Load()
	if p != nil && o.opt.Now().Sub(p.read) < providerFor {
		return p, nil
	}
	found, err := oidc.NewProvider(oidc.ClientContext(ctx, o.client), o.opt.Issuer)
	var meta struct {
		Keys        string   `json:"jwks_uri"`
		TokenAuth   []string `json:"token_endpoint_auth_methods_supported"`
		SendsIssuer bool     `json:"authorization_response_iss_parameter_supported"`
	}
	if err == nil {
		err = found.Claims(&meta)
	}
	if err != nil {
		return nil, unreachable(err)
	}
	to := found.Endpoint()
	for _, endpoint := range []string{to.AuthURL, to.TokenURL, meta.Keys} {
		if u, err := url.Parse(endpoint); err != nil || u.Host == "" || u.Scheme != "https" && !strings.HasPrefix(o.opt.Issuer, "http:") {
			return nil, unreachable(fmt.Errorf("it names the endpoint %q", endpoint))
		}
	}
	to.AuthStyle = oauth2.AuthStyleInParams
	if o.opt.ClientSecret != "" && (len(meta.TokenAuth) == 0 || slices.Contains(meta.TokenAuth, "client_secret_basic")) {
		to.AuthStyle = oauth2.AuthStyleInHeader
	}
	p = &provider{
		Provider: found, sendsIssuer: meta.SendsIssuer, read: o.opt.Now(),
		oauth: oauth2.Config{
			ClientID: o.opt.ClientID, ClientSecret: o.opt.ClientSecret, RedirectURL: o.opt.RedirectURL,
			Endpoint: to, Scopes: []string{oidc.ScopeOpenID, "email", "profile"},
		},
		verifier: found.VerifierContext(oidc.ClientContext(ctx, o.keyClient()), &oidc.Config{
			ClientID: o.opt.ClientID, SupportedSigningAlgs: idAlgorithms, Now: func() time.Time { return o.opt.Now().Add(-clockSkew) },
		}),
	}
	o.known.Store(p)
	return p, nil
}

// keyClient reads the provider's keys, which a token with an unknown key makes
// the verifier do, but not for each of them.
func (o *OIDC) keyClient() *http.Client {
	client := *o.client
	client.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		if err := o.keyReads.Take(""); err != nil {
			return nil, errors.New("the keys were read a moment ago")
		}
		return o.client.Transport.RoundTrip(r)
	})
	return &client
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// shortComplaints cuts what the provider says when something is wrong: it ends
// up in the log.
type shortComplaints struct{ next http.RoundTripper }

func (c shortComplaints) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := c.next.RoundTrip(r)
	if err == nil && res.StatusCode != http.StatusOK {
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(res.Body, complaintMost), res.Body}
	}
	return res, err
}

func unreachable(err error) error {
	return beeos.Wrap(beeos.AgentServiceUnavailable, err, "the OpenID provider cannot be used; try again, or sign in with a password; an admin should check OIDC_ISSUER")
}
