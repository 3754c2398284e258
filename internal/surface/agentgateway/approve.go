package agentgateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/approval"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/wire/httpd"
)

const (
	remindEvery = 10 * time.Second // that the call waits for a person
	retryEvery  = time.Second      // when the question cannot be written down

	approvalKey = "approval-" // begins what the caller knows the question by
)

// approve puts a tool call before a person and tells the agent what was
// decided. It may take long: the agent keeps its turn, the caller hears that
// somebody is being asked. An agent that sends the same request again, on
// another connection or after a restart, waits for the same decision.
func (c *connection) approve(t *turn, f *beeos.Frame) error {
	ask := approval.Ask{
		Turn: t.id, Channel: t.channel, Deadline: t.deadline, Request: f.RequestID, Skill: f.Skill, Tool: f.Tool,
		Arguments: bytes.Clone(f.Arguments), Auto: f.Auto,
	}
	if len(ask.Arguments) == 0 {
		ask.Arguments = json.RawMessage(`{}`)
	}
	if err := ask.Check(); err != nil {
		return err
	}
	if c.g.Desk == nil {
		return beeos.Errorf(beeos.AgentServiceUnavailable, "nobody can be asked here")
	}
	ctx, fresh, err := t.enter(ask)
	if err != nil || !fresh {
		return err // nil: it waits already
	}
	c.g.workers.Go(func() {
		out := beeos.Frame{Type: beeos.FrameDecision, MessageID: t.id, RequestID: ask.Request}
		made, err := c.gate(ctx, t, ask)
		gone := ctx.Err() != nil // the turn is not here any more
		t.exit(ask.Request)      // before the agent hears of it: it may ask again at once
		switch {
		case gone:
			return
		case err != nil:
			public := beeos.Public(err)
			out.Error = &beeos.FrameFault{Code: string(public.Code), Message: public.Message}
		default:
			out.Result, _ = json.Marshal(made) // strings
		}
		c.enqueue(encode(&out))
	})
	return nil
}

// gate waits for the decision, through faults that may pass.
func (c *connection) gate(ctx context.Context, t *turn, ask approval.Ask) (beeos.Approved, error) {
	for {
		made, err := c.waitAtGate(ctx, t, ask)
		var ours *beeos.Error
		if err == nil || ctx.Err() != nil || errors.As(err, &ours) && ours.Code != beeos.InternalError {
			return made, err
		}
		c.g.Log.Error("an approval could not be asked for; trying again", "turn", t.id, "tool", ask.Tool, "err", err)
		select {
		case <-time.After(retryEvery):
		case <-ctx.Done():
		}
	}
}

func (c *connection) waitAtGate(ctx context.Context, t *turn, ask approval.Ask) (made beeos.Approved, err error) {
	if ask.Agent, err = c.g.DB.Agent(ctx, t.agent); err != nil {
		return made, err
	}
	ch, err := c.g.Ledger.Channel(ctx, t.channel)
	if err != nil {
		return made, err
	}
	ask.Caller = ch.Owner
	var asked *question
	made, err = c.g.Desk.Gate(ctx, ask, func(a store.Approval, fresh bool) {
		c.unask(asked)
		asked = c.question(ctx, t, ask.Agent, a, fresh)
	})
	c.unask(asked)
	if asked != nil && err == nil {
		c.settled(asked, made)
	}
	return made, err
}

// question is an approval that is being waited for.
type question struct {
	turn  *turn
	row   store.Approval
	ask   string             // the caller's way to answer; empty = it has none
	pause bool               // the conversation shows it
	stop  context.CancelFunc // of the reminders
}

// question tells the caller that a person is being asked, again and again, and
// lets it decide if the agent is its own.
func (c *connection) question(ctx context.Context, t *turn, agent *beeos.Agent, a store.Approval, fresh bool) *question {
	q := &question{turn: t, row: a}
	ctx, q.stop = context.WithCancel(ctx)
	if a.Caller == "user:"+agent.OwnerID {
		q.ask = c.offer(ctx, q, fresh)
	}
	text := "waiting for approval of " + approval.Name(&a)
	t.tell(c.g, beeos.Event{Kind: beeos.EventProgress, Text: text})
	c.g.workers.Go(func() {
		tick := time.NewTicker(remindEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				t.tell(c.g, beeos.Event{Kind: beeos.EventProgress, Text: text})
			case <-ctx.Done():
				return
			}
		}
	})
	return q
}

// unask ends what question began.
func (c *connection) unask(q *question) {
	if q == nil {
		return
	}
	q.stop()
	if q.ask != "" {
		c.g.desk.takeAsk(q.ask)
		c.g.Bus.Control(bus.Control{Kind: bus.TurnChanged, ID: q.turn.id})
	}
}

// offer lets the caller decide, who owns the agent: as a question in mid-call,
// and as a pause of the conversation unless the caller's protocol has none.
func (c *connection) offer(ctx context.Context, q *question, fresh bool) (askID string) {
	form, ok := decisionForm(&q.row)
	if !ok {
		return "" // too long to be shown whole there
	}
	if m, err := c.g.Ledger.Find(ctx, q.row.Channel, q.row.Turn); err == nil {
		protocol, _ := httpd.StringValue(httpd.Field(m.Payload, "protocol"))
		q.pause = protocol != "mcp"
	}
	if q.pause && fresh {
		m := beeos.Message{
			Channel: q.row.Channel, InReplyTo: q.row.Turn, Publisher: "agent:" + q.row.AgentID, Type: beeos.AgentInputRequired,
			State: beeos.StateCompleted, Body: decisionText(&q.row) + "\n\n" + howToSay, Payload: decisionPayload(&q.row),
		}
		// The question stays open when the agent goes: it is shown all the same.
		if _, err := c.g.Ledger.Append(context.WithoutCancel(ctx), m); err != nil {
			c.g.Log.Error("an approval is not shown in its conversation", "approval", q.row.ID, "err", err)
		}
	}
	a := ask{conn: c, approval: q.row.ID, decider: strings.TrimPrefix(q.row.Caller, "user:")}
	id := beeos.ApprovalAsk + q.row.ID
	if c.put(q.turn, a, beeos.Event{AskID: id, Key: approvalKey + q.row.ID, Method: "elicitation/create", Data: form}) != nil {
		return "" // others can decide
	}
	return id
}

// settled tells the conversation that it goes on, unless it was told there.
func (c *connection) settled(q *question, made beeos.Approved) {
	row, err := c.g.DB.Approval(context.Background(), q.row.ID)
	if err != nil || !q.pause || row.Via == viaConversation || row.Open() {
		return
	}
	text := string(row.State)
	if row.Reason != "" {
		text += ": " + row.Reason
	}
	payload, _ := json.Marshal(map[string]beeos.Approved{"decision": made}) // strings
	m := beeos.Message{
		Channel: row.Channel, InReplyTo: row.Turn, Publisher: row.DecidedBy, Type: beeos.Continue,
		State: beeos.StateCompleted, Body: text, Payload: payload,
	}
	if _, err := c.g.Ledger.Append(context.Background(), m); err != nil {
		c.g.Log.Error("a decision is not shown in its conversation", "approval", row.ID, "err", err)
	}
}

// gate is where the agent waits for a decision.
type gate struct {
	ask   approval.Ask
	leave context.CancelFunc
}

// enter notes that the agent waits at a gate; fresh is false when it does
// already. The context ends when the turn leaves this connection. While a
// request waits its id is not good for another question: the agent would take
// the one decision for the other.
func (t *turn) enter(ask approval.Ask) (ctx context.Context, fresh bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if g, waits := t.gates[ask.Request]; waits && !g.ask.Same(&ask) {
		return nil, false, beeos.Errorf(beeos.Conflict, "request_id %q waits for a decision about another call; give each call an id of its own", ask.Request)
	} else if waits || t.dropped {
		return nil, false, nil
	}
	if len(t.gates) >= mostOpen {
		return nil, false, errOpen
	}
	if t.gates == nil {
		t.gates = map[string]gate{}
	}
	ctx, leave := context.WithCancel(context.Background())
	t.gates[ask.Request] = gate{ask, leave}
	return ctx, true, nil
}

func (t *turn) exit(request string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if g, waits := t.gates[request]; waits {
		g.leave()
		delete(t.gates, request)
	}
}

// leave takes the turn away from all its gates; t.mu is held.
func (t *turn) leave() {
	t.dropped = true
	for _, g := range t.gates {
		g.leave()
	}
}
