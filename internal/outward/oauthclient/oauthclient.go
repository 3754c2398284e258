// Package oauthclient is the client side of OAuth in front of MCP servers. A
// Transport speaks to one server and to no other: it finds out from the
// server's refusal who may let it in (challenge.go, discover.go), gets a token
// for exactly this server (authorize.go, token.go) by whichever grant its owner
// has, with a person's consent where it takes one (consent.go), proves who it
// is with a secret, a signed assertion or a DPoP key (identity.go, dpop.go),
// and sends the request again (roundtrip.go).
//
// What it was given belongs to one issuer and one server; a Vault keeps it. The
// credential of whoever calls the agent never comes here. Every address that a
// server names is dialled by a transport of package outbound.
package oauthclient

import (
	"cmp"
	"context"
	"crypto"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/beeos/beeos/internal/wire/outbound"
)

// Grants by which a token can be had.
const (
	AuthorizationCode = "authorization_code"
	ClientCredentials = "client_credentials"
	JWTBearer         = "jwt_bearer" // a workload's identity, RFC 7523
	IDJAG             = "id_jag"     // an enterprise's identity provider lets its people's agents in
)

// Client is who the transport is to an authorization server.
type Client struct {
	Grant  string // authorization_code when empty
	ID     string // empty = it introduces itself by Document, or registers
	Secret string
	Key    crypto.Signer // instead of Secret, for private_key_jwt
	Issuer string        // the only one that ID, Secret and Key are for; empty = the first that is met
	Scopes []string      // beside those that the server asks for

	Name     string // for people, at registration
	Document string // URL of a client id metadata document; empty = there is none
	Redirect string // where a person comes back to

	// Assertion is, for JWTBearer, the workload's token, for IDJAG, the person's
	// id token. It is asked for with who would get it: the issuer, or IDP.
	Assertion func(ctx context.Context, reader string) (string, error)
	IDP       string // IDJAG: token endpoint of the identity provider
	IDPClient string // IDJAG: what the identity provider calls this client
}

// Session is what one issuer gave for one server.
type Session struct {
	Issuer     string       `json:"issuer"`
	Resource   string       `json:"resource"` // as the server names itself
	TokenURL   string       `json:"token_url"`
	Registered Registration `json:"registered,omitzero"`
	Methods    []string     `json:"methods,omitempty"` // how clients may show who they are

	Access  string    `json:"access,omitempty"`
	Refresh string    `json:"refresh,omitempty"`
	DPoP    bool      `json:"dpop,omitempty"` // the token is bound to Key
	Key     []byte    `json:"key,omitempty"`
	Expires time.Time `json:"expires,omitzero"`
	Asked   []string  `json:"asked,omitempty"` // scopes that were asked for so far
}

// Registration is what an authorization server calls this client.
type Registration struct {
	ClientID string `json:"client_id"`
	Secret   string `json:"secret,omitempty"`
	Method   string `json:"method,omitempty"`
}

// Vault keeps the sessions with one server, by issuer.
type Vault interface {
	// Last is the session that was put last; nil = there is none.
	Last(ctx context.Context) (*Session, error)
	// With is the session with an issuer; nil = there is none.
	With(ctx context.Context, issuer string) (*Session, error)
	Put(ctx context.Context, s Session) error
}

// Consent leads a person to p.URL and returns what they came back with.
type Consent func(ctx context.Context, p Pending) (url.Values, error)

// Options are what a Transport needs.
type Options struct {
	URL     string // of the server
	Client  Client
	Vault   Vault
	Consent Consent           // nil = nobody is there; Start and Finish are called at another time
	Base    http.RoundTripper // of package outbound
	Plain   bool              // http:// is allowed, for development
	Now     func() time.Time
}

// Transport sends requests to one protected server.
type Transport struct {
	opt  Options
	url  *url.URL
	http *http.Client        // for authorization servers
	turn *semaphore.Weighted // taken by who authorizes

	mu        sync.Mutex
	current   *Session
	loaded    bool
	nonces    map[string]string // DPoP, by origin
	stepUps   int
	refused   error // why the last try to authorize failed
	refusedAt time.Time
}

const requestWithin = 15 * time.Second

// New returns a transport for the server at opt.URL.
func New(opt Options) (*Transport, error) {
	u, err := url.Parse(opt.URL)
	if err != nil {
		return nil, err
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	opt.Client.Grant = cmp.Or(opt.Client.Grant, AuthorizationCode)
	return &Transport{
		opt: opt, url: u, turn: semaphore.NewWeighted(1), nonces: map[string]string{},
		http: outbound.ClientOver(opt.Base, outbound.Options{Timeout: requestWithin, MaxBody: maxDocument}),
	}, nil
}

// Forget makes the transport read the vault again.
func (t *Transport) Forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.current, t.loaded, t.refused, t.stepUps = nil, false, nil, 0
}

// loadSession returns what the transport has, from the vault the first time.
func (t *Transport) loadSession(ctx context.Context) (*Session, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.loaded {
		return t.current, nil
	}
	s, err := t.opt.Vault.Last(ctx)
	if err != nil {
		return nil, err
	}
	if s != nil && s.Access != "" {
		t.current = s
	}
	t.loaded = true
	return t.current, nil
}

// mergeScopes joins scopes, in order and each once.
func mergeScopes(lists ...[]string) (all []string) {
	for _, s := range slices.Concat(lists...) {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

func containsAll(some, all []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}
