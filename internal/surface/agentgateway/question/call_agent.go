package question

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/surface/agentgateway/codec"
	"github.com/beeos/beeos/internal/surface/agentgateway/turn"
	"github.com/beeos/beeos/internal/telemetry/trace"
	"github.com/beeos/beeos/internal/wire/schema"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// callAgent asks another agent on behalf of the one that works on a turn, with
// the rights of its owner. The answer goes back to the agent that asked; the
// work is a request like any other, under a key that stays the same when the
// turn is given to another instance.
func (q *Questions) callAgent(t *turn.Turn, f *beeos.Frame, send Send) error {
	c, id := readAgentCall(f), f.RequestID
	ctx, err := q.beginCall(t)
	if err != nil || ctx == nil {
		return err
	}
	ctx = beeos.WithTrace(ctx, placeOf(t, f.TraceParent))
	q.start(func() {
		defer q.endCall(t)
		answer := beeos.Frame{Type: beeos.FrameAnswer, RequestID: id}
		m, err := q.awaitAgent(ctx, t, c)
		switch {
		case err != nil:
			answer.Error = codec.Fault(err)
			if answer.Error.Code == string(beeos.InternalError) && ctx.Err() == nil {
				q.Log.Error("an agent's call of another one failed", "turn", t.ID, "err", err)
			}
		default:
			answer.Result, _ = json.Marshal(map[string]any{"text": answerText(m), "is_error": m.IsError()}) //nolint:errcheck // a string and a bool
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

// agentCall is what an agent wants of another one.
type agentCall struct {
	agent     string // its id, or the name that it has with the same owner
	message   string
	tool      string          // instead of a message
	arguments json.RawMessage // of the tool
	key       string          // the same when the call is repeated
}

func readAgentCall(f *beeos.Frame) (c agentCall) {
	c.agent, _ = strictjson.StringValue(strictjson.Field(f.Params, "agent"))
	c.message, _ = strictjson.StringValue(strictjson.Field(f.Params, "message"))
	c.tool, _ = strictjson.StringValue(strictjson.Field(f.Params, "tool"))
	c.arguments, c.key = bytes.Clone(strictjson.Field(f.Params, "arguments")), f.Key
	return c
}

// fill puts into the request what is wanted, if the agent has that.
func (c *agentCall) fill(req *invoke.Request) error {
	if c.tool == "" {
		req.Body = c.message
		return nil
	}
	skills := req.Agent.Definition.Skills
	i := slices.IndexFunc(skills, func(s beeos.Skill) bool { return s.Name == c.tool && s.Exposed() })
	if i < 0 {
		return beeos.Errorf(beeos.NotFound, "agent %s has no tool %q", req.Agent.Name, c.tool)
	}
	if len(c.arguments) == 0 {
		c.arguments = json.RawMessage("{}")
	}
	if c.arguments[0] != '{' {
		return beeos.Errorf(beeos.InvalidParam, "arguments of a tool are an object")
	}
	req.Call = beeos.Call{Method: "tools/call", Tool: c.tool, Arguments: c.arguments}
	req.Check = func() error {
		if len(skills[i].InputSchema) == 0 {
			return nil
		}
		if err := schema.CheckArguments(skills[i].InputSchema, c.arguments); err != nil {
			return beeos.Errorf(beeos.InvalidParam, "these arguments do not fit the tool %s: %s", c.tool, err)
		}
		return nil
	}
	return nil
}

// answerText is an answer in words: of one that has none, its structured value.
func answerText(m *beeos.Message) string {
	if m.Body != "" {
		return m.Body
	}
	for part := range strictjson.Elements(m.Parts) {
		if kind, _ := strictjson.StringField(part, "type"); kind == "structured" {
			return string(strictjson.Field(part, "data"))
		}
	}
	return ""
}

// awaitAgent makes the call and waits for its reply.
func (q *Questions) awaitAgent(ctx context.Context, t *turn.Turn, c agentCall) (*beeos.Message, error) {
	if c.agent == "" || (strings.TrimSpace(c.message) == "") == (c.tool == "") {
		return nil, beeos.Errorf(beeos.InvalidParam, "a call needs the id or name of an agent, and a message or a tool")
	}
	from, err := q.Agents.Get(ctx, t.Agent)
	if err != nil {
		return nil, err
	}
	to, err := q.Agents.Get(ctx, c.agent)
	if beeos.CodeOf(err) == beeos.AgentNotFound && err != nil {
		to, err = q.Agents.GetByName(ctx, from.OwnerID, c.agent)
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
		Agent:  to, Surface: "agent", Chain: chain, KeepOpen: true,
		IdempotencyKey: "call " + t.ID + " " + c.key, Join: true, Deadline: t.Deadline,
	}
	if err := c.fill(&req); err != nil {
		return nil, err
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
