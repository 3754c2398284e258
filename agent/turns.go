package agent

import (
	"context"
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

// receiveFrame acts on one frame from the gateway. It never blocks.
func (a *Agent) receiveFrame(l *link, line []byte) {
	f, err := readFrame(line)
	if err != nil {
		a.log.Warn("a frame from the gateway cannot be read", "err", err)
		return
	}
	switch f.Type {
	case beeos.FrameHello:
		a.onHello(l, f)
	case beeos.FrameMessage:
		a.beginTurn(line)
	case beeos.FrameCancel:
		if r := a.findTurn(f.MessageID); r != nil {
			r.cancel(fmt.Errorf("%w: %s", errCancelled, f.Reason))
		}
	case beeos.FrameWorking:
		if r := a.findTurn(f.MessageID); r != nil {
			r.sendAgain()
		}
	case beeos.FrameContinue, beeos.FrameAuthGrant:
		a.continuePause(f)
	case beeos.FrameAnswer, beeos.FrameDecision:
		a.answerQuestion(f)
	case beeos.FrameAck:
		a.onAck(f)
	case beeos.FrameRestart:
		a.onRestart(l)
	case beeos.FrameError:
		if f.Error != nil {
			a.answerQuestion(f) // if it is about a question, that has failed
			a.log.Warn("the gateway could not use a frame", "code", f.Error.Code, "message", f.Error.Message)
		}
	}
}

func (a *Agent) findTurn(id string) *Reply {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.turns[id]
}

// beginTurn starts the handler for a message, or lets it wait for its turn. A
// message that this process is answering already comes again when the gateway
// lost the connection in between: the work goes on, only its words are said
// again.
func (a *Agent) beginTurn(line []byte) {
	m, err := readMessage(line)
	if err != nil {
		a.log.Warn("a message cannot be read", "err", err)
		a.send(encode(beeos.Frame{Type: beeos.FrameError, MessageID: m.ID, Body: "the agent could not read the message: " + err.Error()}))
		return
	}
	a.mu.Lock()
	if known := a.turns[m.ID]; known != nil {
		a.mu.Unlock()
		known.sendAgain()
		return
	}
	if a.answered.has(m.ID) { // handed out again before the answer was known everywhere
		a.mu.Unlock()
		a.send(encode(beeos.Frame{Type: beeos.FrameReply, MessageID: m.ID})) // refused, and the matter is closed
		return
	}
	if a.draining {
		a.mu.Unlock() // the gateway gives it to another instance when this one is gone
		return
	}
	r := &Reply{a: a, m: m, continuations: make(chan beeos.Frame, 8), began: time.Now()}
	r.ctx, r.cancel = a.handlerContext(m)
	a.turns[m.ID] = r
	if a.opts.Concurrency > 0 && a.activeHandlers >= a.opts.Concurrency {
		a.waitingTurns = append(a.waitingTurns, r)
		a.mu.Unlock()
		return
	}
	a.activeHandlers++
	a.mu.Unlock()
	a.running.Go(func() { a.runHandlers(r) })
}

func (a *Agent) handlerContext(m Message) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(beeos.WithTrace(a.base, m.Trace))
	if m.Deadline.IsZero() {
		return ctx, cancel
	}
	timed, stop := context.WithDeadline(ctx, m.Deadline)
	return timed, func(cause error) { cancel(cause); stop() }
}

// runHandlers runs handlers for r and for what waits behind it.
func (a *Agent) runHandlers(r *Reply) {
	for r != nil {
		a.answerMessage(r)
		r.cancel(nil)
		a.mu.Lock()
		r = nil
		if len(a.waitingTurns) > 0 {
			r, a.waitingTurns = a.waitingTurns[0], a.waitingTurns[1:]
		} else {
			a.activeHandlers--
		}
		a.mu.Unlock()
	}
}

// answerMessage runs the handler and sees to it that the answer ends.
func (a *Agent) answerMessage(r *Reply) {
	err := a.callHandler(r)
	if r.hasEnded() {
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

// callHandler runs the handler, unless nobody wants its answer any more; a panic
// becomes an error.
func (a *Agent) callHandler(r *Reply) (err error) {
	if r.ctx.Err() != nil { // it waited for its turn meanwhile
		return context.Cause(r.ctx)
	}
	defer func() {
		if p := recover(); p != nil {
			a.log.Error("the handler panicked", "message", r.m.ID, "panic", p, "stack", string(debug.Stack()))
			err = errors.New("the agent crashed over this message; its log has the details")
		}
	}()
	return a.handlerFor(r.m)(r.ctx, r.m, r)
}

func (a *Agent) continuePause(f beeos.Frame) {
	r := a.findTurn(f.MessageID)
	if r == nil {
		return
	}
	select {
	case r.continuations <- f:
	default:
		a.log.Warn("nobody waits for what the user said", "message", f.MessageID)
	}
}

// onAck forgets an answer that the gateway has, and tries another time with one
// that it could not take now.
func (a *Agent) onAck(f beeos.Frame) {
	r := a.findTurn(f.MessageID)
	if r == nil {
		return
	}
	over := true
	switch {
	case f.Error == nil:
	case f.Error.Code == string(beeos.AgentServiceUnavailable):
		r.retryLater()
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
		a.answered.add(f.MessageID)
	}
	a.settleIfDrained()
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

// retryLater sends the answer again after a pause that grows to ten seconds.
func (r *Reply) retryLater() {
	r.mu.Lock()
	pause := min(200*time.Millisecond<<min(r.retries, 6), 10*time.Second)
	r.retries++
	r.mu.Unlock()
	time.AfterFunc(pause/2+rand.N(pause/2), func() {
		if r.a.findTurn(r.m.ID) == r {
			r.sendAgain()
		}
	})
}

// replaceRefused tells the caller why there is no answer, once: the caller
// must not wait for one that the gateway will never take.
func (r *Reply) replaceRefused(fault *beeos.FrameFault) bool {
	r.mu.Lock()
	again := r.refused
	r.refused = true
	r.terminal = r.failure("the agent's answer was refused: " + fault.Message)
	r.mu.Unlock()
	if !again {
		r.sendAgain()
	}
	return !again
}
