// Package mcp is the MCP surface: POST /{agentId}/mcp makes every agent an MCP
// server, POST /mcp all agents that a credential reaches one. It translates and
// never decides; calls go down to invoke.
//
// A request comes in through mcp.go (paths, CORS; the authorization server has
// some of the paths) and access.go (who calls, which agent), is tied to a
// revision and a session in request.go or, since 2026-07-28, to nothing
// (stateless.go), and finds its method in dispatch.go: methods.go,
// session_methods.go, listen.go, or a call in package call. operations.go says how
// it went. session_stream.go
// and old_transport.go serve streams; control.go hears from other replicas.
//
// The rooms below it: wire is the protocol as bytes, catalog what agents have,
// schema their schemas, sessions what was agreed on at initialize, call the
// calls under way, replies what agents answer, stream what changes outside of
// calls, directory what programs read before they connect. No replica remembers
// anything that another would need.
package mcp

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/access/oauth"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/store/cluster"
	sessionstore "github.com/beeos/beeos/internal/store/sessions"
	"github.com/beeos/beeos/internal/surface/mcp/call"
	"github.com/beeos/beeos/internal/surface/mcp/catalog"
	"github.com/beeos/beeos/internal/surface/mcp/directory"
	"github.com/beeos/beeos/internal/surface/mcp/sessions"
	"github.com/beeos/beeos/internal/surface/mcp/stream"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// Options are the parts that the surface stands on.
type Options struct {
	Agents    *agents.Table
	Sessions  *sessionstore.Table
	Cluster   *cluster.Table
	Auth      *auth.Authenticator
	OAuth     *oauth.Server // nil = keys alone
	Calls     *invoke.Calls
	Bus       *bus.Bus
	Acts      *act.Acts // nil = no directory
	PublicURL string    // MCP_PUBLIC_URL, without a slash at its end
	A2AURL    string    // of the same agents as peers; "" = there is no such surface
	Origins   []string  // browser origins that may call; empty = any
	Strict    bool      // refuse an older version header on a request of 2026-07-28, which some hosted clients send
	Log       *slog.Logger
	Now       func() time.Time

	// HandOver is after how long a call is answered with where to fetch its
	// result, to a client that knows nothing of tasks; 0 = 50 s, or before
	// the default timeout of calls.
	HandOver time.Duration

	// WriteWithin is how long a reader may refuse to take what we write
	// before it is dropped; 0 = as long as httpd says.
	WriteWithin time.Duration

	// Context ends when the server stops. Calls inside a session outlive
	// their connection, but not this.
	Context context.Context

	// Answered is told of every request that was answered: its method, what kind
	// of error it came to ("" = none), and how long it took.
	Answered func(method, errorType string, took time.Duration)

	// NodeDead is how long a node may be silent before it counts as gone.
	NodeDead time.Duration
}

// Surface serves MCP.
type Surface struct {
	opt       Options
	catalog   *catalog.Catalog
	directory *directory.Directory
	sessions  *sessions.Registry
	runner    *call.Runner
	hub       *stream.Hub
}

// maxBody is the contract's limit.
const maxBody = 1 << 20

// New returns the surface.
func New(opt Options) (*Surface, error) {
	if opt.Agents == nil || opt.Auth == nil || opt.Calls == nil || opt.Bus == nil || opt.PublicURL == "" {
		return nil, errors.New("mcp: the tables, Auth, Calls, Bus and PublicURL are required")
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Answered == nil {
		opt.Answered = func(string, string, time.Duration) {}
	}
	if opt.Context == nil {
		opt.Context = context.Background()
	}
	opt.PublicURL = strings.TrimRight(opt.PublicURL, "/")
	registry, err := sessions.Open(opt.Context, sessions.Options{Sessions: opt.Sessions, Cluster: opt.Cluster, Bus: opt.Bus, Log: opt.Log, Now: opt.Now, NodeDead: opt.NodeDead})
	if err != nil {
		return nil, err
	}
	g := &Surface{
		opt:      opt,
		catalog:  catalog.New(opt.Agents, opt.Calls, opt.Now),
		sessions: registry,
		hub:      stream.NewHub(),
	}
	g.runner = call.NewRunner(call.Options{
		Sessions: opt.Sessions, Calls: opt.Calls, Bus: opt.Bus, Catalog: g.catalog, Sealer: registry.Sealer, Log: opt.Log, Now: opt.Now,
		HandOver: opt.HandOver, Context: opt.Context,
	})
	if opt.Acts != nil {
		g.directory = directory.New(directory.Options{Acts: opt.Acts, Auth: opt.Auth, Agents: opt.Agents, MCPURL: opt.PublicURL, A2AURL: opt.A2AURL, Challenge: g.challenge})
	}
	opt.Bus.OnControl(g.handleControl)
	opt.Bus.OnNotice(g.hub.HandleNotice)
	return g, nil
}

// Run keeps what the surface knows about sessions fresh until ctx ends.
func (s *Surface) Run(ctx context.Context) error { return s.sessions.KeepFresh(ctx) }

// ServeHTTP is the site map below an agent.
func (s *Surface) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	agentID, door := s.route(w, r)
	if door == "" {
		return
	}
	if r.Method == http.MethodOptions {
		w.Header().Set("Allow", allowed)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	x, err := s.newRequest(w, r, agentID)
	if err != nil {
		x.refuse(err)
		return
	}
	defer x.Out.Close()
	if x.Out.AcceptsStream || door == "sse" {
		defer x.openStream()()
	}
	switch r.Method + " " + door {
	case "POST mcp":
		x.answerPost()
	case "GET mcp":
		x.serveSessionStream()
	case "DELETE mcp":
		x.endSession()
	case "GET sse":
		x.openOldTransport()
	case "POST messages":
		x.postOldTransport()
	default:
		x.refuseMethod()
	}
}

// route finds the agent, or all of them, and the door that a request goes to.
// There is none when it was answered: by the authorization server, or because
// there is nothing behind it.
func (s *Surface) route(w http.ResponseWriter, r *http.Request) (agentID, door string) {
	if s.opt.OAuth != nil && (r.URL.Path == "/oauth/authorize" || r.URL.Path == "/oauth/return") {
		s.opt.OAuth.ServeHTTP(w, r) // a person's browser goes there, and no page's script
		return "", ""
	}
	if !s.allowOrigin(w, r) {
		httpd.WriteError(w, r, beeos.Errorf(beeos.Forbidden, "pages of this origin may not call this server"))
		return "", ""
	}
	agentID, door, _ = strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case s.directory != nil && directory.Serves(r.URL.Path):
		s.directory.ServeHTTP(w, r)
	case s.opt.OAuth != nil && (agentID == "oauth" || strings.Contains(r.URL.Path, "/.well-known/")):
		s.opt.OAuth.ServeHTTP(w, r)
	case r.URL.Path == "/mcp":
		return "", "mcp"
	case plainID(agentID) && (door == "mcp" || door == "sse" || door == "messages"):
		return agentID, door
	default:
		httpd.WriteError(w, r, beeos.Errorf(beeos.NotFound, "nothing is here: MCP endpoints are at /{agentId}/mcp, and /mcp for all agents"))
	}
	return "", ""
}

const allowed = "GET, POST, DELETE, OPTIONS"

// plainID reports whether s can be an agent's id; it ends up in headers.
func plainID(s string) bool {
	return s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(c rune) bool {
		return c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	})
}

// allowOrigin answers browsers' questions about a request of a web page. No
// cookie is read here, so a page can do nothing that its own credential does
// not allow; a sandboxed page ("null") has no name to allow.
func (s *Surface) allowOrigin(w http.ResponseWriter, r *http.Request) bool {
	origins := r.Header["Origin"]
	if len(origins) == 0 {
		return true
	}
	origin := origins[0]
	if len(origins) > 1 || origin == "null" || len(s.opt.Origins) > 0 && !slices.Contains(s.opt.Origins, origin) {
		return false
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Vary", "Origin")
	h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, Mcp-Protocol-Version, WWW-Authenticate, Retry-After, X-Request-Id")
	if r.Method == http.MethodOptions {
		h.Set("Access-Control-Allow-Methods", allowed)
		h.Set("Access-Control-Max-Age", "7200")
		if asked := r.Header.Get("Access-Control-Request-Headers"); asked != "" {
			h.Set("Access-Control-Allow-Headers", asked)
		}
	}
	return true
}
