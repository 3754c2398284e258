// Package agentgateway is where agents connect (port 8083). An instance joins
// once with its public key (join.go) and from then on signs what it sends; it
// declares its agents (sync.go), reads the channels they serve (history.go),
// makes files for callers (files.go) and connects (connect.go), as often as
// pace.go lets it, to receive messages: by WebSocket (websocket.go), by server-sent events (sse.go) or by
// long poll (poll.go), the latter two with POSTed frames for the way back
// (frames.go).
//
// What a connected agent does is below: link has the connections, turn what an
// agent works on, question what it asks meanwhile, codec the frames.
package agentgateway

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/approval"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/files"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/engine/price"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/store/audit"
	"github.com/beeos/beeos/internal/surface/agentgateway/link"
	"github.com/beeos/beeos/internal/surface/agentgateway/question"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// Options are the parts that the gateway stands on.
type Options struct {
	Agents    *agents.Table
	Instances *agents.Instances
	Audit     *audit.Table
	Auth      *auth.Authenticator
	Ledger    *ledger.Ledger
	Bus       *bus.Bus
	Calls     *invoke.Calls
	Files     *files.Files        // nil = agents cannot make files
	Approvals *approval.Approvals // nil = nobody can be asked
	Prices    *price.List         // nil = nobody knows what tokens cost
	Log       *slog.Logger
	Now       func() time.Time // nil = time.Now

	Heartbeat time.Duration // how often an agent hears from us at least; 0 = 10 s
}

// Surface is this node's door for agents.
type Surface struct {
	Options
	routes http.Handler
	hub    *link.Hub
	pace   pace
}

// New returns a gateway; Run must be running while it serves.
func New(opt Options) *Surface {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Heartbeat <= 0 {
		opt.Heartbeat = 10 * time.Second
	}
	g := &Surface{Options: opt, hub: link.New(link.Options{
		Options:   question.Options{Agents: opt.Agents, Ledger: opt.Ledger, Bus: opt.Bus, Calls: opt.Calls, Approvals: opt.Approvals, Log: opt.Log},
		Instances: opt.Instances, Prices: opt.Prices, Now: opt.Now, Heartbeat: opt.Heartbeat,
	})}
	g.hub.Offended = func(instance string) { g.pace.offend(instance, opt.Now()) }
	g.routes = g.handler()
	return g
}

// handler is the route table.
func (s *Surface) handler() http.Handler {
	mux := http.NewServeMux()
	for _, route := range []struct {
		pattern string
		do      action
	}{
		{"POST /api/v1/agents/join", s.join},
		{"POST /api/v1/agents/sync", s.signed(syncLimit, httpd.ReadJSON, s.paced(s.sync))},
		{"GET /api/v1/agents/connect", s.signed(0, noBody, s.paced(s.connect))},
		{"GET /api/v1/agents/poll", s.signed(0, noBody, s.poll)},
		{"POST /api/v1/agents/frames", s.signed(link.MaxInbound, httpd.ReadBody, s.receiveFrames)},
		{"POST /api/v1/agents/files", s.signed(fileLimit, httpd.ReadJSON, s.createFile)},
		{"GET /api/v1/agents/channels/{channel}/messages", s.signed(0, noBody, s.listMessages)},
		{"/", notFound},
	} {
		mux.HandleFunc(route.pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := route.do(w, r); err != nil {
				httpd.WriteError(w, r, err)
			}
		})
	}
	return mux
}

type action func(http.ResponseWriter, *http.Request) error

// signedAction is one of an instance that has signed the request.
type signedAction func(w http.ResponseWriter, r *http.Request, inst beeos.Instance, body []byte) error

// signed lets through what an instance has signed, body included.
func (s *Surface) signed(
	limit int64, read func(http.ResponseWriter, *http.Request, int64) ([]byte, error), do signedAction,
) action {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := s.refuseOffender(r); err != nil {
			return err
		}
		inst, body, err := s.Auth.Instance(r, func() ([]byte, error) { return read(w, r, limit) })
		if err != nil {
			return err
		}
		return do(w, r, inst, body)
	}
}

func noBody(http.ResponseWriter, *http.Request, int64) ([]byte, error) { return nil, nil }

func (s *Surface) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.routes.ServeHTTP(w, r) }

func notFound(_ http.ResponseWriter, r *http.Request) error {
	return beeos.Errorf(beeos.NotFound, "there is no %s %s on the agent gateway", r.Method, r.URL.Path)
}

// Run keeps connections and their work going until ctx ends. Then it closes
// every connection, gives their work back and returns.
func (s *Surface) Run(ctx context.Context) error { return s.hub.Run(ctx) }

// Connections is how many agents are connected to this node now.
func (s *Surface) Connections() int { return s.hub.Size() }

// Overdue is how many of them were given work and give no sign of life.
func (s *Surface) Overdue() int { return s.hub.CountOverdue() }

func (s *Surface) audit(ctx context.Context, row audit.Row) {
	row.At = s.Now()
	s.Audit.Record(ctx, s.Log, row)
}
