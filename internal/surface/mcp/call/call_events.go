package call

import (
	"context"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// forwardEvent tells the client about an event in the middle of a call, and
// reports whether the call is over for this request.
func (c *activeCall) forwardEvent(ctx context.Context, ev *beeos.Event) (over bool) {
	var msg []byte
	switch ev.Kind {
	case beeos.EventDelta, beeos.EventProgress:
		msg = c.progress.Notification(ev)
	case beeos.EventLog:
		if c.x.wantsLogs() {
			msg = wire.LogNotification(ev, c.x.logsFrom(ctx))
		}
	case beeos.EventBackground:
		if c.x.Version.Stateless() && c.x.Can.Has(wire.CanTasks) && c.handOverAfter > 0 && !c.joinsEarlierCall {
			c.endEarly(c.handOverResult(ev.Turn))
			return true
		}
		if c.x.resumable() && c.m.Method == "tools/call" {
			c.endWithError(ErrClientReturns)
			return true
		}
	case beeos.EventAsk:
		switch can := c.canAskClient(ev); {
		case !can && strings.HasPrefix(ev.AskID, beeos.PauseAsk):
			c.giveUpPaused(ctx, ev)
			return true
		case !can && strings.HasPrefix(ev.AskID, beeos.ApprovalAsk):
			return false // somebody decides elsewhere
		}
		if c.x.Version.Stateless() {
			return c.collectQuestion(ctx, ev)
		}
		msg = c.x.questionRequest(ctx, ev)
	}
	if msg != nil && c.x.Out.AcceptsStream {
		c.x.Out.SendEvent(msg) //nolint:errcheck // a client that is gone shows in ctx
	}
	return false
}

// canAskClient reports whether the client can be asked this in the middle of
// this call.
func (c *activeCall) canAskClient(ev *beeos.Event) bool {
	if _, brought := c.round.input[ev.Key]; brought {
		return true
	}
	inTime := c.x.Version.Stateless() && methodsWithRounds[c.m.Method] || c.x.Session != nil && c.x.Out.AcceptsStream
	return inTime && c.x.Can.Has(wire.NeededCapability(ev))
}

// giveUpPaused ends a call whose agent has paused for something that this
// client cannot be asked: waiting would lead nowhere.
func (c *activeCall) giveUpPaused(ctx context.Context, ev *beeos.Event) {
	c.x.stopAgent(ctx, c.waiting, "the caller's program cannot be asked")
	question, _ := strictjson.StringField(ev.Data, "message")
	c.endEarly(wire.ErrorResult("The agent needs an answer before it can go on, and this client cannot be asked (it does not declare elicitation): " + question))
}

// collectQuestion answers a question with what the client has brought along,
// or collects it for the next round; over says that the client is sent there.
func (c *activeCall) collectQuestion(ctx context.Context, ev *beeos.Event) (over bool) {
	for i := range c.questions {
		if c.questions[i].AskID == ev.AskID {
			return false
		}
	}
	if answer, ok := c.round.input[ev.Key]; ok {
		delete(c.round.input, ev.Key) // asked again, it is another question
		c.x.answerAgent(ctx, ev.AskID, answer, nil)
		return false
	}
	if !c.x.Can.Has(wire.NeededCapability(ev)) || !methodsWithRounds[c.m.Method] {
		c.x.refuseQuestion(ctx, ev)
		return false
	}
	c.questions = append(c.questions, *ev)
	if len(c.questions) >= int(ev.Total) {
		c.endEarly(c.x.inputRequired(c.m, c.questions))
		return true
	}
	if len(c.questions) == 1 {
		cancel := c.waiting.cancel
		time.AfterFunc(collectQuestionsFor, func() { cancel(errQuestionsCollected) })
	}
	return false
}
