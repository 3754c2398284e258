package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/task"
	"github.com/beeos/beeos/internal/engine/webhook"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// sending is a message together with how its sender wants to be answered.
type sending struct {
	*incoming
	req     invoke.Request
	task    *task.Task // the one that the message goes on with; nil = a new one
	atOnce  bool
	history *int
	push    *webhook.Registration // nil = none
}

// readSend reads the request of SendMessage and SendStreamingMessage.
func (x *exchange) readSend(ctx context.Context) (*sending, error) {
	m, err := x.readMessage()
	if err != nil {
		return nil, err
	}
	s := &sending{incoming: m}
	conf, err := x.params.object("configuration")
	if err == nil {
		s.atOnce, err = conf.flag("returnImmediately")
	}
	if err == nil && conf.has("blocking") { // 0.3
		var blocking bool
		blocking, err = conf.flag("blocking")
		s.atOnce = !blocking
	}
	if err == nil {
		s.history, err = readHistory(conf)
	}
	for _, name := range []string{"taskPushNotificationConfig", "pushNotificationConfig"} {
		if err == nil && conf.has(name) {
			var p params
			if p, err = conf.object(name); err == nil {
				s.push, err = x.readPush(ctx, p)
			}
		}
	}
	if err == nil && m.task != "" {
		err = x.goOn(ctx, s)
	}
	if err == nil && s.task == nil {
		s.req, err = x.request(m)
	}
	return s, err
}

func readHistory(p params) (*int, error) {
	n, err := p.number("historyLength")
	if err == nil && n != nil && *n < 0 {
		err = beeos.Errorf(beeos.InvalidParam, "historyLength must not be negative")
	}
	return n, err
}

// goOn finds the task that a message names.
func (x *exchange) goOn(ctx context.Context, s *sending) error {
	t, err := x.ownTask(ctx, s.incoming.task)
	if err != nil {
		return err
	}
	own := contextOf(t.Metadata, t.Channel)
	switch {
	case s.context != "" && s.context != own && s.context != t.Channel:
		return beeos.Errorf(beeos.InvalidParam, "the task belongs to another context; leave contextId out, or give the task's")
	case t.Done != nil:
		return refuse(unsupportedOp, "the task is %s; send a message with its contextId and without taskId to go on", t.Status)
	}
	s.task = &t
	return nil
}

// sendMessage is the operation of that name: it answers when the task ends or
// waits for its caller, or at once, as the caller likes.
func (x *exchange) sendMessage(ctx context.Context) (any, error) {
	s, err := x.readSend(ctx)
	switch {
	case err != nil:
		return nil, err
	case s.task == nil && !s.atOnce && s.push == nil:
		return x.ask(ctx, s)
	}
	t, since, err := x.submit(ctx, s)
	if err != nil {
		return nil, err
	}
	if !s.atOnce && t.Done == nil {
		if t, err = x.await(ctx, t, since); err != nil {
			return nil, err
		}
	}
	return x.result(ctx, t, s.history)
}

// ask is the short way for a new task whose end is waited for: one write and
// no read.
func (x *exchange) ask(ctx context.Context, s *sending) (any, error) {
	req := s.req
	req.Live = true // for the pauses
	for ev, err := range x.g.opt.Calls.Do(ctx, &req) {
		switch {
		case err != nil && beeos.CodeOf(err) == beeos.ServiceTimeout && x.dialect != legacy:
			return x.stillGoing(ctx, s, req.TurnID, err)
		case err != nil:
			return nil, err
		case ev.Kind == beeos.EventAsk && strings.HasPrefix(ev.AskID, beeos.PauseAsk):
			t, err := x.ownTask(ctx, ev.Turn)
			if err != nil {
				return nil, err
			}
			return x.result(ctx, t, s.history)
		case ev.Kind == beeos.EventMessage && ev.Message.Type.Terminal():
			return x.answer(ctx, s, &ev)
		}
	}
	return nil, errors.New("the call ended without a reply")
}

// answer is a task that has just ended. Unless it is an earlier one, all there
// is to know about it is at hand.
func (x *exchange) answer(ctx context.Context, s *sending, ev *beeos.Event) (any, error) {
	if ev.Replayed {
		t, err := x.ownTask(ctx, ev.Turn)
		if err != nil {
			return nil, err
		}
		return x.result(ctx, t, s.history)
	}
	context := contextOf(s.req.Call.Metadata, ev.Channel)
	if direct(ev.Message) {
		return reply(ev.Message, context), nil
	}
	v := &a2a.Task{ID: a2a.TaskID(ev.Turn), ContextID: context}
	finish(v, ev.Message)
	if s.history == nil || *s.history > 0 {
		v.History = []*a2a.Message{said(s.incoming, ev.Turn, context)}
	}
	return a2a.StreamResponse{Event: v}, nil
}

// reply is an answer that is a message and no task.
func reply(m *beeos.Message, context string) a2a.StreamResponse {
	msg := messageOf(m, context)
	msg.TaskID = ""
	return a2a.StreamResponse{Event: msg}
}

// stillGoing answers with the task as it stands when its end takes too long to
// wait for: the agent goes on, and the client can come back.
func (x *exchange) stillGoing(ctx context.Context, s *sending, turn string, timeout error) (any, error) {
	t, err := x.ownTask(ctx, turn)
	if err != nil {
		return nil, timeout
	}
	return x.result(ctx, t, s.history)
}

func (x *exchange) result(ctx context.Context, t task.Task, history *int) (any, error) {
	if t.Done != nil && direct(t.Done) {
		return reply(t.Done, contextOf(t.Metadata, t.Channel)), nil
	}
	v, err := view(ctx, x.g.opt.Calls, &t, history)
	if err != nil {
		return nil, err
	}
	return a2a.StreamResponse{Event: v}, nil
}

// submit stores the message: as a new task, or as what a paused one waits for.
// What follows it in the log begins after the offset.
func (x *exchange) submit(ctx context.Context, s *sending) (t task.Task, since int64, err error) {
	if s.task != nil {
		return x.proceed(ctx, s)
	}
	sent, err := x.g.opt.Calls.Submit(ctx, s.req)
	if err != nil {
		return t, 0, err
	}
	t = task.Task{
		Turn: sent.Message.ID, Channel: sent.Message.Channel, Offset: sent.Message.Offset, AgentID: x.agent.ID, Caller: x.caller.Principal(),
		Status: beeos.TaskQueued, Created: sent.Message.CreatedAt, Metadata: s.req.Call.Metadata, Done: sent.Done,
	}
	if t.Created.IsZero() {
		t.Created = x.g.opt.Now()
	}
	if sent.Replayed || sent.Done != nil {
		if t, err = x.ownTask(ctx, t.Turn); err != nil {
			return t, 0, err
		}
	}
	if s.push != nil {
		if _, err := x.register(ctx, &t, s.push); err != nil {
			return t, 0, err
		}
	}
	return t, t.Offset, nil
}

// proceed gives a paused task what it waits for.
func (x *exchange) proceed(ctx context.Context, s *sending) (t task.Task, since int64, err error) {
	t = *s.task
	if s.push != nil {
		if _, err := x.register(ctx, &t, s.push); err != nil {
			return t, 0, err
		}
	}
	m := beeos.Message{Type: beeos.Continue, Channel: t.Channel, InReplyTo: t.Turn, Publisher: x.caller.Principal(), Body: s.text}
	payload := map[string]any{"input": s.text, "metadata": map[string]string{invoke.MetaA2AMessage: s.id}}
	for _, raw := range s.data {
		payload["input"] = raw
	}
	switch t.Status {
	case beeos.TaskAuthRequired:
		m.Type = beeos.AuthGrant
		payload["auth_grant"] = granted(s.data)
	case beeos.TaskInputRequired:
	default:
		return t, 0, refuse(unsupportedOp, "the task is %s and waits for nothing; subscribe to it, or send the message without taskId", t.Status)
	}
	if len(s.parts) > 0 {
		if m.Parts, err = beeos.EncodeJSON(s.parts); err != nil {
			return t, 0, err
		}
	}
	if len(s.files) > 0 {
		if payload["attachments"], err = x.g.opt.Calls.AttachTo(ctx, x.caller, &m, s.files); err != nil {
			return t, 0, err
		}
	}
	if m.Payload, err = beeos.EncodeJSON(payload); err != nil {
		return t, 0, err
	}
	if m, err = x.g.opt.Calls.Continue(ctx, m); err != nil {
		if beeos.CodeOf(err) == beeos.NotFound || beeos.CodeOf(err) == beeos.Conflict {
			err = refuse(unsupportedOp, "the task has just moved on; get it to see how it stands")
		}
		return t, 0, err
	}
	t.Status = beeos.TaskRunning
	return t, m.Offset, nil
}

// granted: whoever answers a request for consent consents, unless it says
// {"auth_grant": false}.
func granted(data []json.RawMessage) bool {
	for _, raw := range data {
		if string(httpd.Field(raw, "auth_grant")) == "false" {
			return false
		}
	}
	return true
}

// await waits until a task ends or waits for its caller, and returns it; when
// that takes too long, as it stands.
func (x *exchange) await(ctx context.Context, t task.Task, since int64) (task.Task, error) {
	wait, cancel := context.WithTimeout(ctx, x.patience())
	defer cancel()
	for ev, err := range x.g.opt.Calls.WatchTurn(wait, t.Channel, t.Turn, since) {
		if err != nil && wait.Err() == nil {
			return t, err
		}
		if err != nil || ev.Kind == beeos.EventMessage && settles(ev.Message.Type) {
			break
		}
	}
	if ctx.Err() != nil {
		return t, ctx.Err()
	}
	return x.ownTask(ctx, t.Turn)
}

// settles: nothing more happens before the caller says something, if ever.
func settles(t beeos.MessageType) bool {
	return t.Terminal() || t == beeos.AgentInputRequired || t == beeos.AgentAuthRequired
}

func (x *exchange) patience() time.Duration {
	if x.agent.Timeout > 0 {
		return x.agent.Timeout
	}
	return x.g.opt.Timeout
}
