package a2a

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/task"
	"github.com/beeos/beeos/internal/engine/webhook"
	"github.com/beeos/beeos/internal/surface/a2a/wire"
)

// sending is a message together with how its sender wants to be answered.
type sending struct {
	*wire.Message
	req     invoke.Request
	task    *task.Task // the one that the message goes on with; nil = a new one
	atOnce  bool
	history *int
	push    *webhook.Registration // nil = none
}

// addHistory puts the message into the task that it made, when that is wanted.
func (s *sending) addHistory(v *a2a.Task) {
	if s.history == nil || *s.history > 0 {
		v.History = []*a2a.Message{s.InHistory(v.TaskInfo())}
	}
}

// readSend reads the request of SendMessage and SendStreamingMessage.
func (o *operation) readSend(ctx context.Context) (*sending, error) {
	m, err := wire.ReadMessage(o.params, o.dialect, o.agent)
	if err != nil {
		return nil, err
	}
	conf := o.params.Object("configuration")
	s := &sending{Message: m, atOnce: conf.Flag("returnImmediately"), history: conf.HistoryLength()}
	if conf.Has("blocking") || o.dialect == wire.V03HTTP && o.params.Has("configuration") { // 0.3; its HTTP+JSON leaves false out
		s.atOnce = !conf.Flag("blocking")
	}
	err = conf.Err()
	for _, name := range []string{"taskPushNotificationConfig", "pushNotificationConfig", "pushNotification"} {
		if err == nil && conf.Has(name) {
			s.push, err = o.readPush(ctx, conf.Object(name))
		}
	}
	switch {
	case err != nil:
	case m.TaskID != "":
		err = o.findContinued(ctx, s)
	default:
		s.req, err = o.newRequest(m)
	}
	return s, err
}

// findContinued finds the task that a message names.
func (o *operation) findContinued(ctx context.Context, s *sending) error {
	t, err := o.ownTask(ctx, s.TaskID)
	if err != nil {
		return err
	}
	s.task = &t
	switch {
	case s.ContextID != "" && s.ContextID != wire.ContextOf(t.Metadata, t.Channel) && s.ContextID != t.Channel:
		return beeos.Errorf(beeos.InvalidParam, "the task belongs to another context; leave contextId out, or give the task's")
	case t.Done != nil:
		return wire.Refuse(wire.UnsupportedOperation, "the task is %s; send a message with its contextId and without taskId to go on", t.Status)
	}
	return nil
}

// newRequest is the message as the call path takes it.
func (o *operation) newRequest(m *wire.Message) (invoke.Request, error) {
	req := invoke.Request{
		Caller: o.caller, Agent: o.agent, Surface: "a2a", Kind: beeos.KindA2A, Body: m.Text, Attachments: m.Files,
		ContextID: m.ContextID, KeepOpen: true, IdempotencyKey: cmp.Or(o.r.Header.Get("Idempotency-Key"), m.ID), Join: true,
		Deadline: o.surface.opt.Now().Add(taskLife), Call: beeos.Call{Metadata: map[string]string{}},
		Entry: invoke.Entry{Method: "SendMessage"},
	}
	maps.Copy(req.Call.Metadata, m.Metadata)
	for name, value := range map[string]string{invoke.MetaA2AMessage: m.ID, invoke.MetaA2AAgent: o.r.Header.Get("X-A2A-Agent-ID")} {
		if value != "" {
			req.Call.Metadata[name] = fmt.Sprintf("%.256s", value)
		}
	}
	if m.ContextID != "" && req.ChannelID() != m.ContextID {
		req.Call.Metadata[invoke.MetaA2AContext] = m.ContextID
	}
	var err error
	if req.Chain, err = o.readCallChain(); err == nil && len(m.Parts) > 0 {
		req.Parts, err = beeos.EncodeJSON(m.Parts)
	}
	return req, err
}

// readCallChain takes over which agents led to the message, as a peer says. Who
// lies about it can do nothing but be refused.
func (o *operation) readCallChain() ([]string, error) {
	text := o.r.Header.Get("X-A2A-Call-Chain")
	if text == "" {
		return nil, nil
	}
	chain := strings.Split(text, ",")
	for i, id := range chain {
		if chain[i] = strings.TrimSpace(id); len(chain[i]) > 128 {
			return nil, beeos.Errorf(beeos.InvalidParam, "X-A2A-Call-Chain is a list of agents' ids, with commas between them")
		}
	}
	return chain, nil
}

// sendMessage answers when the task ends or waits for its caller, or at once,
// as the caller likes.
func (o *operation) sendMessage(ctx context.Context) (any, error) {
	s, err := o.readSend(ctx)
	switch {
	case err != nil:
		return nil, err
	case s.task == nil && !s.atOnce && s.push == nil:
		return o.sendAndWait(ctx, s)
	}
	t, since, err := o.submitMessage(ctx, s)
	switch {
	case err != nil:
		return nil, err
	case s.atOnce || t.Done != nil:
		return o.resultOf(ctx, t, s.history)
	}
	return o.waitForTask(ctx, t, since, s.history)
}

// sendAndWait is the short way for a new task whose end is waited for: one
// write and no read. When the end takes too long the answer is the task as it
// stands: the agent goes on, and the client can come back.
func (o *operation) sendAndWait(ctx context.Context, s *sending) (any, error) {
	req := s.req
	req.Live = true // for the pauses
	for ev, err := range o.surface.opt.Calls.Do(ctx, &req) {
		switch {
		case err != nil && beeos.CodeOf(err) == beeos.ServiceTimeout && o.dialect != wire.Legacy:
			if t, missing := o.ownTask(ctx, req.TurnID); missing == nil {
				return o.resultOf(ctx, t, s.history)
			}
			return nil, err
		case err != nil:
			return nil, err
		case ev.Kind == beeos.EventAsk && strings.HasPrefix(ev.AskID, beeos.PauseAsk):
			return o.currentResult(ctx, ev.Turn, s.history)
		case ev.Kind == beeos.EventMessage && ev.Message.Type.Terminal():
			return o.finalResult(ctx, s, &ev)
		}
	}
	return nil, errors.New("the call ended without a reply")
}

// finalResult is a task that has just ended. Unless it is an earlier one, all
// there is to know about it is at hand.
func (o *operation) finalResult(ctx context.Context, s *sending, ev *beeos.Event) (any, error) {
	if ev.Replayed {
		t, err := o.ownTask(ctx, ev.Turn)
		if err != nil {
			return nil, err
		}
		t.Done = ev.Message
		return o.resultOf(ctx, t, s.history)
	}
	context := wire.ContextOf(s.req.Call.Metadata, ev.Channel)
	if wire.IsDirect(ev.Message) {
		return wire.DirectReply(ev.Message, context), nil
	}
	v := &a2a.Task{ID: a2a.TaskID(ev.Turn), ContextID: context}
	wire.FinishTask(v, ev.Message)
	s.addHistory(v)
	return a2a.StreamResponse{Event: v}, nil
}

func (o *operation) currentResult(ctx context.Context, turn string, history *int) (any, error) {
	t, err := o.ownTask(ctx, turn)
	if err != nil {
		return nil, err
	}
	return o.resultOf(ctx, t, history)
}

func (o *operation) resultOf(ctx context.Context, t task.Task, history *int) (any, error) {
	if t.Done != nil && wire.IsDirect(t.Done) {
		return wire.DirectReply(t.Done, wire.ContextOf(t.Metadata, t.Channel)), nil
	}
	v, err := viewTask(ctx, o.surface.opt.Calls, &t, history)
	return a2a.StreamResponse{Event: v}, err
}

// waitForTask waits until a task ends or waits for its caller, and answers with
// it; when that takes too long, as it stands.
func (o *operation) waitForTask(ctx context.Context, t task.Task, since int64, history *int) (any, error) {
	wait, cancel := context.WithTimeout(ctx, cmp.Or(max(o.agent.Timeout, 0), o.surface.opt.Timeout))
	defer cancel()
	for ev, err := range o.surface.opt.Calls.WatchTurn(wait, t.Channel, t.Turn, since) {
		if err != nil && wait.Err() == nil {
			return nil, err
		}
		if err != nil || ev.Kind == beeos.EventMessage && endsWait(ev.Message.Type) {
			break
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return o.currentResult(ctx, t.Turn, history)
}

// endsWait: nothing more happens before the caller says something, if ever.
func endsWait(t beeos.MessageType) bool {
	return t.Terminal() || t == beeos.AgentInputRequired || t == beeos.AgentAuthRequired
}
