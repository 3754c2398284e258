package a2a

import (
	"context"
	"encoding/json"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/task"
	"github.com/beeos/beeos/internal/surface/a2a/wire"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// submitMessage stores the message: as a new task, or as what a paused one waits for.
// What follows it in the log begins after the offset.
func (o *operation) submitMessage(ctx context.Context, s *sending) (t task.Task, since int64, err error) {
	if s.task != nil {
		return o.continueTask(ctx, s)
	}
	sent, err := o.surface.opt.Calls.Submit(ctx, s.req)
	if err != nil {
		return t, 0, err
	}
	t = task.Task{
		Turn: sent.Message.ID, Channel: sent.Message.Channel, Offset: sent.Message.Offset, AgentID: o.agent.ID, Caller: o.caller.Principal(),
		Status: beeos.TaskQueued, Created: sent.Message.CreatedAt, Metadata: s.req.Call.Metadata, Done: sent.Done,
	}
	if t.Created.IsZero() {
		t.Created = o.surface.opt.Now()
	}
	if sent.Replayed || sent.Done != nil {
		if t, err = o.ownTask(ctx, t.Turn); err != nil {
			return t, 0, err
		}
		if sent.Replayed && t.Done != nil {
			t.Done = invoke.FinalOutcome(t.Done)
		}
	}
	if s.push != nil {
		_, err = o.registerPush(ctx, &t, s.push)
	}
	return t, t.Offset, err
}

// continueTask gives a paused task what it waits for.
func (o *operation) continueTask(ctx context.Context, s *sending) (t task.Task, since int64, err error) {
	t = *s.task
	if s.push != nil {
		if _, err := o.registerPush(ctx, &t, s.push); err != nil {
			return t, 0, err
		}
	}
	m := beeos.Message{Type: beeos.Continue, Channel: t.Channel, InReplyTo: t.Turn, Publisher: o.caller.Principal(), Body: s.Text}
	payload := map[string]any{"input": s.Text, "metadata": map[string]string{invoke.MetaA2AMessage: s.ID}}
	for _, raw := range s.Data {
		payload["input"] = raw
	}
	switch t.Status {
	case beeos.TaskAuthRequired:
		m.Type = beeos.AuthGrant
		payload["auth_grant"] = consentGiven(s.Data)
	case beeos.TaskInputRequired:
	default:
		return t, 0, wire.Refuse(wire.UnsupportedOperation, "the task is %s and waits for nothing; subscribe to it, or send the message without taskId", t.Status)
	}
	if len(s.Parts) > 0 {
		if m.Parts, err = beeos.EncodeJSON(s.Parts); err != nil {
			return t, 0, err
		}
	}
	if len(s.Files) > 0 {
		if payload["attachments"], err = o.surface.opt.Calls.AttachTo(ctx, o.caller, &m, s.Files); err != nil {
			return t, 0, err
		}
	}
	if m.Payload, err = beeos.EncodeJSON(payload); err != nil {
		return t, 0, err
	}
	if m, err = o.surface.opt.Calls.Continue(ctx, m); err != nil {
		if beeos.CodeOf(err) == beeos.NotFound || beeos.CodeOf(err) == beeos.Conflict {
			err = wire.Refuse(wire.UnsupportedOperation, "the task has just moved on; get it to see how it stands")
		}
		return t, 0, err
	}
	t.Status = beeos.TaskRunning
	return t, m.Offset, nil
}

// consentGiven: whoever answers a request for consent consents, unless it says
// {"auth_grant": false}.
func consentGiven(data []json.RawMessage) bool {
	for _, raw := range data {
		if string(strictjson.Field(raw, "auth_grant")) == "false" {
			return false
		}
	}
	return true
}
