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
// declares itself (define.go, gateway.go; face.go changes that later), and then
// holds one WebSocket (link.go). Whatever breaks, it reconnects until its context ends; an answer
// that the gateway has not acknowledged is sent again (turns.go).
//
// A handler gets a Message (message.go), perhaps with files (attachment.go),
// and a Reply (reply.go, content.go); it may ask the caller something on the
// way (ask.go, question.go), or its owner whether it may call a tool
// (approve.go). Its context ends when the caller cancels or the
// deadline passes. An error that it returns becomes the answer, marked as a
// failure, or a Fault (fault.go); so does a panic.
package agent

import (
	"context"
	"log/slog"
	"sync"
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
	opts   Options // as it was started; what changes is in face
	log    *slog.Logger
	handle Handler

	gw       *gateway
	running  sync.WaitGroup // handlers
	updating sync.Mutex     // one Change at a time

	mu       sync.Mutex
	face     *face
	base     context.Context // of every handler; ends when draining is over
	id       string          // the gateway's name for this agent
	link     *link           // nil while disconnected
	turns    map[string]*Reply
	over     recent   // turns whose answer the gateway has
	waiting  []*Reply // received, over the concurrency limit
	active   int
	asks     map[string]chan beeos.Frame
	draining bool
	settled  chan struct{} // closed when draining and no turn is left
}

// New checks the options and returns an agent that is ready to Run.
func New(o Options, handle Handler) (*Agent, error) {
	f, err := newFace(o)
	if err != nil {
		return nil, err
	}
	a := &Agent{
		opts: o, face: f, handle: handle,
		log:     o.Log,
		turns:   map[string]*Reply{},
		asks:    map[string]chan beeos.Frame{},
		settled: make(chan struct{}),
	}
	if a.log == nil {
		a.log = slog.Default()
	}
	a.log = a.log.With("agent", o.Name)
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
	for _, r := range a.waiting {
		delete(a.turns, r.m.ID) // never begun: the gateway gives it to another instance
	}
	a.waiting = nil
	a.settle()
	l := a.link
	a.mu.Unlock()
	if l != nil {
		l.send(encode(beeos.Frame{Type: beeos.FrameDrain}))
	}
	select {
	case <-a.settled:
	case <-hard.Done():
	case <-time.After(drainFor):
		a.log.Warn("stopping with unfinished answers", "after", drainFor)
	}
	stop(errStopping)
}

// settle closes settled once the last turn of a draining agent is over. a.mu
// is held.
func (a *Agent) settle() {
	if !a.draining || len(a.turns) > 0 {
		return
	}
	select {
	case <-a.settled:
	default:
		close(a.settled)
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
	a.mu.Lock()
	l, id := a.link, a.id
	a.mu.Unlock()
	if l != nil {
		l.send(encode(beeos.Frame{Type: beeos.FrameResourceUpdated, AgentID: id, URI: uri}))
	}
}
