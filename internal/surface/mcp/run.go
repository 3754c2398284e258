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

// activeCall is one call under way.
type activeCall struct {
	x                *exchange
	m                *message
	req              invoke.Request
	waiting          *pendingRequest
	round            inputRound
	progress         progress
	questions        []beeos.Event // questions for the client's next round
	handOverAfter    time.Duration // after which the client gets something else; 0 = it waits
	handOverResult   resultForTurn // what it gets
	joinsEarlierCall bool          // the call is an earlier one, which is not this request's to stop
	agentContinues   bool          // the agent lets the client hang up
	pendingInput     *neededInput  // what the agent ended its turn for
}

// collectQuestionsFor is how long the rest of the questions may take that an agent
// asks at once.
const collectQuestionsFor = 200 * time.Millisecond

// Why this request need not wait for the call any longer.
var (
	errQuestionsCollected = errors.New("the questions so far will do")
	errHandOver           = errors.New("the call goes on as a task")
)

// resultForTurn is the result that a client gets for a call that goes on.
type resultForTurn = func(turn string) []byte

// startCall is invoke's Do or Resume.
type startCall = func(context.Context, *invoke.Request) iter.Seq2[beeos.Event, error]

// prepareRequest fills in what all calls of an exchange have in common, and what the
// client has brought from an earlier round.
func (c *activeCall) prepareRequest() (err error) {
	x, req := c.x, &c.req
	if c.round, err = x.readRound(c.m); err != nil {
		return err
	}
	c.progress.token = x.meta.token
	req.Caller, req.Agent, req.Surface, req.Kind = x.caller, x.agent, "mcp", beeos.KindMCP
	req.TurnID = beeos.NewID()
	req.Call.Protocol, req.Call.Revision = "mcp", x.version.String()
	req.Call.Input, req.Call.State = c.round.input, c.round.state
	watches := x.out.acceptsStream && x.meta.token != nil
	if watches {
		req.Call.Can = append(req.Call.Can, "progress")
	}
	if x.version.stateless() || x.session != nil && x.out.acceptsStream {
		req.Call.Can = append(req.Call.Can, x.can.agentNames()...)
	}
	req.Live = watches || x.wantsLogs() || x.version.stateless() && x.can != 0
	return nil
}

// runToEnd runs a call that is prepared to its end. What happens on the way goes to
// the client as far as it listens. Without a reply there is an error or an early
// result, which tells the client how to go on.
func (c *activeCall) runToEnd(ctx context.Context) (reply *beeos.Message, early []byte, err error) {
	if c.joinsEarlierCall {
		return c.joinEarlierCall(ctx)
	}
	if c.round.turn != "" {
		reply, early, err = c.rejoinWaitingTurn(ctx)
		if beeos.CodeOf(err) != beeos.NotFound {
			return reply, early, err
		} // the turn is gone without a trace: make the call again, with the answers
	}
	if c.round.input != nil || c.round.state != "" {
		c.req.IdempotencyKey = nextKey(c.req.IdempotencyKey, c.round.state, c.round.input)
	}
	for range roundsMax {
		reply, early, err = c.followEvents(ctx, c.x.g.opt.Calls.Do)
		if c.pendingInput == nil {
			return reply, early, err
		}
		if early = c.startNextRound(ctx); early != nil {
			return nil, early, nil
		}
	}
	return nil, errorResult("The agent keeps asking."), nil
}

// rejoinWaitingTurn waits for the turn that an earlier round has left waiting.
func (c *activeCall) rejoinWaitingTurn(ctx context.Context) (*beeos.Message, []byte, error) {
	turn, channel := c.req.TurnID, c.req.Channel
	c.req.TurnID, c.req.Channel = c.round.turn, c.round.channel
	defer func() { c.req.TurnID, c.req.Channel = turn, channel }()
	return c.followEvents(ctx, c.x.g.opt.Calls.Resume)
}

// startNextRound makes the request that follows what the agent needed, or returns
// the result that says why there is none.
func (c *activeCall) startNextRound(ctx context.Context) (early []byte) {
	n := c.pendingInput
	c.pendingInput = nil
	input, early := c.askClient(ctx, n)
	if input == nil {
		return early
	}
	c.req.TurnID, c.req.Call.Input, c.req.Call.State = beeos.NewID(), input, n.state
	c.req.IdempotencyKey = nextKey(c.req.IdempotencyKey, n.state, input)
	return nil
}

// joinEarlierCall is call for one that an earlier request has made.
func (c *activeCall) joinEarlierCall(ctx context.Context) (reply *beeos.Message, early []byte, err error) {
	reply, early, err = c.followEvents(ctx, c.x.g.opt.Calls.Resume)
	if c.pendingInput != nil {
		return nil, errorResult(endedAsking), nil
	}
	return reply, early, err
}

// followEvents forwards what happens until the call is over for this request.
func (c *activeCall) followEvents(ctx context.Context, do startCall) (reply *beeos.Message, early []byte, err error) {
	ctx = c.startWaiting(ctx)
	defer c.stopWaiting()
	for ev, err := range do(ctx, &c.req) {
		switch {
		case errors.Is(context.Cause(ctx), errQuestionsCollected) && len(c.questions) > 0:
			return nil, c.x.inputRequired(c.m, c.questions), nil
		case errors.Is(context.Cause(ctx), errHandOver):
			return c.handOver(ctx, err)
		case err != nil && ctx.Err() != nil && c.joinsEarlierCall:
			return nil, nil, beeos.Errorf(beeos.AgentServiceUnavailable, "the wait has ended, the work goes on: ask again")
		case err != nil && ctx.Err() != nil:
			return nil, nil, c.stopCall(ctx)
		case err != nil:
			return nil, nil, err
		case ev.Kind == beeos.EventMessage && ev.Message.Type.Terminal():
			return c.readReply(ev.Message)
		}
		c.waiting.channel = ev.Channel // only this goroutine looks at it
		switch early = c.forwardEvent(ctx, &ev); {
		case early != nil:
			return nil, early, nil
		case c.agentContinues:
			return nil, nil, errClientReturns
		}
	}
	return nil, nil, errors.New("the call ended without a reply")
}

// handOver is for a call that has taken long enough. It is in the ledger by now,
// unless something slow was in the way; it may even be over.
func (c *activeCall) handOver(ctx context.Context, why error) (*beeos.Message, []byte, error) {
	t, err := c.x.taskByID(context.WithoutCancel(ctx), c.req.TurnID)
	switch {
	case err != nil && beeos.CodeOf(err) != beeos.InvalidParam:
		return nil, nil, err
	case err != nil && why != nil && !errors.Is(why, context.Canceled):
		return nil, nil, why // it was refused
	case err != nil:
		return nil, nil, beeos.Wrap(beeos.AgentServiceUnavailable, err, "the call could not be stored in time: try again")
	case t.Done != nil:
		return c.readReply(t.Done)
	}
	return nil, c.handOverResult(c.req.TurnID), nil
}

// readReply looks at the terminal reply: it may be a question.
func (c *activeCall) readReply(m *beeos.Message) (*beeos.Message, []byte, error) {
	n := readNeededInput(m)
	switch {
	case n == nil:
		return m, nil, nil
	case c.x.version.stateless():
		early, err := c.x.inputRequiredAgain(c.m, n)
		return nil, early, err
	}
	c.pendingInput = n
	return nil, nil, nil
}

// forwardEvent tells the client about an event in the middle of a call, or returns the
// result that ends it early.
func (c *activeCall) forwardEvent(ctx context.Context, ev *beeos.Event) (early []byte) {
	var msg []byte
	switch ev.Kind {
	case beeos.EventDelta, beeos.EventProgress:
		msg = c.progress.notification(ev)
	case beeos.EventLog:
		if c.x.wantsLogs() {
			msg = logNotification(ev, c.x.logsFrom(ctx))
		}
	case beeos.EventBackground:
		if c.x.version.stateless() && c.x.can.has(canTasks) && c.handOverAfter > 0 && !c.joinsEarlierCall {
			return c.handOverResult(ev.Turn)
		}
		c.agentContinues = c.x.resumable() && c.m.method == "tools/call"
	case beeos.EventAsk:
		switch can := c.canAskClient(ev); {
		case !can && strings.HasPrefix(ev.AskID, beeos.PauseAsk):
			return c.giveUpPaused(ctx, ev)
		case !can && strings.HasPrefix(ev.AskID, beeos.ApprovalAsk):
			return nil // somebody decides elsewhere
		}
		if c.x.version.stateless() {
			return c.collectQuestion(ctx, ev)
		}
		msg = c.x.questionRequest(ctx, ev)
	}
	if msg != nil && c.x.out.acceptsStream {
		c.x.out.sendEvent(msg) //nolint:errcheck // a client that is gone shows in ctx
	}
	return nil
}

// canAskClient reports whether the client can be asked this in the middle of this
// call.
func (c *activeCall) canAskClient(ev *beeos.Event) bool {
	if _, brought := c.round.input[ev.Key]; brought {
		return true
	}
	inTime := c.x.version.stateless() && methodsWithRounds[c.m.method] || c.x.session != nil && c.x.out.acceptsStream
	return inTime && c.x.can.has(neededCapability(ev))
}

// giveUpPaused ends a call whose agent has paused for something that this client
// cannot be asked: waiting would lead nowhere.
func (c *activeCall) giveUpPaused(ctx context.Context, ev *beeos.Event) []byte {
	c.x.stopAgent(ctx, c.waiting, "the caller's program cannot be asked")
	question, _ := httpd.StringValue(httpd.Field(ev.Data, "message"))
	return errorResult("The agent needs an answer before it can go on, and this client cannot be asked (it does not declare elicitation): " + question)
}

// collectQuestion answers a question with what the client has brought along, or collects
// it for the next round.
func (c *activeCall) collectQuestion(ctx context.Context, ev *beeos.Event) (early []byte) {
	for i := range c.questions {
		if c.questions[i].AskID == ev.AskID {
			return nil
		}
	}
	if answer, ok := c.round.input[ev.Key]; ok {
		delete(c.round.input, ev.Key) // asked again, it is another question
		c.x.answerAgent(ctx, ev.AskID, answer, nil)
		return nil
	}
	if !c.x.can.has(neededCapability(ev)) || !methodsWithRounds[c.m.method] {
		c.x.refuseQuestion(ctx, ev)
		return nil
	}
	c.questions = append(c.questions, *ev)
	if len(c.questions) >= int(ev.Total) {
		return c.x.inputRequired(c.m, c.questions)
	}
	if len(c.questions) == 1 {
		cancel := c.waiting.cancel
		time.AfterFunc(collectQuestionsFor, func() { cancel(errQuestionsCollected) })
	}
	return nil
}
