// Package oauth is the authorization server: OAuth 2.1 with PKCE for MCP clients,
// all of them public.
//
// A client learns where everything is (metadata.go), names itself by
// registering (register.go) or by a document at an address of its own
// (document.go; client.go and redirect.go say what either may look like), and
// sends a person here (authorize.go). The console asks that person (consent.go)
// and sends the browser back (consent_answer.go), whereupon the client gets a code, which
// package tokens changes into tokens. What was granted stays in view of its
// person (grants.go). page.go is what a person sees who can be sent nowhere.
// Replicas share nothing but the database: any of them can go on with what
// another began.
package oauth

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/access/oauth/protocol"
	"github.com/beeos/beeos/internal/access/oauth/tokens"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/store/audit"
	"github.com/beeos/beeos/internal/store/cluster"
	"github.com/beeos/beeos/internal/store/grants"
	"github.com/beeos/beeos/internal/store/keys"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// Options are the parts that a Server stands on.
type Options struct {
	Grants     *grants.Table
	Keys       *keys.Table
	Agents     *agents.Table
	Trail      *audit.Table
	Cluster    *cluster.Table
	Issuer     string       // MCP_PUBLIC_URL; every URL that leaves here begins with it, but names of resources
	Bases      []string     // other URLs below which the same endpoints are, on this machine
	ConsoleURL string       // where people sign in and consent
	Client     *http.Client // fetches client id metadata documents; nil = a guarded one
	Log        *slog.Logger
	Now        func() time.Time

	// AllowPrivate lets documents come from this machine and from private
	// networks, over plain http too where the host is loopback.
	AllowPrivate bool

	// Tell brings an id to the Forget of every replica: a grant, a token
	// family or a user about which something has changed.
	Tell func(id string)
}

// Server is the authorization server.
type Server struct {
	*tokens.Minter
	opt       Options
	documents *documents
	registers auth.Limiter
	begins    auth.Limiter
}

// refusal is an error for a client.
var refusal = protocol.Refuse

const (
	txFor    = 10 * time.Minute
	codeFor  = 120 * time.Second
	bodyMost = 16 << 10
)

// New returns a Server. Its first signing key is made when there is none.
func New(ctx context.Context, opt Options) (*Server, error) {
	if opt.Grants == nil || opt.Keys == nil || opt.Issuer == "" {
		return nil, errors.New("oauth: Grants, Keys and Issuer are required")
	}
	opt.Log = cmp.Or(opt.Log, slog.New(slog.DiscardHandler))
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Tell == nil {
		opt.Tell = func(string) {}
	}
	opt.ConsoleURL = strings.TrimRight(opt.ConsoleURL, "/")
	issuer := strings.TrimRight(opt.Issuer, "/")
	minter, err := tokens.New(ctx, tokens.Options{Grants: opt.Grants, Keys: opt.Keys, Trail: opt.Trail, Cluster: opt.Cluster, Issuer: issuer, Bases: slices.Concat(protocol.Bases{issuer}, opt.Bases), Log: opt.Log, Now: opt.Now, Tell: opt.Tell})
	if err != nil {
		return nil, err
	}
	return &Server{
		Minter: minter, opt: opt,
		documents: newDocuments(opt),
		registers: auth.Limiter{Most: registerMost, Per: time.Minute, Now: opt.Now},
		begins:    auth.Limiter{Most: beginsMost, Per: time.Minute, Now: opt.Now},
	}, nil
}

// ServeHTTP is everything below /.well-known/ and /oauth/. Whoever mounts it
// answers browsers' questions about origins first.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodOptions {
		w.Header().Set("Allow", "GET, POST, OPTIONS")
		w.WriteHeader(http.StatusNoContent)
		return
	}
	method, serve := http.MethodGet, s.serveMetadata
	switch r.URL.Path {
	case "/oauth/authorize":
		serve = lead(s.authorize)
	case "/oauth/return":
		serve = lead(s.returnFromConsole)
	case "/oauth/register":
		method, serve = http.MethodPost, s.register
	case "/oauth/token":
		method, serve = http.MethodPost, s.ServeToken
	case "/oauth/revoke":
		method, serve = http.MethodPost, s.ServeRevoke
	case jwksPath:
		serve = s.serveKeys
	}
	if r.Method != method && (method != http.MethodGet || r.Method != http.MethodHead) {
		w.Header().Set("Allow", method+", OPTIONS")
		protocol.Fail(w, http.StatusMethodNotAllowed, "invalid_request", "use "+method)
		return
	}
	serve(w, r)
}

// address is where a request comes from, for counting.
func address(r *http.Request) string { return auth.Network(httpd.ClientIP(r)) }
