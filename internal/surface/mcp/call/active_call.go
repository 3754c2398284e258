package call

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/surface/mcp/replies"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
)

// activeCall is one call under way.
type activeCall struct {
	x                *Client
	m                *wire.Message
	req              invoke.Request
	waiting          *pendingRequest
	round            inputRound
	progress         wire.Progress
	questions        []beeos.Event // questions for the client's next round
	handOverAfter    time.Duration // after which the client gets something else; 0 = it waits
	handOverResult   resultForTurn // what it gets
	stopsWhenLeft    bool          // the agent is told when the client has left for good
	joinsEarlierCall bool          // the call is an earlier one, which is not this request's to stop
	outcome          Outcome
}

// collectQuestionsFor is how long the rest of the questions may take that an
// agent asks at once.
const collectQuestionsFor = 200 * time.Millisecond

// Why this request need not wait for the call any longer.
var (
	errQuestionsCollected = errors.New("the questions so far will do")
	errHandOver           = errors.New("the call goes on as a task")
)

var errNoReply = errors.New("the call ended without a reply")

// resultForTurn is the result that a client gets for a call that goes on.
type resultForTurn = func(turn string) []byte

// startCall is invoke's Do or Resume.
type startCall = func(context.Context, *invoke.Request) iter.Seq2[beeos.Event, error]

// prepareRequest fills in what all calls of a client have in common, and what
// it has brought from an earlier round.
func (c *activeCall) prepareRequest() (err error) {
	x, req := c.x, &c.req
	if c.round, err = x.readRound(c.m); err != nil {
		return err
	}
	c.progress.Token = x.Meta.Token
	req.Caller, req.Agent, req.Surface, req.Kind = x.Caller, x.Agent, "mcp", beeos.KindMCP
	req.TurnID = beeos.NewID()
	c.describeEntry()
	req.Call.Revision = x.Version.String()
	req.Call.Input, req.Call.State = c.round.input, c.round.state
	watches := x.Out.AcceptsStream && x.Meta.Token != nil
	if watches {
		req.Call.Can = append(req.Call.Can, "progress")
	}
	if x.Version.Stateless() || x.Session != nil && x.Out.AcceptsStream {
		req.Call.Can = append(req.Call.Can, x.Can.AgentNames()...)
	}
	req.Live = watches || x.wantsLogs() || x.Version.Stateless() && x.Can != 0
	return nil
}

// Outcome is how a call has ended for the request that waits for it: with the
// agent's reply, early, with an error, or with a question back. It is part of
// the call, and not returned by value, because a waiting call keeps its stack
// small.
type Outcome struct {
	Reply        *beeos.Message // the agent's terminal reply
	EarlyResult  []byte         // takes its place: questions, a task, or why there is no reply
	Err          error
	pendingInput *replies.NeededInput // what the agent ended its turn for, to be asked of a session's client
}

func (c *activeCall) endWithReply(m *beeos.Message) { c.outcome = Outcome{Reply: m} }

//go:noinline
func (c *activeCall) endEarly(result []byte)              { c.outcome = Outcome{EarlyResult: result} } // on no stack that waits
func (c *activeCall) endWithError(err error)              { c.outcome = Outcome{Err: err} }
func (c *activeCall) endWithInput(n *replies.NeededInput) { c.outcome = Outcome{pendingInput: n} }

// runToEnd runs a call that is prepared to its end. What happens on the way
// goes to the client as far as it listens. No input is pending afterwards.
func (c *activeCall) runToEnd(ctx context.Context) *Outcome {
	if c.joinsEarlierCall {
		return c.joinEarlierCall(ctx)
	}
	if c.round.turn != "" {
		c.rejoinWaitingTurn(ctx)
		if beeos.CodeOf(c.outcome.Err) != beeos.NotFound {
			return &c.outcome
		} // the turn is gone without a trace: make the call again, with the answers
	}
	if c.round.input != nil || c.round.state != "" {
		c.req.IdempotencyKey = nextKey(c.req.IdempotencyKey, c.round.state, c.round.input)
	}
	for range roundsMax {
		c.followEvents(ctx, c.x.Runner.Calls.Do)
		if c.outcome.pendingInput == nil {
			return &c.outcome
		}
		if refusal := c.startNextRound(ctx, c.outcome.pendingInput); refusal != nil {
			c.endEarly(refusal)
			return &c.outcome
		}
	}
	c.endEarly(wire.ErrorResult("The agent keeps asking."))
	return &c.outcome
}

// rejoinWaitingTurn waits for the turn that an earlier round has left waiting.
func (c *activeCall) rejoinWaitingTurn(ctx context.Context) {
	turn, channel := c.req.TurnID, c.req.Channel
	c.req.TurnID, c.req.Channel = c.round.turn, c.round.channel
	c.followEvents(ctx, c.x.Runner.Calls.Resume)
	c.req.TurnID, c.req.Channel = turn, channel
}

// startNextRound makes the request that follows what the agent needed, or
// returns the result that says why there is none.
func (c *activeCall) startNextRound(ctx context.Context, n *replies.NeededInput) (refusal []byte) {
	input, refusal := c.askClient(ctx, n)
	if input == nil {
		return refusal
	}
	c.req.TurnID, c.req.Call.Input, c.req.Call.State = beeos.NewID(), input, n.State
	c.req.IdempotencyKey = nextKey(c.req.IdempotencyKey, n.State, input)
	return nil
}

// joinEarlierCall waits for the end of a call that an earlier request made.
func (c *activeCall) joinEarlierCall(ctx context.Context) *Outcome {
	c.followEvents(ctx, c.x.Runner.Calls.Resume)
	if c.outcome.pendingInput != nil {
		c.endEarly(wire.ErrorResult(endedAsking))
	}
	return &c.outcome
}

// followEvents forwards what happens until the call is over for this request.
func (c *activeCall) followEvents(ctx context.Context, do startCall) {
	ctx = c.startWaiting(ctx)
	defer c.stopWaiting()
	c.endWithError(errNoReply)
	for ev, err := range do(ctx, &c.req) {
		switch {
		case errors.Is(context.Cause(ctx), errQuestionsCollected) && len(c.questions) > 0:
			c.endEarly(c.x.inputRequired(c.m, c.questions))
		case errors.Is(context.Cause(ctx), errHandOver):
			c.handOver(ctx, err)
		case err != nil && (errors.Is(context.Cause(ctx), errClientLeft) || ctx.Err() == nil && c.waiting.leaving.isAway()):
			c.x.stopAgent(ctx, c.waiting, leftReason)
			c.endWithError(err) // nobody reads it
		case err != nil && ctx.Err() != nil && c.joinsEarlierCall:
			c.endWithError(beeos.Errorf(beeos.AgentServiceUnavailable, "the wait has ended, the work goes on: ask again"))
		case err != nil && ctx.Err() != nil:
			c.endWithError(c.stopCall(ctx))
		case err != nil:
			c.endWithError(err)
		case ev.Kind == beeos.EventMessage && ev.Message.Type.Terminal():
			c.readReply(ev.Message)
		default:
			c.waiting.channel = ev.Channel // only this goroutine looks at it
			if !c.forwardEvent(ctx, &ev) {
				continue
			}
		}
		return
	}
}

// handOver is for a call that has taken long enough. It is in the ledger by
// now, unless something slow was in the way; it may even be over.
func (c *activeCall) handOver(ctx context.Context, why error) {
	t, err := c.x.TaskByID(context.WithoutCancel(ctx), c.req.TurnID)
	switch {
	case err != nil && beeos.CodeOf(err) != beeos.InvalidParam:
		c.endWithError(err)
	case err != nil && why != nil && !errors.Is(why, context.Canceled):
		c.endWithError(why) // it was refused
	case err != nil:
		c.endWithError(beeos.Wrap(beeos.AgentServiceUnavailable, err, "the call could not be stored in time: try again"))
	case t.Done != nil:
		c.readReply(t.Done)
	default:
		c.endEarly(c.handOverResult(c.req.TurnID))
	}
}

// readReply looks at the terminal reply: it may be a question.
func (c *activeCall) readReply(m *beeos.Message) {
	n := replies.ReadNeededInput(m)
	switch {
	case n == nil:
		c.endWithReply(m)
	case c.x.Version.Stateless():
		result, err := c.x.inputRequiredAgain(c.m, n)
		c.outcome = Outcome{EarlyResult: result, Err: err}
	default:
		c.endWithInput(n)
	}
}

// ForwardMethod lets the agent itself answer a method. A reply that is an error
// of the protocol comes back as the error.
func (x *Client) ForwardMethod(ctx context.Context, m *wire.Message, arguments []byte) *Outcome {
	c := &activeCall{x: x, m: m}
	c.req.Call = beeos.Call{Method: m.Method, Params: m.Params, Arguments: arguments}
	if err := c.prepareRequest(); err != nil {
		c.endWithError(err)
		return &c.outcome
	}
	c.stopsWhenLeft = x.stopsWhenLeft("")
	o := c.runToEnd(ctx)
	if o.Reply != nil {
		if err := replies.AgentError(o.Reply, x.Version); err != nil {
			c.endWithError(err)
		}
	}
	return o
}
