// Package mcp is the MCP surface: POST /{agentId}/mcp makes every agent an
// MCP server, POST /mcp all that a credential reaches (union.go, merge.go, member.go, search.go). It
// translates and never decides; calls go down to invoke.
//
// A request comes in through mcp.go (paths, CORS; the authorization server
// has some of the paths), access.go (who calls, which agent) and wire.go (one strict JSON-RPC message), is tied to a
// protocol revision by version.go and to a session by session.go or, since
// 2026-07-28, to nothing (stateless.go, headers.go), and finds its handler in
// dispatch.go. oldsse.go is the transport before all that. catalog.go keeps
// each agent's lists as bytes ready to write (about.go, lists.go, tools.go,
// resources.go, prompts.go, skills.go, frontmatter.go) and its schemas compiled
// (schema.go, cost.go).
//
// call.go and run.go run a call: its events become progress and logs
// (notify.go) or questions to the client (ask.go, rounds.go,
// bridge.go), its reply a
// result (reply.go, result.go, shape.go); any replica can stop it (cancel.go), pick its
// stream up (resume.go) or answer for it as a task (tasks.go, tasknews.go,
// handover.go, polls.go).
// What changes outside of calls reaches open streams (get.go, listen.go,
// follow.go) through news between replicas (news.go, hub.go). Answers leave
// through responder.go, as JSON or as a stream, errors in the words of
// errors.go.
//
// No replica remembers anything that another would need: a session is its
// own id, sealed, and what happens to it later is in the store (sessions.go).
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
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/access/oauth"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// Options are the parts that the surface stands on.
type Options struct {
	DB        *store.DB
	Auth      *auth.Authenticator
	OAuth     *oauth.Server // nil = keys alone
	Calls     *invoke.Calls
	PublicURL string   // MCP_PUBLIC_URL, without a slash at its end
	Origins   []string // browser origins that may call; empty = any
	Strict    bool     // refuse an older version header on a request of 2026-07-28, which some hosted clients send
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

	// Tell brings news to the Gateway.Hear of every replica, this one's too.
	// Without it there are no others.
	Tell func(News)

	// Settle returns when the others have heard what was told before; nil =
	// they have when Tell returns.
	Settle func(context.Context)
}

// Gateway serves MCP.
type Gateway struct {
	opt     Options
	catalog *catalog
	unions  unions
	sealer  *sealer
	flights flights
	hub     hub
	bridge  bridge
	ended   endedSessions
	polls   polls
}

// maxBody is the contract's limit.
const maxBody = 1 << 20

// New returns a Gateway. The key that seals sessions comes from the store, so
// that all replicas share it.
func New(opt Options) (*Gateway, error) {
	if opt.DB == nil || opt.Auth == nil || opt.Calls == nil || opt.PublicURL == "" {
		return nil, errors.New("mcp: DB, Auth, Calls and PublicURL are required")
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.HandOver <= 0 {
		opt.HandOver = min(handOverAfter, opt.Calls.Timeout()*5/6)
	}
	if opt.Context == nil {
		opt.Context = context.Background()
	}
	opt.PublicURL = strings.TrimRight(opt.PublicURL, "/")
	secret, err := opt.DB.Secret(opt.Context, "mcp session", newSecret)
	if err != nil {
		return nil, err
	}
	seal, err := newSealer(secret)
	if err != nil {
		return nil, err
	}
	g := &Gateway{
		opt:     opt,
		catalog: &catalog{calls: opt.Calls, entries: map[string]*entry{}},
		unions:  unions{entries: map[string]*entry{}},
		sealer:  seal,
		flights: flights{running: map[string]*flight{}},
		hub:     hub{topics: map[string]map[*stream]struct{}{}, principals: map[string]int{}},
		bridge:  bridge{waiting: map[string]chan []byte{}},
		ended:   endedSessions{ids: map[string]time.Time{}},
		polls:   polls{full: map[string]time.Time{}},
	}
	if err := g.readEnded(opt.Context, time.Time{}); err != nil {
		return nil, err
	}
	return g, nil
}

// ServeHTTP is the site map below an agent.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	agentID, door := g.enter(w, r)
	if door == "" {
		return
	}
	switch r.Method + " " + door {
	case "POST mcp":
		g.post(w, r, agentID)
	case "GET mcp":
		g.get(w, r, agentID)
	case "DELETE mcp":
		g.delete(w, r, agentID)
	case "GET sse":
		g.openOld(w, r, agentID)
	case "POST messages":
		g.postOld(w, r, agentID)
	case "OPTIONS mcp", "OPTIONS sse", "OPTIONS messages":
		w.Header().Set("Allow", allowed)
		w.WriteHeader(http.StatusNoContent)
	default:
		g.refuseMethod(w, r, agentID)
	}
}

// enter finds the agent, or all of them, and the door that a request goes to.
// There is none when it was answered: by the authorization server, or because
// there is nothing behind it.
func (g *Gateway) enter(w http.ResponseWriter, r *http.Request) (agentID, door string) {
	if g.opt.OAuth != nil && (r.URL.Path == "/oauth/authorize" || r.URL.Path == "/oauth/return") {
		g.opt.OAuth.ServeHTTP(w, r) // a person's browser goes there, and no page's script
		return "", ""
	}
	if !g.crossOrigin(w, r) {
		httpd.WriteError(w, r, beeos.Errorf(beeos.Forbidden, "pages of this origin may not call this server"))
		return "", ""
	}
	agentID, door, _ = strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case g.opt.OAuth != nil && (agentID == "oauth" || strings.Contains(r.URL.Path, "/.well-known/")):
		g.opt.OAuth.ServeHTTP(w, r)
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

// crossOrigin answers browsers' questions about a request of a web page. No
// cookie is read here, so a page can do nothing that its own credential does
// not allow; a sandboxed page ("null") has no name to allow.
func (g *Gateway) crossOrigin(w http.ResponseWriter, r *http.Request) bool {
	origins := r.Header["Origin"]
	if len(origins) == 0 {
		return true
	}
	origin := origins[0]
	if len(origins) > 1 || origin == "null" || len(g.opt.Origins) > 0 && !slices.Contains(g.opt.Origins, origin) {
		return false
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Vary", "Origin")
	h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, Mcp-Protocol-Version, WWW-Authenticate, Retry-After, X-Request-Id")
	if r.Method == http.MethodOptions {
		h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE, OPTIONS")
		h.Set("Access-Control-Max-Age", "7200")
		if asked := r.Header.Get("Access-Control-Request-Headers"); asked != "" {
			h.Set("Access-Control-Allow-Headers", asked)
		}
	}
	return true
}
