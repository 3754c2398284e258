// Package agent is what the author of an agent imports. Run joins a BeeOS
// gateway, hands every message to a handler and carries the answer back:
//
//	err := agent.Run(ctx, agent.Options{Name: "echo"}, func(ctx context.Context, m agent.Message, r *agent.Reply) error {
//		r.Delta("you said: ") // streamed
//		return r.Send(m.Text) // the rest, and the end of the answer
//	})
//
// The process dials out, so it needs no open port. It keeps an Ed25519
// identity in a file (identity.go), joins with a credential that it finds in
// the environment or, on the machine of `beeos dev`, in dev.json (settings.go),
// declares itself (define.go, gateway.go; change.go changes that later), and then
// holds one WebSocket (link.go). Whatever breaks, it reconnects until its
// context ends; an answer that the gateway has not acknowledged is sent again
// (turns.go).
//
// A handler gets a Message (message.go) and a Reply (reply.go, content.go),
// both perhaps with files (attachment.go). It may ask the caller or another
// agent something on the way (ask.go), pause for the person behind the caller
// (pause.go), or ask its owner whether it may call a tool (approve.go);
// question.go waits for all of their answers. Its context ends when the caller
// cancels or the deadline passes. An error that it returns becomes the answer,
// marked as a failure, or a Fault (fault.go); so does a panic.
package agent

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/beeos/beeos"
)

// drainFor is how long running handlers may take to finish at shutdown.
const drainFor = 10 * time.Second

// Handler answers one message. It may run many times at once.
type Handler func(ctx context.Context, m Message, r *Reply) error

// Run serves one agent until ctx ends, then finishes what is running. It
// returns an error only for what trying again cannot mend: a definition that
// the gateway refuses, or no way to join it.
func Run(ctx context.Context, o Options, handle Handler) error {
	a, err := New(o, handle)
	if err != nil {
		return err
	}
	return a.Run(ctx)
}

// Agent is an agent that Run serves. Use New instead of the function Run to
// speak outside of an answer.
type Agent struct {
	opts   Options // as it was started; what changes is in declared
	log    *slog.Logger
	handle Handler

	gw       *gateway
	running  sync.WaitGroup // handlers
	updating sync.Mutex     // one Change at a time

	declared atomic.Pointer[declaration]

	mu             sync.Mutex
	base           context.Context // of every handler; ends when draining is over
	id             string          // the gateway's name for this agent
	link           *link           // nil while disconnected
	turns          map[string]*Reply
	answered       recent   // turns whose answer the gateway has
	waitingTurns   []*Reply // received, over the concurrency limit
	activeHandlers int
	questions      map[questionKey]*question
	draining       bool
	settle         func()        // closes settled
	settled        chan struct{} // closed when draining and no turn is left
}

// New checks the options and returns an agent that is ready to Run.
func New(o Options, handle Handler) (*Agent, error) {
	d, err := newDeclaration(o)
	if err != nil {
		return nil, err
	}
	a := &Agent{
		opts: o, handle: handle,
		log:       cmp.Or(o.Log, slog.Default()).With("agent", o.Name),
		turns:     map[string]*Reply{},
		questions: map[questionKey]*question{},
		settled:   make(chan struct{}),
	}
	a.declared.Store(d)
	a.settle = sync.OnceFunc(func() { close(a.settled) })
	if a.gw, err = openGateway(o, a.log); err != nil {
		return nil, err
	}
	return a, nil
}

// Run serves the agent until ctx ends.
func (a *Agent) Run(ctx context.Context) error {
	// Handlers and the connection outlive ctx by the time it takes to drain.
	hard, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	defer context.AfterFunc(ctx, func() { a.drain(hard, stop) })()

	err := a.connectForever(hard)
	stop(errStopping)
	a.running.Wait()
	if ctx.Err() != nil {
		return nil // asked to stop, and stopped
	}
	return err
}

// drain asks for no more work, waits for the answers in hand, then stops.
func (a *Agent) drain(hard context.Context, stop context.CancelCauseFunc) {
	a.mu.Lock()
	a.draining = true
	for _, r := range a.waitingTurns {
		delete(a.turns, r.m.ID) // never begun: the gateway gives it to another instance
	}
	a.waitingTurns = nil
	a.settleIfDrained()
	a.mu.Unlock()
	a.send(encode(beeos.Frame{Type: beeos.FrameDrain}))
	select {
	case <-a.settled:
	case <-hard.Done():
	case <-time.After(drainFor):
		a.log.Warn("stopping with unfinished answers", "after", drainFor)
	}
	stop(errStopping)
}

// settleIfDrained settles a draining agent whose last turn is over. a.mu is
// held.
func (a *Agent) settleIfDrained() {
	if a.draining && len(a.turns) == 0 {
		a.settle()
	}
}

// ID is the gateway's id of this agent; empty until it first connected.
func (a *Agent) ID() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.id
}

// ResourceUpdated tells subscribed clients that the resource has changed.
func (a *Agent) ResourceUpdated(uri string) {
	a.send(encode(beeos.Frame{Type: beeos.FrameResourceUpdated, AgentID: a.ID(), URI: uri}))
}
