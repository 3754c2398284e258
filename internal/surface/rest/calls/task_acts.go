package calls

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/task"
	"github.com/beeos/beeos/internal/surface/rest/route"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// listTaskMessages pages through what belongs to one task.
func (h *Handlers) listTaskMessages(r *route.Request, t *task.Task) (any, error) {
	ch, err := h.opt.Ledger.Channel(r.Context(), t.Channel)
	if err != nil {
		return nil, err
	}
	return pageMessages(r, 500, &ch, func(since int64, limit int) ([]beeos.Message, error) {
		return h.opt.Ledger.RequestMessages(r.Context(), t.Channel, t.Turn, since, limit)
	})
}

// streamTaskEvents follows one task from `since` to its terminal reply.
func (h *Handlers) streamTaskEvents(r *route.Request, t *task.Task) (any, error) {
	since, err := readSince(r)
	if err != nil {
		return nil, err
	}
	return h.follow(r, &stream{
		agent: t.AgentID, channel: t.Channel, since: since,
		events: func(ctx context.Context) iter.Seq2[beeos.Event, error] {
			return h.opt.Calls.WatchTurn(ctx, t.Channel, t.Turn, since>>offsetShift)
		},
		endReason: func() string {
			if now, err := h.opt.Calls.Task(r.Context(), t.Caller, t.Turn); err == nil && now.Done != nil {
				return "task_terminal"
			}
			return "stream_closed"
		},
	}), nil
}

// cancelTask asks the agent to stop, and answers with what came of it: the
// agent has a few seconds to acknowledge, then the task ends without it. What
// has ended already stays as it is.
func (h *Handlers) cancelTask(r *route.Request, t *task.Task) (any, error) {
	var reason string
	if err := r.ReadOptional(route.SettingLimit, route.Lenient, route.Shape{"reason": &reason}); err != nil {
		return nil, err
	}
	if err := checkReason(reason); err != nil {
		return nil, err
	}
	if t.Done != nil {
		return describeTask(t), nil
	}
	if err := h.opt.Calls.Stop(r.Context(), t.Channel, t.Turn, reason); err != nil {
		return nil, err
	}
	return h.getTask(r)
}

// continueTask answers an agent that paused: with input, or with a grant.
func (h *Handlers) continueTask(r *route.Request, t *task.Task) (any, error) {
	var given struct {
		Input json.RawMessage `json:"input,omitempty"`
		Grant *bool           `json:"auth_grant,omitempty"`
	}
	if err := r.ReadBody(route.Strict, route.Shape{"input": &given.Input, "auth_grant": &given.Grant}); err != nil {
		return nil, err
	}
	if len(given.Input) == 0 && given.Grant == nil {
		return nil, beeos.Errorf(beeos.MissingParam, "give input for a task that is input_required, or auth_grant for one that is auth_required")
	}
	if t.Done != nil {
		return nil, beeos.Errorf(beeos.Conflict, "the task is %s; start a new one", t.Status)
	}
	m := beeos.Message{Type: beeos.Continue, Channel: t.Channel, InReplyTo: t.Turn, Publisher: r.Caller.Principal(), Body: formatInput(given.Input)}
	if given.Grant != nil {
		m.Type = beeos.AuthGrant
	}
	var err error
	if m.Payload, err = json.Marshal(given); err != nil {
		return nil, err
	}
	if _, err = h.opt.Calls.Continue(r.Context(), m); err != nil {
		if beeos.CodeOf(err) == beeos.NotFound {
			err = beeos.Errorf(beeos.Conflict, "the task has just ended; get it to see how")
		}
		return nil, err
	}
	return h.getTask(r)
}

// formatInput returns the input for an agent that reads plain text: a string as
// it is, anything else as JSON.
func formatInput(input json.RawMessage) string {
	if text, ok := strictjson.StringValue(input); ok {
		return text
	}
	if bytes.Equal(input, []byte("null")) {
		return ""
	}
	return string(input)
}
