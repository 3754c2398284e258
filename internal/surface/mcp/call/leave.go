package call

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/beeos/beeos/internal/engine/bus"
)

// Inside a session a closed stream means nothing by itself: a client may resume
// it, at any replica. One that does not within a while, and has no other way
// back to the result (a task, an idempotency key), has left, and then the agent
// is told, if its owner wants it to be. Ending the session stops all its calls
// at once.

// defaultLeave is how long a client may take to resume a stream.
const defaultLeave = 30 * time.Second

const leftReason = "the client went away"

var errClientLeft = errors.New("the client has left for good")

// leaving is whether the client of a call is still there.
type leaving struct {
	mu       sync.Mutex
	unwatch  func() bool // stops looking at its connection
	timer    *time.Timer // runs while it is away; nil = it is there
	returned bool        // another request waits for the call now
}

// stopsWhenLeft reports whether a call of this client is its agent's to drop
// once the client has left.
func (x *Client) stopsWhenLeft(idempotencyKey string) bool {
	return x.Session != nil && !x.OldTransport && idempotencyKey == "" && x.Agent.StopsWhenLeft()
}

// watchClient ends f some time after its client has gone.
func (x *Client) watchClient(f *pendingRequest) {
	l := f.leaving
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.returned { // the client was quicker
		return
	}
	l.unwatch = context.AfterFunc(x.HTTP.Context(), func() {
		if x.Out.Dropped() || x.Runner.Context.Err() != nil {
			return // it did not leave, we sent it away
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if !l.returned {
			l.timer = time.AfterFunc(x.Runner.LeaveAfter, func() { f.cancel(errClientLeft) })
		}
	})
}

// isAway reports whether nobody waits for the call at the moment.
func (l *leaving) isAway() bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.timer != nil
}

// stop is for a call that is over here, or that another request waits for.
func (l *leaving) stop() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.returned = true; l.unwatch != nil {
		l.unwatch()
	}
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
}

// announceReturn tells the replica at which a request's stream was lost that
// its client is back.
func (x *Client) announceReturn(id []byte) {
	name := requestName(x.Session, id)
	if !x.Runner.ClientReturned(name) {
		x.Runner.Bus.Control(bus.Control{Kind: bus.ClientReturned, ID: name})
	}
}

// ClientReturned notes that a client waits again for a request, if this replica
// runs it. It does not block.
func (r *Runner) ClientReturned(request string) (ours bool) {
	f, ours := r.pending.Load(request)
	if ours {
		f.(*pendingRequest).leaving.stop()
	}
	return ours
}

// EndSession stops the calls of a session that run here. It does not block.
func (r *Runner) EndSession(channel string) {
	r.pending.Range(func(name, f any) bool {
		if strings.HasPrefix(name.(string), channel+" ") {
			f.(*pendingRequest).cancel(&cancelledError{"the client ended its session"})
		}
		return true
	})
}
