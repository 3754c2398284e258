package mcpgw

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/httpd"
	"github.com/beeos/beeos/internal/invoke"
)

// run is one call under way.
type run struct {
	x        *exchange
	m        *message
	flight   *flight
	round    round
	progress progress
	asks     []beeos.Event // questions for the client's next round
	patience time.Duration // after which the client gets something else; 0 = it waits
	become   become        // what it gets
	fetches  bool          // the call is an earlier one, which is not this request's to stop
	detached bool          // the agent lets the client hang up
	needed   *needed       // what the agent ended its turn for
}

// togetherWithin is how long the rest of the questions may take that an agent
// asks at once.
const togetherWithin = 200 * time.Millisecond

// Why this request need not wait for the call any longer.
var (
	errEnough = errors.New("the questions so far will do")
	errTask   = errors.New("the call goes on as a task")
)

// become is the result that a client gets for a call that goes on.
type become = func(turn string) []byte

// doing is invoke's Do or Resume.
type doing = func(context.Context, invoke.Request) iter.Seq2[beeos.Event, error]

// call runs one call to its end. What happens on the way goes to the client as
// far as it listens. Without a reply there is an error or an early result,
// which tells the client how to go on.
func (x *exchange) call(ctx context.Context, m *message, req invoke.Request, patience time.Duration, become become) (reply *beeos.Message, early []byte, err error) {
	c := &run{x: x, m: m, progress: progress{token: x.meta.token}, patience: patience, become: become}
	if c.round, err = x.readRound(m); err != nil {
		return nil, nil, err
	}
	x.prepare(&req)
	req.Call.Input, req.Call.State = c.round.input, c.round.state
	if c.round.turn != "" {
		waiting := req
		waiting.TurnID, waiting.Channel = c.round.turn, c.round.channel
		reply, early, err = c.follow(ctx, waiting, x.g.opt.Calls.Resume)
		if beeos.CodeOf(err) != beeos.NotFound {
			return reply, early, err
		} // the turn is gone without a trace: make the call again, with the answers
	}
	if c.round.input != nil || c.round.state != "" {
		req.IdempotencyKey = nextKey(req.IdempotencyKey, c.round.state, c.round.input)
	}
	for range roundsMax {
		reply, early, err = c.follow(ctx, req, x.g.opt.Calls.Do)
		n := c.needed
		if n == nil {
			return reply, early, err
		}
		c.needed = nil
		input, early := c.put(ctx, n)
		if input == nil {
			return nil, early, nil
		}
		req.TurnID, req.Call.Input, req.Call.State = beeos.NewID(), input, n.state
		req.IdempotencyKey = nextKey(req.IdempotencyKey, n.state, input)
	}
	return nil, errorResult("The agent keeps asking."), nil
}

// follow forwards what happens until the call is over for this request.
func (c *run) follow(ctx context.Context, req invoke.Request, do doing) (reply *beeos.Message, early []byte, err error) {
	x := c.x
	ctx, c.flight = x.takeOff(ctx, c.m.id, &req)
	defer x.land(c.flight)
	if x.resumable() && c.m.method == "tools/call" && x.out.first == nil {
		tool, _ := httpd.StringValue(httpd.Field(c.m.params, "name"))
		l := lost{req.TurnID, c.flight.channel, x.agent.ID, tool, c.m.id}
		x.out.first = func() string { return x.sealEvent(l) }
	}
	x.out.wait()
	if c.patience > 0 {
		defer time.AfterFunc(c.patience, func() { c.flight.cancel(errTask) }).Stop()
	}
	for ev, err := range do(ctx, req) {
		switch {
		case errors.Is(context.Cause(ctx), errEnough) && len(c.asks) > 0:
			return nil, x.inputRequired(c.m, c.asks), nil
		case errors.Is(context.Cause(ctx), errTask):
			return c.goOn(ctx, req.TurnID)
		case err != nil && ctx.Err() != nil && c.fetches:
			return nil, nil, beeos.Errorf(beeos.AgentServiceUnavailable, "the wait has ended, the work goes on: ask again")
		case err != nil && ctx.Err() != nil:
			return nil, nil, x.stopped(ctx, c.flight, &req)
		case err != nil:
			return nil, nil, err
		case ev.Kind == beeos.EventMessage && ev.Message.Type.Terminal():
			return c.ended(ev.Message)
		}
		c.flight.channel = ev.Channel // only this goroutine looks at it
		switch early = c.event(ctx, &ev); {
		case early != nil:
			return nil, early, nil
		case c.detached:
			return nil, nil, errDetached
		}
	}
	return nil, nil, errors.New("the call ended without a reply")
}

// goOn is for a call that has taken long enough. It is in the ledger by now; it
// may even be over.
func (c *run) goOn(ctx context.Context, turn string) (*beeos.Message, []byte, error) {
	t, err := c.x.taskByID(context.WithoutCancel(ctx), turn)
	switch {
	case err != nil:
		return nil, nil, err
	case t.Done != nil:
		return c.ended(t.Done)
	}
	return nil, c.become(turn), nil
}

// ended looks at the terminal reply: it may be a question.
func (c *run) ended(m *beeos.Message) (*beeos.Message, []byte, error) {
	n := neededBy(m)
	switch {
	case n == nil:
		return m, nil, nil
	case c.x.version.stateless():
		early, err := c.x.again(c.m, n)
		return nil, early, err
	}
	c.needed = n
	return nil, nil, nil
}

// prepare fills in what all calls of an exchange have in common.
func (x *exchange) prepare(req *invoke.Request) {
	req.Caller, req.Agent, req.Surface, req.Kind = x.caller, x.agent, "mcp", beeos.KindMCP
	req.TurnID = beeos.NewID()
	req.Call.Protocol, req.Call.Revision = "mcp", x.version.String()
	watches := x.out.streams && x.meta.token != nil
	if watches {
		req.Call.Can = append(req.Call.Can, "progress")
	}
	if x.version.stateless() || x.session != nil && x.out.streams {
		req.Call.Can = append(req.Call.Can, x.can.names()...)
	}
	req.Live = watches || x.wantsLogs() || x.version.stateless() && x.can != 0
}

// event tells the client about an event in the middle of a call, or returns the
// result that ends it early.
func (c *run) event(ctx context.Context, ev *beeos.Event) (early []byte) {
	var msg []byte
	switch ev.Kind {
	case beeos.EventDelta, beeos.EventProgress:
		msg = c.progress.notification(ev)
	case beeos.EventLog:
		if c.x.wantsLogs() {
			msg = logNotification(ev, c.x.logsFrom(ctx))
		}
	case beeos.EventBackground:
		if c.x.version.stateless() && c.x.can.has(canTasks) && c.patience > 0 && !c.fetches {
			return c.become(ev.Turn)
		}
		c.detached = c.x.resumable() && c.m.method == "tools/call"
	case beeos.EventAsk:
		switch can := c.canPut(ev); {
		case !can && strings.HasPrefix(ev.AskID, beeos.PauseAsk):
			return c.giveUp(ctx, ev)
		case !can && strings.HasPrefix(ev.AskID, beeos.ApprovalAsk):
			return nil // somebody decides elsewhere
		}
		if c.x.version.stateless() {
			return c.ask(ctx, ev)
		}
		msg = c.x.ask(ctx, ev)
	}
	if msg != nil && c.x.out.streams {
		c.x.out.event(msg) //nolint:errcheck // a client that is gone shows in ctx
	}
	return nil
}

// canPut reports whether the client can be asked this in the middle of this
// call.
func (c *run) canPut(ev *beeos.Event) bool {
	if _, brought := c.round.input[ev.Key]; brought {
		return true
	}
	inTime := c.x.version.stateless() && inRounds[c.m.method] || c.x.session != nil && c.x.out.streams
	return inTime && c.x.can.has(needs(ev))
}

// giveUp ends a call whose agent has paused for something that this client
// cannot be asked: waiting would lead nowhere.
func (c *run) giveUp(ctx context.Context, ev *beeos.Event) []byte {
	c.x.stopAgent(ctx, c.flight, "the caller's program cannot be asked")
	question, _ := httpd.StringValue(httpd.Field(ev.Data, "message"))
	return errorResult("The agent needs an answer before it can go on, and this client cannot be asked (it does not declare elicitation): " + question)
}

// ask answers a question with what the client has brought along, or collects
// it for the next round.
func (c *run) ask(ctx context.Context, ev *beeos.Event) (early []byte) {
	for i := range c.asks {
		if c.asks[i].AskID == ev.AskID {
			return nil
		}
	}
	if answer, ok := c.round.input[ev.Key]; ok {
		delete(c.round.input, ev.Key) // asked again, it is another question
		c.x.reply(ctx, ev.AskID, answer, nil)
		return nil
	}
	if !c.x.can.has(needs(ev)) || !inRounds[c.m.method] {
		c.x.cannotAsk(ctx, ev)
		return nil
	}
	c.asks = append(c.asks, *ev)
	if len(c.asks) >= int(ev.Total) {
		return c.x.inputRequired(c.m, c.asks)
	}
	if len(c.asks) == 1 {
		cancel := c.flight.cancel
		time.AfterFunc(togetherWithin, func() { cancel(errEnough) })
	}
	return nil
}
