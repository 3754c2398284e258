// Package a2a is the A2A surface (port 8092): every agent as a peer of other
// platforms' agents. Two bindings lead to one table of operations: JSON-RPC
// (rpc.go) and HTTP+JSON (rest.go), both run by operation.go. send.go and
// stream.go give the agent messages and tell how they are answered, tasks.go
// gets, lists and cancels, push.go has others be told. plain_invoke.go is the
// way to ask without the protocol. access.go says who may do what; the bytes are in
// wire, the agents' cards in card.
//
// Types are those of the A2A Go SDK; its handlers are not used, see ADR 26.
package a2a

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"net/http"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/webhook"
	"github.com/beeos/beeos/internal/store/cluster"
	"github.com/beeos/beeos/internal/surface/a2a/card"
	"github.com/beeos/beeos/internal/wire/httpd"
)

const (
	messageLimit   = 1 << 20
	taskLife       = 24 * time.Hour // of a task that is made here
	keepAlive      = 15 * time.Second
	defaultTimeout = 60 * time.Second
)

// Options is what the surface stands on.
type Options struct {
	Context   context.Context // of New
	Cluster   *cluster.Table  // holds the key that signs cards, the same on every node
	Auth      *auth.Authenticator
	Calls     *invoke.Calls
	Hooks     *webhook.Hooks
	Acts      *act.Acts
	PublicURL string        // what the interfaces in cards begin with
	Timeout   time.Duration // how long a caller waits when the agent does not say; 0 = 60 s
	Now       func() time.Time
}

// Surface serves the surface.
type Surface struct {
	opt   Options
	cards *card.Cards
}

// New returns the surface.
func New(opt Options) (*Surface, error) {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Timeout <= 0 {
		opt.Timeout = defaultTimeout
	}
	opt.PublicURL = strings.TrimRight(opt.PublicURL, "/")
	seed, err := opt.Cluster.Secret(opt.Context, "a2a cards", func() []byte {
		seed := make([]byte, ed25519.SeedSize)
		rand.Read(seed) //nolint:errcheck // it never fails
		return seed
	})
	if err != nil {
		return nil, err
	}
	return &Surface{opt, card.New(seed, opt.PublicURL)}, nil
}

// ServeHTTP is the site map. Empty segments of a path do not count, so every
// address works with a slash at its end, and without.
func (s *Surface) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.FieldsFunc(r.URL.Path, func(c rune) bool { return c == '/' })
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case reads && len(path) == 2 && path[0] == ".well-known" && path[1] == "jwks.json":
		s.cards.ServeKeys(w)
	case reads && len(path) == 2 && path[0] == ".well-known" && isCardName(path[1]):
		s.serveCard(w, r, r.URL.Query().Get("id"))
	case reads && len(path) == 3 && path[1] == ".well-known" && isCardName(path[2]):
		s.serveCard(w, r, path[0])
	case len(path) == 0 || path[0] == ".well-known" || len(path) == 3 && path[1] == ".well-known" && isCardName(path[2]):
		refusePath(w, r)
	case foreignOrigin(r, s.opt.PublicURL):
		httpd.WriteError(w, r, beeos.Errorf(beeos.Forbidden, "web pages of other origins may not call agents; call from a server or from a program"))
	case len(path) == 1 && r.Method == http.MethodPost:
		s.serveRPC(w, r, path[0])
	case len(path) == 3 && path[1] == "v1" && path[2] == "invoke":
		s.servePlainInvoke(w, r, path[0])
	case len(path) > 1:
		s.serveREST(w, r, path[0], path[1:])
	default:
		refusePath(w, r)
	}
}

func refusePath(w http.ResponseWriter, r *http.Request) {
	httpd.WriteError(w, r, beeos.Errorf(beeos.NotFound, "there is no %s %s on this surface; an agent's card is at /{agentId}/.well-known/agent-card.json", r.Method, r.URL.Path))
}
