package agentgateway

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// call has another agent asked on behalf of the one that works on a turn, with
// the reach of its owner. The answer goes back to who asked; the work is a
// request like any other, under a key that stays the same when the turn is
// given to another instance.
func (c *connection) call(t *turn, f *beeos.Frame) {
	name, _ := httpd.StringValue(httpd.Field(f.Params, "agent"))
	message, _ := httpd.StringValue(httpd.Field(f.Params, "message"))
	id, key := f.RequestID, f.Key
	ctx, cancel := context.WithCancel(context.Background())
	if !t.whenDropped(cancel) {
		cancel()
	}
	c.g.workers.Go(func() {
		defer cancel()
		answer := beeos.Frame{Type: beeos.FrameAnswer, RequestID: id}
		m, err := c.g.callOn(ctx, t, name, message, key)
		switch {
		case err != nil:
			public := beeos.Public(err)
			if public.Code == beeos.InternalError && ctx.Err() == nil {
				c.g.Log.Error("an agent's call of another one failed", "turn", t.id, "err", err)
			}
			answer.Error = &beeos.FrameFault{Code: string(public.Code), Message: public.Message}
		default:
			answer.Result, _ = json.Marshal(map[string]any{"text": m.Body, "is_error": m.IsError()}) //nolint:errcheck // a string and a bool
		}
		c.enqueue(encode(&answer))
	})
}

// callOn makes the call and waits for its reply.
func (g *Gateway) callOn(ctx context.Context, t *turn, name, message, key string) (*beeos.Message, error) {
	if name == "" || strings.TrimSpace(message) == "" {
		return nil, beeos.Errorf(beeos.InvalidParam, "a call needs the id or name of an agent, and a message")
	}
	from, err := g.DB.Agent(ctx, t.agent)
	if err != nil {
		return nil, err
	}
	to, err := g.DB.Agent(ctx, name)
	if beeos.CodeOf(err) == beeos.AgentNotFound && err != nil {
		to, err = g.DB.AgentByName(ctx, from.OwnerID, name)
	}
	if err != nil {
		return nil, err
	}
	chain, err := g.chain(ctx, t)
	if err != nil {
		return nil, err
	}
	req := invoke.Request{
		Caller: beeos.Caller{Kind: beeos.ByUserKey, UserID: from.OwnerID, CredentialID: "agent:" + from.ID, Name: from.Name},
		Agent:  to, Surface: "agent", Body: message, Chain: chain, KeepOpen: true,
		IdempotencyKey: "call " + t.id + " " + key, Join: true, Deadline: t.deadline,
	}
	m, err := invoke.Last(g.Calls.Do(ctx, &req))
	if err != nil && ctx.Err() != nil && !t.isLost() { // whoever wanted it is done, or cancelled
		if err := g.Calls.Cancel(context.WithoutCancel(ctx), "", req.TurnID, "the agent that asked has stopped"); err != nil {
			g.Log.Warn("a call outlives who made it", "turn", req.TurnID, "err", err)
		}
	}
	return m, err
}

// chain is the agents that led to a turn, its own last.
func (g *Gateway) chain(ctx context.Context, t *turn) ([]string, error) {
	m, err := g.Ledger.Find(ctx, t.channel, t.id)
	if err != nil {
		return nil, err
	}
	var chain []string
	if before, _ := httpd.StringValue(httpd.Field(httpd.Field(m.Payload, "metadata"), invoke.MetaChain)); before != "" {
		chain = strings.Split(before, ",")
	}
	return append(chain, t.agent), nil
}
