// Package a2a is the A2A surface (port 8092): every agent as a peer of other
// platforms' agents. Two bindings lead to one table of operations: JSON-RPC
// (rpc.go) and HTTP+JSON (rest.go); three dialects of the protocol are told
// apart in version.go, read by params.go and message.go, and written by wire.go
// as 1.0 or by v03.go as 0.3. The operations: send.go and stream.go give the
// agent messages and tell how they are answered (task.go, events.go, reply.go),
// tasks.go gets, lists and cancels, push.go has others be told. card.go is what
// an agent shows of itself, sign.go proves it, thin.go is the plain way to ask.
// access.go says who may whom, errors.go how it is refused.
//
// Types are those of the A2A Go SDK; its handlers are not used, see ADR 26.
package a2a

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/webhook"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/wire/httpd"
)

const (
	messageLimit   = 1 << 20
	settingLimit   = 64 << 10
	taskLife       = 24 * time.Hour // of a task that is made here
	keepAlive      = 15 * time.Second
	defaultTimeout = 60 * time.Second
)

// Options is what the surface stands on.
type Options struct {
	DB        *store.Store
	Auth      *auth.Authenticator
	Calls     *invoke.Calls
	Hooks     *webhook.Hooks
	Acts      *act.Acts
	Log       *slog.Logger
	PublicURL string        // what the interfaces in cards begin with
	Timeout   time.Duration // how long a caller waits when the agent does not say; 0 = 60 s
	Now       func() time.Time
}

// Gateway serves the surface.
type Gateway struct {
	opt    Options
	signer *signer
	cards  cards
}

// New returns a Gateway. The key that signs cards is the same on every node.
func New(ctx context.Context, opt Options) (*Gateway, error) {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Timeout <= 0 {
		opt.Timeout = defaultTimeout
	}
	opt.PublicURL = strings.TrimRight(opt.PublicURL, "/")
	seed, err := opt.DB.Cluster.Secret(ctx, "a2a cards", func() []byte {
		seed := make([]byte, ed25519.SeedSize)
		rand.Read(seed) //nolint:errcheck // it never fails
		return seed
	})
	if err != nil {
		return nil, err
	}
	g := &Gateway{opt: opt, signer: newSigner(seed, opt.PublicURL+"/.well-known/jwks.json")}
	g.cards.made = map[cardKey]card{}
	return g, nil
}

// ServeHTTP is the site map. Empty segments of a path do not count, so every
// address works with a slash at its end, and without.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := segments(r.URL.Path)
	switch {
	case len(path) == 2 && path[0] == ".well-known" && path[1] == "jwks.json":
		g.serveKeys(w, r)
	case len(path) == 2 && path[0] == ".well-known" && isCardName(path[1]):
		g.serveCard(w, r, r.URL.Query().Get("id"))
	case len(path) == 3 && path[1] == ".well-known" && isCardName(path[2]):
		g.serveCard(w, r, path[0])
	case len(path) == 0 || path[0] == ".well-known":
		notHere(w, r)
	case foreignOrigin(r, g.opt.PublicURL):
		httpd.WriteError(w, r, beeos.Errorf(beeos.Forbidden, "web pages of other origins may not call agents; call from a server or from a program"))
	case len(path) == 1 && r.Method == http.MethodPost:
		g.serveRPC(w, r, path[0])
	case len(path) == 3 && path[1] == "v1" && path[2] == "invoke":
		g.serveInvoke(w, r, path[0])
	case len(path) > 1:
		g.serveREST(w, r, path[0], path[1:])
	default:
		notHere(w, r)
	}
}

func notHere(w http.ResponseWriter, r *http.Request) {
	httpd.WriteError(w, r, beeos.Errorf(beeos.NotFound, "there is no %s %s on this surface; an agent's card is at /{agentId}/.well-known/agent-card.json", r.Method, r.URL.Path))
}

// segments splits a path, without the empty ones.
func segments(path string) []string {
	return strings.FieldsFunc(path, func(c rune) bool { return c == '/' })
}

// exchange is one operation that a known caller asks of one agent.
type exchange struct {
	g       *Gateway
	w       http.ResponseWriter
	r       *http.Request
	caller  beeos.Caller
	agent   *beeos.Agent
	dialect dialect
	params  params
}

// operation answers with a value of the SDK's types, or with a stream of them.
type operation struct {
	do     func(*exchange, context.Context) (any, error)
	stream func(*exchange, context.Context) (events, error)
}

var (
	opSend      = operation{do: (*exchange).sendMessage}
	opStream    = operation{stream: (*exchange).streamMessage}
	opGet       = operation{do: (*exchange).getTask}
	opList      = operation{do: (*exchange).listTasks}
	opCancel    = operation{do: (*exchange).cancelTask}
	opSubscribe = operation{stream: (*exchange).subscribe}
	opPushSet   = operation{do: (*exchange).setPush}
	opPushGet   = operation{do: (*exchange).getPush}
	opPushList  = operation{do: (*exchange).listPush}
	opPushDrop  = operation{do: (*exchange).dropPush}
	opCard      = operation{do: (*exchange).extendedCard}
)
