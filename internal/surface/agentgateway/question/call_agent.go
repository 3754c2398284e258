package question

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/surface/agentgateway/codec"
	"github.com/beeos/beeos/internal/surface/agentgateway/turn"
	"github.com/beeos/beeos/internal/telemetry/trace"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// callAgent asks another agent on behalf of the one that works on a turn, with
// the rights of its owner. The answer goes back to the agent that asked; the
// work is a request like any other, under a key that stays the same when the
// turn is given to another instance.
func (q *Questions) callAgent(t *turn.Turn, f *beeos.Frame, send Send) error {
	name, _ := strictjson.StringValue(strictjson.Field(f.Params, "agent"))
	message, _ := strictjson.StringValue(strictjson.Field(f.Params, "message"))
	id, key := f.RequestID, f.Key
	ctx, err := q.beginCall(t)
	if err != nil || ctx == nil {
		return err
	}
	ctx = beeos.WithTrace(ctx, placeOf(t, f.TraceParent))
	q.start(func() {
		defer q.endCall(t)
		answer := beeos.Frame{Type: beeos.FrameAnswer, RequestID: id}
		m, err := q.awaitAgent(ctx, t, name, message, key)
		switch {
		case err != nil:
			answer.Error = codec.Fault(err)
			if answer.Error.Code == string(beeos.InternalError) && ctx.Err() == nil {
				q.Log.Error("an agent's call of another one failed", "turn", t.ID, "err", err)
			}
		default:
			answer.Result, _ = json.Marshal(map[string]any{"text": m.Body, "is_error": m.IsError()}) //nolint:errcheck // a string and a bool
		}
		send(codec.Encode(&answer))
	})
	return nil
}

// placeOf is where in its trace an agent calls another one: in its attempt, or in
// a step of that, as it says.
func placeOf(t *turn.Turn, said string) beeos.Trace {
	o := trace.ParseOrigin(t.Trace)
	at := o.AtAttempt(t.ID, t.Lease().Attempt)
	if step := beeos.ParseTrace(said, ""); o.Spans && step.ID() == at.ID() {
		return at.At(step.Span())
	}
	return at
}

// beginCall counts a call of another agent, and returns the context that ends
// with the turn; nil when it has ended already.
func (q *Questions) beginCall(t *turn.Turn) (context.Context, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	a := q.askerOf(t)
	switch {
	case a == nil:
		return nil, nil
	case a.calls >= maxOpen:
		return nil, beeos.Errorf(beeos.RateLimited, "%d agents are being called for this message; call more when there is an answer", maxOpen)
	}
	a.calls++
	return a.life, nil
}

func (q *Questions) endCall(t *turn.Turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if a := q.turns[t]; a != nil {
		a.calls--
	}
}

// awaitAgent makes the call and waits for its reply.
func (q *Questions) awaitAgent(ctx context.Context, t *turn.Turn, name, message, key string) (*beeos.Message, error) {
	if name == "" || strings.TrimSpace(message) == "" {
		return nil, beeos.Errorf(beeos.InvalidParam, "a call needs the id or name of an agent, and a message")
	}
	from, err := q.Agents.Get(ctx, t.Agent)
	if err != nil {
		return nil, err
	}
	to, err := q.Agents.Get(ctx, name)
	if beeos.CodeOf(err) == beeos.AgentNotFound && err != nil {
		to, err = q.Agents.GetByName(ctx, from.OwnerID, name)
	}
	if err != nil {
		return nil, err
	}
	chain, err := q.callChain(ctx, t)
	if err != nil {
		return nil, err
	}
	req := invoke.Request{
		Caller: beeos.Caller{Kind: beeos.ByUserKey, UserID: from.OwnerID, CredentialID: "agent:" + from.ID, Name: from.Name},
		Agent:  to, Surface: "agent", Body: message, Chain: chain, KeepOpen: true,
		IdempotencyKey: "call " + t.ID + " " + key, Join: true, Deadline: t.Deadline,
	}
	m, err := invoke.Last(q.Calls.Do(ctx, &req))
	if err != nil && ctx.Err() != nil && !t.IsLost() { // whoever wanted it has finished, or was cancelled
		if err := q.Calls.Cancel(context.WithoutCancel(ctx), "", req.TurnID, "the agent that asked has stopped"); err != nil {
			q.Log.Warn("a call outlives who made it", "turn", req.TurnID, "err", err)
		}
	}
	return m, err
}

// callChain returns the agents that led to a turn, its own last.
func (q *Questions) callChain(ctx context.Context, t *turn.Turn) ([]string, error) {
	m, err := q.Ledger.FindMessage(ctx, t.Channel, t.ID)
	if err != nil {
		return nil, err
	}
	var chain []string
	if before, _ := strictjson.StringValue(strictjson.Field(strictjson.Field(m.Payload, "metadata"), invoke.MetaChain)); before != "" {
		chain = strings.Split(before, ",")
	}
	return append(chain, t.Agent), nil
}
