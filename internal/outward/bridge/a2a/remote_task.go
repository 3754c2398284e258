package a2a

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync/atomic"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/bridge/a2a/peer"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
)

// remoteTask is one message to the peer and all that comes of it.
type remoteTask struct {
	bridge  *bridge
	client  *peer.Client
	streams bool
	r       *agent.Reply
	who     peer.Attribution

	task, context string
	state         string        // of the task; empty = nothing was heard
	status        *peer.Message // what it says about it
	asked         *peer.Message // the question that our caller has answered
	direct        *peer.Message // an answer without a task
	note          string        // what it said while it worked
	notes         float64
	heard         int         // events
	known         atomic.Bool // what the task is called
	artifacts     artifacts
}

// isAtRest reports whether nothing more happens before somebody says something,
// if ever.
func (t *remoteTask) isAtRest() bool {
	switch t.state {
	case peer.StateInput, peer.StateAuth, peer.StateCompleted, peer.StateFailed, peer.StateCanceled, peer.StateRejected:
		return true
	}
	return t.direct != nil
}

// sendAsStep is sendMessage, told as a step of the answer.
func (t *remoteTask) sendAsStep(ctx context.Context, m peer.OutMessage) error {
	step := t.r.Step("SendMessage", agent.StepOther)
	err := t.sendMessage(step.Context(ctx), m)
	for name, value := range map[string]string{"task": t.task, "state": t.state} {
		if value != "" {
			step.Set(name, upstream.Shorten(value))
		}
	}
	if err == nil && (t.state == peer.StateFailed || t.state == peer.StateRejected || t.state == peer.StateCanceled) {
		step.End(errors.New("the task of the agent behind this one did not come to a result"))
		return nil
	}
	step.End(err)
	return err
}

// sendMessage gives the peer a message and listens until its task rests.
func (t *remoteTask) sendMessage(ctx context.Context, m peer.OutMessage) error {
	t.state, t.status = "", nil
	p := t.client.Params(&m, "")
	if t.streams {
		return t.followToRest(ctx, t.readStream(ctx, peer.OpStream, p))
	}
	open, end := t.withGrace(ctx)
	defer end()
	ev, err := t.client.Call(open, peer.OpSend, t.client.ReturnImmediately(p), t.who)
	if err == nil {
		err = t.handleEvent(ev)
	}
	return t.followToRest(ctx, err)
}

// withGrace is ctx, and a little longer while nobody knows the task: one whose
// name was never heard could not be cancelled.
func (t *remoteTask) withGrace(ctx context.Context) (context.Context, func()) {
	open, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if !t.known.Load() {
			upstream.Pause(open, taskNameWithin)
		}
		cancel()
	})
	return open, func() { stop(); cancel() }
}

// readStream hears a stream to its end, or until the task rests.
func (t *remoteTask) readStream(ctx context.Context, op peer.Operation, p map[string]any) error {
	open, end := t.withGrace(ctx)
	defer end()
	for ev, err := range t.client.Stream(open, op, p, t.who) {
		if err == nil {
			err = t.handleEvent(ev)
		}
		if err != nil || t.isAtRest() || ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// followToRest makes sure that the task rests: streams break off, and some
// peers have none. err is how the last try to hear of it ended.
func (t *remoteTask) followToRest(ctx context.Context, err error) error {
	pause, vain, resumed := upstream.MinPause, 0, false
	for {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil && t.isAtRest():
			if resumed && t.state == peer.StateCompleted { // some of it may have been missed
				return t.fetchState(ctx)
			}
			return nil
		case err == nil && t.task == "":
			return peer.ErrNotA2A // an empty stream, or a message without words
		case err != nil && (t.task == "" || !isUnreachable(err)):
			return err
		case err != nil:
			if vain++; vain >= maxFailures {
				return err
			}
		}
		if !upstream.Pause(ctx, pause) {
			continue
		}
		pause = min(pause*3/2, maxPollInterval)
		resumed = true
		if before := t.heard; t.streams {
			if err = t.readStream(ctx, peer.OpSubscribe, t.client.Params(nil, t.task)); t.heard != before {
				vain, pause = 0, upstream.MinPause
			}
			if t.isAtRest() && err == nil || isUnreachable(err) {
				continue
			}
		}
		if err = t.fetchState(ctx); err == nil {
			vain = 0
		}
	}
}

// isUnreachable reports whether the way to the peer failed, not the peer.
func isUnreachable(err error) bool {
	_, ok := errors.AsType[*upstream.Unreachable](err)
	return ok
}

// fetchState gets the task as it stands.
func (t *remoteTask) fetchState(ctx context.Context) error {
	t.asked = nil // what it says now is how it is
	ev, err := t.client.Call(ctx, peer.OpGet, t.client.Params(nil, t.task), t.who)
	if err != nil {
		return err
	}
	return t.handleEvent(ev)
}

// handleEvent takes in what the peer tells and passes on what can be.
func (t *remoteTask) handleEvent(ev peer.Event) error {
	t.heard++
	if ev.Task != "" {
		t.task = ev.Task
		t.known.Store(true)
	}
	if ev.Context != "" {
		t.context = ev.Context
	}
	if ev.Message != nil {
		t.direct = ev.Message
		return nil
	}
	for _, a := range ev.Artifacts {
		piece, err := t.artifacts.add(a, ev.Append)
		if err != nil {
			return err
		}
		_ = t.r.Delta(piece) // who gave up is told by the context
	}
	if ev.Status == nil {
		return nil
	}
	if ev.Whole && t.asked != nil && ev.Status.Message != nil && ev.Status.Message.ID == t.asked.ID {
		return nil // as it stood before our caller's answer
	}
	t.state, t.status = ev.Status.State, ev.Status.Message
	if note := textOf(ev.Status.Message); note != "" && !t.isAtRest() {
		t.note = note
		t.notes++
		_ = t.r.Progress(t.notes, 0, upstream.Shorten(note)) // who gave up is told by the context
	}
	return nil
}

// cancelUnlessDone tells the peer when nobody wants its answer any more.
func (t *remoteTask) cancelUnlessDone(ctx context.Context) {
	over := t.isAtRest() && t.state != peer.StateInput && t.state != peer.StateAuth
	if over || t.task == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelWithin)
	defer cancel()
	if _, err := t.client.Call(ctx, peer.OpCancel, t.client.Params(nil, t.task), t.who); err != nil {
		t.bridge.log.Debug("the agent was not told that its answer is no longer wanted", "err", err)
	}
}

// publicError says what went wrong, in the peer's words if it has some.
func (t *remoteTask) publicError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if f, ok := errors.AsType[*peer.Fault](err); ok && f.Busy() {
		return t.r.Busy(f.Error())
	}
	return err
}

// sendReply ends our answer as the peer ended its.
func (t *remoteTask) sendReply(ctx context.Context) error {
	said := textOf(t.status)
	switch {
	case t.direct != nil:
		if err := t.r.Direct(); err != nil {
			return err
		}
		piece, err := t.artifacts.add(peer.Artifact{Parts: t.direct.Parts}, false)
		if err != nil {
			return err
		}
		_ = t.r.Delta(piece) // who gave up is told by the context
	case t.state == peer.StateFailed:
		return t.r.Fail(orDefault(said, "the agent behind this one failed and does not say why"))
	case t.state == peer.StateRejected:
		return t.r.Refuse(orDefault(said, "the agent behind this one does not want to do this"))
	case t.state == peer.StateCanceled:
		return t.r.Fail(orDefault(said, "the agent behind this one has stopped its work"))
	}
	text, files := t.artifacts.text(), t.artifacts.files()
	if text == "" {
		text = said
	}
	if text == "" && len(files) == 0 {
		text = t.note
	}
	for _, f := range files {
		if err := t.forwardPart(ctx, f); err != nil {
			return t.publicError(ctx, err)
		}
	}
	if rest, ok := strings.CutPrefix(text, t.artifacts.told.String()); ok {
		return t.r.Send(rest)
	}
	return t.r.Correct(text)
}

// forwardPart hands on a part that is not text: bytes as a file of the
// caller's, the rest as it is.
func (t *remoteTask) forwardPart(ctx context.Context, p peer.Part) error {
	switch {
	case len(p.Raw) > 0:
		_, err := t.r.Attach(ctx, orDefault(p.Filename, "file"), orDefault(p.MediaType, "application/octet-stream"), bytes.NewReader(p.Raw))
		return err
	case p.URL != "":
		if upstream.Origin(p.URL) == "" {
			t.bridge.log.Warn("the agent sent the address of a file that nobody can open")
			return nil
		}
		return t.r.Part(beeos.FilePart{Type: beeos.PartFile, URL: p.URL, MIMEType: p.MediaType, Name: p.Filename})
	case len(p.Data) > 0:
		return t.r.Structured(p.Data)
	}
	return nil
}
