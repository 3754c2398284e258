package mcp

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// run is one call under way.
type run struct {
	x        *exchange
	m        *message
	req      invoke.Request
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
type doing = func(context.Context, *invoke.Request) iter.Seq2[beeos.Event, error]

// prepare fills in what all calls of an exchange have in common, and what the
// client has brought from an earlier round.
func (c *run) prepare() (err error) {
	x, req := c.x, &c.req
	if c.round, err = x.readRound(c.m); err != nil {
		return err
	}
	c.progress.token = x.meta.token
	req.Caller, req.Agent, req.Surface, req.Kind = x.caller, x.agent, "mcp", beeos.KindMCP
	req.TurnID = beeos.NewID()
	req.Call.Revision = x.version.String()
	req.Call.Input, req.Call.State = c.round.input, c.round.state
	watches := x.out.streams && x.meta.token != nil
	if watches {
		req.Call.Can = append(req.Call.Can, "progress")
	}
	if x.version.stateless() || x.session != nil && x.out.streams {
		req.Call.Can = append(req.Call.Can, x.can.names()...)
	}
	req.Live = watches || x.wantsLogs() || x.version.stateless() && x.can != 0
	return nil
}

// call runs a call that is prepared to its end. What happens on the way goes to
// the client as far as it listens. Without a reply there is an error or an early
// result, which tells the client how to go on.
func (c *run) call(ctx context.Context) (reply *beeos.Message, early []byte, err error) {
	if c.fetches {
		return c.join(ctx)
	}
	if c.round.turn != "" {
		reply, early, err = c.rejoin(ctx)
		if beeos.CodeOf(err) != beeos.NotFound {
			return reply, early, err
		} // the turn is gone without a trace: make the call again, with the answers
	}
	if c.round.input != nil || c.round.state != "" {
		c.req.IdempotencyKey = nextKey(c.req.IdempotencyKey, c.round.state, c.round.input)
	}
	for range roundsMax {
		reply, early, err = c.follow(ctx, c.x.g.opt.Calls.Do)
		if c.needed == nil {
			return reply, early, err
		}
		if early = c.nextRound(ctx); early != nil {
			return nil, early, nil
		}
	}
	return nil, errorResult("The agent keeps asking."), nil
}

// rejoin waits for the turn that an earlier round has left waiting.
func (c *run) rejoin(ctx context.Context) (*beeos.Message, []byte, error) {
	turn, channel := c.req.TurnID, c.req.Channel
	c.req.TurnID, c.req.Channel = c.round.turn, c.round.channel
	defer func() { c.req.TurnID, c.req.Channel = turn, channel }()
	return c.follow(ctx, c.x.g.opt.Calls.Resume)
}

// nextRound makes the request that follows what the agent needed, or returns
// the result that says why there is none.
func (c *run) nextRound(ctx context.Context) (early []byte) {
	n := c.needed
	c.needed = nil
	input, early := c.put(ctx, n)
	if input == nil {
		return early
	}
	c.req.TurnID, c.req.Call.Input, c.req.Call.State = beeos.NewID(), input, n.state
	c.req.IdempotencyKey = nextKey(c.req.IdempotencyKey, n.state, input)
	return nil
}

// join is call for one that an earlier request has made.
func (c *run) join(ctx context.Context) (reply *beeos.Message, early []byte, err error) {
	reply, early, err = c.follow(ctx, c.x.g.opt.Calls.Resume)
	if c.needed != nil {
		return nil, errorResult(endedAsking), nil
	}
	return reply, early, err
}

// follow forwards what happens until the call is over for this request.
func (c *run) follow(ctx context.Context, do doing) (reply *beeos.Message, early []byte, err error) {
	ctx = c.takeOff(ctx)
	defer c.land()
	for ev, err := range do(ctx, &c.req) {
		switch {
		case errors.Is(context.Cause(ctx), errEnough) && len(c.asks) > 0:
			return nil, c.x.inputRequired(c.m, c.asks), nil
		case errors.Is(context.Cause(ctx), errTask):
			return c.goOn(ctx, err)
		case err != nil && ctx.Err() != nil && c.fetches:
			return nil, nil, beeos.Errorf(beeos.AgentServiceUnavailable, "the wait has ended, the work goes on: ask again")
		case err != nil && ctx.Err() != nil:
			return nil, nil, c.stopped(ctx)
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

// goOn is for a call that has taken long enough. It is in the ledger by now,
// unless something slow was in the way; it may even be over.
func (c *run) goOn(ctx context.Context, why error) (*beeos.Message, []byte, error) {
	t, err := c.x.taskByID(context.WithoutCancel(ctx), c.req.TurnID)
	switch {
	case err != nil && beeos.CodeOf(err) != beeos.InvalidParam:
		return nil, nil, err
	case err != nil && why != nil && !errors.Is(why, context.Canceled):
		return nil, nil, why // it was refused
	case err != nil:
		return nil, nil, beeos.Wrap(beeos.AgentServiceUnavailable, err, "the call could not be stored in time: try again")
	case t.Done != nil:
		return c.ended(t.Done)
	}
	return nil, c.become(c.req.TurnID), nil
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
