package a2a

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync/atomic"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/bridge/a2a/peer"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
)

// talk is one message to the peer and all that comes of it.
type talk struct {
	bridge  *peerBridge
	client  *peer.PeerClient
	streams bool
	r       *agent.Reply
	who     peer.Attribution

	task, context string
	state         string            // of the task; empty = nothing was heard
	status        *peer.PeerMessage // what it says about it
	asked         *peer.PeerMessage // the question that our caller has answered
	direct        *peer.PeerMessage // an answer without a task
	note          string            // what it said while it worked
	notes         float64
	heard         int         // events
	known         atomic.Bool // what the task is called
	artifacts     artifacts
}

// rests: nothing more happens before somebody says something, if ever.
func (t *talk) rests() bool {
	switch t.state {
	case peer.StateInput, peer.StateAuth, peer.StateCompleted, peer.StateFailed, peer.StateCanceled, peer.StateRejected:
		return true
	}
	return t.direct != nil
}

// send gives the peer a message and listens until its task rests.
func (t *talk) send(ctx context.Context, m peer.SaidTo) error {
	t.state, t.status = "", nil
	p := t.client.Params(&m, "")
	if t.streams {
		return t.follow(ctx, t.listen(ctx, peer.OpStream, p))
	}
	open, end := t.linger(ctx)
	defer end()
	ev, err := t.client.Call(open, peer.OpSend, t.client.AtOnce(p), t.who)
	if err == nil {
		err = t.hear(ev)
	}
	return t.follow(ctx, err)
}

// linger is ctx, and a little longer while nobody knows the task: one whose
// name was never heard could not be cancelled.
func (t *talk) linger(ctx context.Context) (context.Context, func()) {
	open, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if !t.known.Load() {
			upstream.PauseFor(open, lingerFor)
		}
		cancel()
	})
	return open, func() { stop(); cancel() }
}

// listen hears a stream to its end, or until the task rests.
func (t *talk) listen(ctx context.Context, op peer.Operation, p map[string]any) error {
	open, end := t.linger(ctx)
	defer end()
	for ev, err := range t.client.Stream(open, op, p, t.who) {
		if err == nil {
			err = t.hear(ev)
		}
		if err != nil || t.rests() || ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// follow makes sure that the task rests: streams break off, and some peers
// have none. err is how the last try to hear of it ended.
func (t *talk) follow(ctx context.Context, err error) error {
	pause, vain, resumed := upstream.MinPause, 0, false
	for {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil && t.rests():
			if resumed && t.state == peer.StateCompleted { // some of it may have been missed
				return t.look(ctx)
			}
			return nil
		case err == nil && t.task == "":
			return peer.ErrNotA2A // an empty stream, or a message without words
		case err != nil && (t.task == "" || !lost(err)):
			return err
		case err != nil:
			if vain++; vain >= peerTries {
				return err
			}
		}
		if !upstream.PauseFor(ctx, pause) {
			continue
		}
		pause = min(pause*3/2, pollMost)
		resumed = true
		if before := t.heard; t.streams {
			if err = t.listen(ctx, peer.OpSubscribe, t.client.Params(nil, t.task)); t.heard != before {
				vain, pause = 0, upstream.MinPause
			}
			if t.rests() && err == nil || lost(err) {
				continue
			}
		}
		if err = t.look(ctx); err == nil {
			vain = 0
		}
	}
}

// lost: the way to the peer failed, not the peer.
func lost(err error) bool {
	_, ok := errors.AsType[*upstream.Unheard](err)
	return ok
}

// look gets the task as it stands.
func (t *talk) look(ctx context.Context) error {
	t.asked = nil // what it says now is how it is
	ev, err := t.client.Call(ctx, peer.OpGet, t.client.Params(nil, t.task), t.who)
	if err != nil {
		return err
	}
	return t.hear(ev)
}

// hear takes in what the peer tells and passes on what can be.
func (t *talk) hear(ev peer.PeerEvent) error {
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
	if note := textOf(ev.Status.Message); note != "" && !t.rests() {
		t.note = note
		t.notes++
		_ = t.r.Progress(t.notes, 0, upstream.Clip(note)) // who gave up is told by the context
	}
	return nil
}

// leave tells the peer when nobody wants its answer any more.
func (t *talk) leave(ctx context.Context) {
	over := t.rests() && t.state != peer.StateInput && t.state != peer.StateAuth
	if over || t.task == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelWithin)
	defer cancel()
	if _, err := t.client.Call(ctx, peer.OpCancel, t.client.Params(nil, t.task), t.who); err != nil {
		t.bridge.log.Debug("the agent was not told that its answer is no longer wanted", "err", err)
	}
}

// failed says what went wrong, in the peer's words if it has some.
func (t *talk) failed(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if f, ok := errors.AsType[*peer.PeerFault](err); ok && f.Busy() {
		return t.r.Busy(f.Error())
	}
	return err
}

// finish ends our answer as the peer ended its.
func (t *talk) finish(ctx context.Context) error {
	said := textOf(t.status)
	switch {
	case t.direct != nil:
		if err := t.r.Direct(); err != nil {
			return err
		}
		piece, err := t.artifacts.add(peer.PeerArtifact{Parts: t.direct.Parts}, false)
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
		if err := t.pass(ctx, f); err != nil {
			return t.failed(ctx, err)
		}
	}
	if rest, ok := strings.CutPrefix(text, t.artifacts.told.String()); ok {
		return t.r.Send(rest)
	}
	return t.r.Correct(text)
}

// pass hands on a part that is not text: bytes as a file of the caller's, the
// rest as it is.
func (t *talk) pass(ctx context.Context, p peer.PeerPart) error {
	switch {
	case p.Raw != "":
		b, err := p.Bytes()
		if err != nil {
			return peer.ErrNotA2A
		}
		_, err = t.r.Attach(ctx, orDefault(p.Filename, "file"), orDefault(p.MediaType, "application/octet-stream"), bytes.NewReader(b))
		return err
	case p.URL != "":
		if upstream.OriginOf(p.URL) == "" {
			t.bridge.log.Warn("the agent sent the address of a file that nobody can open")
			return nil
		}
		return t.r.Part(map[string]string{"type": "file", "url": p.URL, "mime_type": p.MediaType, "name": p.Filename})
	case len(p.Data) > 0:
		return t.r.Structured(p.Data)
	}
	return nil
}
