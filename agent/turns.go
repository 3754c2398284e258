package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/beeos/beeos"
)

var (
	errCancelled = errors.New("the caller cancelled")  // the cause of a context that the caller ended
	errStopping  = errors.New("the agent is stopping") // and of one that ended with the agent
)

// receive acts on one frame from the gateway. It never blocks.
func (a *Agent) receive(l *link, line []byte) {
	var f beeos.Frame
	if err := json.Unmarshal(line, &f); err != nil {
		a.log.Warn("a frame from the gateway is not JSON", "err", err)
		return
	}
	switch f.Type {
	case beeos.FrameHello:
		a.greeted(l, f)
	case beeos.FrameMessage:
		a.begin(l, f)
	case beeos.FrameCancel:
		if r := a.turn(f.MessageID); r != nil {
			r.cancel(fmt.Errorf("%w: %s", errCancelled, f.Reason))
		}
	case beeos.FrameWorking:
		if r := a.turn(f.MessageID); r != nil {
			r.replay(l)
		}
	case beeos.FrameContinue, beeos.FrameAuthGrant:
		a.resume(f)
	case beeos.FrameAnswer:
		a.answered(f)
	case beeos.FrameDecision:
		if r := a.turn(f.MessageID); r != nil {
			r.decided(f)
		}
	case beeos.FrameAck:
		a.acknowledged(f)
	case beeos.FrameError:
		if f.Error != nil {
			if r := a.turn(f.MessageID); r != nil && f.RequestID != "" { // a question: it has failed
				r.decided(f)
				a.answered(f)
			}
			a.log.Warn("the gateway could not use a frame", "code", f.Error.Code, "message", f.Error.Message)
		}
	}
}

func (a *Agent) turn(id string) *Reply {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.turns[id]
}

// begin starts the handler for a message, or lets it wait for its turn. A
// message that this process is answering already comes again when the gateway
// lost the connection in between: the work goes on, only its words are said
// again.
func (a *Agent) begin(l *link, f beeos.Frame) {
	m, err := newMessage(f)
	if err != nil {
		a.log.Warn("a message cannot be read", "err", err)
		l.send(encode(beeos.Frame{Type: beeos.FrameError, MessageID: f.MessageID, Body: "the agent could not read the message: " + err.Error()}))
		return
	}
	a.mu.Lock()
	if known := a.turns[m.ID]; known != nil {
		a.mu.Unlock()
		known.replay(l)
		return
	}
	if a.over.has(m.ID) { // handed out again before the answer was known everywhere
		a.mu.Unlock()
		l.send(encode(beeos.Frame{Type: beeos.FrameReply, MessageID: m.ID})) // refused, and the matter is closed
		return
	}
	if a.draining {
		a.mu.Unlock() // the gateway gives it to another instance when this one is gone
		return
	}
	r := &Reply{a: a, m: m, more: make(chan *beeos.Frame, 8)}
	r.ctx, r.cancel = a.handlerContext(m)
	a.turns[m.ID] = r
	if a.opts.Concurrency > 0 && a.active >= a.opts.Concurrency {
		a.waiting = append(a.waiting, r)
		a.mu.Unlock()
		return
	}
	a.active++
	a.mu.Unlock()
	a.running.Go(func() { a.work(r) })
}

func (a *Agent) handlerContext(m Message) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(a.base)
	if m.Deadline.IsZero() {
		return ctx, cancel
	}
	timed, stop := context.WithDeadline(ctx, m.Deadline)
	return timed, func(cause error) { cancel(cause); stop() }
}

// work runs handlers for r and for what waits behind it.
func (a *Agent) work(r *Reply) {
	for r != nil {
		a.answer(r)
		r.cancel(nil)
		a.mu.Lock()
		r = nil
		if len(a.waiting) > 0 {
			r, a.waiting = a.waiting[0], a.waiting[1:]
		} else {
			a.active--
		}
		a.mu.Unlock()
	}
}

// answer runs the handler and sees to it that the answer ends.
func (a *Agent) answer(r *Reply) {
	err := a.call(r)
	if r.ended() {
		if err != nil {
			a.log.Warn("the handler failed after its answer had ended", "message", r.m.ID, "err", err)
		}
		return
	}
	cause := context.Cause(r.ctx)
	switch {
	case err == nil:
		err = r.Send("")
	case errors.Is(cause, errStopping):
		a.log.Info("stopping before the answer has ended; another instance may get the message", "message", r.m.ID)
		return
	case errors.Is(cause, errCancelled):
		err = r.end(beeos.Frame{Type: beeos.FrameError, Body: "the answer was cancelled", StopReason: beeos.StopUser})
	case errors.Is(cause, context.DeadlineExceeded):
		err = r.end(beeos.Frame{Type: beeos.FrameError, Body: "the answer took too long", StopReason: beeos.StopTimeout})
	default:
		a.log.Warn("the handler failed", "message", r.m.ID, "err", err)
		if f := faultOf(err); f != nil {
			err = r.endFault(f)
		} else {
			err = r.Fail(err.Error())
		}
	}
	if err != nil && !errors.Is(err, ErrEnded) {
		a.log.Error("the answer could not be ended", "message", r.m.ID, "err", err)
	}
}

// call runs the handler, unless nobody wants its answer any more; a panic
// becomes an error.
func (a *Agent) call(r *Reply) (err error) {
	if r.ctx.Err() != nil { // it waited for its turn meanwhile
		return context.Cause(r.ctx)
	}
	defer func() {
		if p := recover(); p != nil {
			a.log.Error("the handler panicked", "message", r.m.ID, "panic", p, "stack", string(debug.Stack()))
			err = errors.New("the agent crashed over this message; its log has the details")
		}
	}()
	return a.handler(r.m)(r.ctx, r.m, r)
}

func (a *Agent) resume(f beeos.Frame) {
	r := a.turn(f.MessageID)
	if r == nil {
		return
	}
	select {
	case r.more <- &f:
	default:
		a.log.Warn("nobody waits for what the user said", "message", f.MessageID)
	}
}

// acknowledged forgets an answer that the gateway has, and tries another time
// with one that it could not take now.
func (a *Agent) acknowledged(f beeos.Frame) {
	r := a.turn(f.MessageID)
	if r == nil {
		return
	}
	over := true
	switch {
	case f.Error == nil:
	case f.Error.Code == string(beeos.AgentServiceUnavailable):
		r.retry()
		return
	case f.Error.Code == string(beeos.MessageTerminal):
		a.log.Debug("the message had its answer already", "message", f.MessageID)
	default:
		over = false
		a.log.Error("the gateway refused the answer", "message", f.MessageID, "code", f.Error.Code, "reason", f.Error.Message)
		if r.replaceRefused(f.Error) {
			return
		}
	}
	a.mu.Lock()
	delete(a.turns, f.MessageID)
	if over {
		a.over.add(f.MessageID)
	}
	a.settle()
	a.mu.Unlock()
}

// recent remembers the last few hundred ids that were added.
type recent struct {
	ids  map[string]bool
	ring [512]string
	next int
}

func (r *recent) has(id string) bool { return r.ids[id] }

func (r *recent) add(id string) {
	if r.ids == nil {
		r.ids = make(map[string]bool, len(r.ring))
	}
	delete(r.ids, r.ring[r.next])
	r.ids[id], r.ring[r.next] = true, id
	r.next = (r.next + 1) % len(r.ring)
}

// retry sends the answer again after a pause that grows to ten seconds.
func (r *Reply) retry() {
	r.mu.Lock()
	pause := min(200*time.Millisecond<<min(r.retries, 6), 10*time.Second)
	r.retries++
	r.mu.Unlock()
	time.AfterFunc(pause/2+rand.N(pause/2), func() {
		if l := r.a.current(); l != nil && r.a.turn(r.m.ID) == r {
			r.replay(l)
		}
	})
}

// replaceRefused tells the caller why there is no answer, once: the caller
// must not wait for one that the gateway will never take.
func (r *Reply) replaceRefused(fault *beeos.FrameFault) bool {
	r.mu.Lock()
	again := r.refused
	r.refused = true
	r.final = encode(beeos.Frame{
		Type: beeos.FrameReply, MessageID: r.m.ID, IsError: true, StopReason: beeos.StopError,
		Body: "the agent's answer was refused: " + fault.Message,
	})
	r.mu.Unlock()
	if again {
		return false
	}
	if l := r.a.current(); l != nil {
		r.replay(l)
	}
	return true
}
