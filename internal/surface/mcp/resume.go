package mcp

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/beeos/beeos"
)

// Since 2025-11-25 a client of a session may lose the stream of a call, or be
// told to hang up, and fetch the rest with GET. The stream begins with an event
// that has nothing in it but its id, and the id is all there is to know: which
// turn, which request. The reply comes out of the ledger, at any replica.

// errClientReturns ends a response whose client comes back for the result.
var errClientReturns = errors.New("the client comes back for the result")

// resumable reports whether the client can come back for the result of a call.
func (x *client) resumable() bool {
	return x.session != nil && x.version >= v20251125 && x.out.acceptsStream && !x.oldTransport
}

// lostStream is a call whose stream a client has lost.
type lostStream struct {
	turn, channel, agent, tool string
	id                         []byte // of the request
}

func (x *client) sealStreamID(l lostStream) string {
	text := l.turn + "\n" + l.channel + "\n" + l.agent + "\n" + l.tool + "\n" + string(l.id)
	return x.runner.Sealer.seal(sealedEvent, x.endpointAgent, x.caller.Principal(), []byte(text))
}

func (x *client) openStreamID(id string) (l lostStream, ok bool) {
	text, ok := x.runner.Sealer.open(sealedEvent, x.endpointAgent, x.caller.Principal(), id)
	if !ok {
		return l, false
	}
	parts := strings.SplitN(string(text), "\n", 5)
	if len(parts) != 5 {
		return l, false
	}
	return lostStream{parts[0], parts[1], parts[2], parts[3], []byte(parts[4])}, true
}

// resumeStream sends the rest of a call to a client that has come back for it. Its
// progress starts over, so there is none.
func (x *client) resumeStream(ctx context.Context, l lostStream) {
	m := &message{id: l.id, method: "tools/call"}
	c := &activeCall{x: x, m: m}
	agent, err := x.reach(ctx, l.agent)
	if err == nil {
		x.agent = agent
		err = c.prepareRequest()
	}
	if err != nil {
		x.out.sendError(x.r, l.id, x.version, err)
		return
	}
	c.req.TurnID, c.req.Channel, c.req.Live = l.turn, l.channel, true
	x.out.firstEventID = func() string { return x.sealStreamID(l) }
	x.out.startStream()
	c.handOverAfter, c.handOverResult = x.remainingHandOver(l)
	result, err := x.toolOutcome(c.joinEarlierCall(ctx))
	switch {
	case x.r.Context().Err() != nil, errors.Is(err, errClientReturns):
	case err != nil:
		x.out.sendError(x.r, l.id, x.version, err)
	default:
		x.sendResult(m, result)
	}
}

// remainingHandOver is patience for a call whose client has come back: its own
// clock has run since the beginning.
func (x *client) remainingHandOver(l lostStream) (time.Duration, resultForTurn) {
	t := x.lists.toolByName[l.tool]
	if t == nil {
		t = &tool{name: l.tool}
	}
	return max(x.runner.HandOver-x.runner.Now().Sub(beeos.IDTime(l.turn)), time.Millisecond), x.handOverNotice(t)
}
