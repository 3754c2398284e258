// Package account gets bridges into servers that want tokens: with a client of
// their own, or with the consent of the person at the terminal (consent.go).
// The tokens are kept in a file of the user's (vault.go).
package account

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
	"github.com/beeos/beeos/internal/outward/oauthclient"
	"github.com/beeos/beeos/internal/wire/outbound"
)

// Client is how a bridge gets into a server that wants tokens: as a client of
// its own, or with the consent of the person at the terminal. It does nothing
// until the server asks.
type Client struct {
	Named    bool            `yaml:"-"` // the operator has named it; else it is for servers that ask
	ClientID string          `yaml:"client"`
	Secret   upstream.Secret `yaml:"secret"`   // or
	Key      upstream.Secret `yaml:"key"`      // a private key in PEM; with either, it is the client's own grant
	Issuer   string          `yaml:"issuer"`   // the only one that the client is registered with; empty = the first that is met
	Scopes   []string        `yaml:"scopes"`   // beside those that the server asks for
	Redirect string          `yaml:"redirect"` // where a person comes back to on this machine; empty = some port of 127.0.0.1
	Folder   string          `yaml:"-"`        // of tokens; empty = in the user's configuration folder
	Name     string          `yaml:"-"`        // of the agent: each has tokens of its own

	// Show leads the person to an address. Nil = nobody is there.
	Show func(address string) `yaml:"-"`
	Log  *slog.Logger         `yaml:"-"`
}

// ReadSecrets replaces the references of a client that a file in dir names with
// its secrets.
func (o *Client) ReadSecrets(dir string) error {
	if err := cmp.Or(o.Secret.Resolve(dir), o.Key.Resolve(dir)); err != nil {
		return fmt.Errorf("oauth: %w", err)
	}
	o.Named = true
	return o.Check()
}

// Check finds mistakes before anything is dialled.
func (o *Client) Check() error {
	switch {
	case o == nil:
		return nil
	case o.ClientID == "" && o.Secret+o.Key != "":
		return errors.New("a client's secret or key is of no use without its id; give the id as well")
	case o.Secret != "" && o.Key != "":
		return errors.New("a client has a secret or a key, not both")
	}
	if o.Key != "" {
		_, err := oauthclient.ParseKey(string(o.Key))
		return err
	}
	return nil
}

// Transport is the way into one server.
type Transport struct {
	*oauthclient.Transport
	opt      *Client
	vault    *vault
	redirect string
}

// ErrConsent is for a server that nobody has given consent for yet.
var ErrConsent = errors.New("the server wants a person's consent: run this once in a terminal, or give it a client of its own (--oauth-client, with its secret in BEEOS_OAUTH_SECRET)")

// NewTransport returns the way into the server at address.
func (o *Client) NewTransport(address string) (*Transport, error) {
	v, err := openVault(o, address)
	if err != nil {
		return nil, err
	}
	g := &Transport{opt: o, vault: v, redirect: cmp.Or(o.Redirect, v.kept.Redirect)}
	if g.redirect == "" && o.Show != nil {
		if g.redirect, err = pickRedirect(); err != nil {
			return nil, err
		}
	}
	v.kept.Redirect = g.redirect
	c := oauthclient.Client{
		Grant: oauthclient.AuthorizationCode, ID: o.ClientID, Secret: string(o.Secret), Issuer: o.Issuer, Scopes: o.Scopes, Name: "BeeOS: " + o.Name, Redirect: g.redirect,
	}
	if o.Secret+o.Key != "" {
		c.Grant = oauthclient.ClientCredentials
	}
	if o.Key != "" {
		if c.Key, err = oauthclient.ParseKey(string(o.Key)); err != nil {
			return nil, err
		}
	}
	g.Transport, err = oauthclient.New(oauthclient.Options{
		URL: address, Client: c, Vault: v, Base: newGuardedTransport(address, o.Issuer), Plain: strings.HasPrefix(address, "http://"),
	})
	return g, err
}

// RoundTrip does not wait for people: what takes consent fails with
// ErrConsent.
func (g *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := g.Transport.RoundTrip(req)
	if err != nil && beeos.CodeOf(err) == beeos.Unauthorized {
		return nil, ErrConsent
	}
	return resp, err
}

// guardedTransport dials what the operator named as it is. What others name,
// such as the authorization server of a server, must not lead into private
// networks, unless the server itself is in one, by its address.
type guardedTransport struct {
	own   []string // origins
	plain http.RoundTripper
	guard http.RoundTripper
}

func newGuardedTransport(own ...string) *guardedTransport {
	private := strings.HasPrefix(own[0], "http://")
	if u, err := url.Parse(own[0]); err == nil {
		private = private || outbound.IsPrivate(u.Hostname())
	}
	return &guardedTransport{own: own, plain: outbound.Transport(outbound.Options{Trusted: true}), guard: outbound.Transport(outbound.Options{AllowPrivate: private})}
}

func (r *guardedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if upstream.SameOrigin(req.URL.String(), r.own) {
		return r.plain.RoundTrip(req)
	}
	return r.guard.RoundTrip(req)
}

// HTTPClient follows no redirects and is let in.
func (g *Transport) HTTPClient() *http.Client {
	return outbound.ClientOver(g, outbound.Options{MaxBody: upstream.MaxMessage})
}

// ObtainConsent asks the person for consent if that is what err is about, and
// reports whether it is worth trying again.
func (g *Transport) ObtainConsent(ctx context.Context, err error) bool {
	if g == nil || g.opt.Show == nil || !errors.Is(err, ErrConsent) {
		return false
	}
	if err := g.askConsent(ctx); err != nil {
		g.opt.Log.Warn("there is no consent", "err", err)
		return false
	}
	return true
}

// LacksCredential reports whether a server that wants tokens is to be asked how
// to get one: headers that hold a credential are the answer to that.
func LacksCredential(header http.Header) bool {
	return header.Get("Authorization") == "" && header.Get("Cookie") == ""
}

// PublicError keeps what an error of ours says and hides the rest of its chain.
func PublicError(err error) error {
	if e, ok := errors.AsType[*beeos.Error](err); ok {
		return errors.New(e.Message)
	}
	return err
}
