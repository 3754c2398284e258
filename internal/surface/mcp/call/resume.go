package call

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/catalog"
	"github.com/beeos/beeos/internal/surface/mcp/sessions"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
)

// Since 2025-11-25 a client of a session may lose the stream of a call, or be
// told to hang up, and fetch the rest with GET. The stream begins with an event
// that has nothing in it but its id, and the id is all there is to know: which
// turn, which request. The reply comes out of the ledger, at any replica.

// ErrClientReturns ends a response whose client comes back for the result.
var ErrClientReturns = errors.New("the client comes back for the result")

// resumable reports whether the client can come back for the result of a call.
func (x *Client) resumable() bool {
	return x.Session != nil && x.Version >= wire.V20251125 && x.Out.AcceptsStream && !x.OldTransport
}

// LostStream is a call whose stream a client has lost.
type LostStream struct {
	turn, channel, agent, tool string
	id                         []byte // of the request
}

func (x *Client) sealStreamID(l LostStream) string {
	text := l.turn + "\n" + l.channel + "\n" + l.agent + "\n" + l.tool + "\n" + string(l.id)
	return x.Runner.Sealer.Seal(sessions.SealedEvent, x.EndpointAgent, x.Caller.Principal(), []byte(text))
}

func (x *Client) OpenStreamID(id string) (l LostStream, ok bool) {
	text, ok := x.Runner.Sealer.Open(sessions.SealedEvent, x.EndpointAgent, x.Caller.Principal(), id)
	if !ok {
		return l, false
	}
	parts := strings.SplitN(string(text), "\n", 5)
	if len(parts) != 5 {
		return l, false
	}
	return LostStream{parts[0], parts[1], parts[2], parts[3], []byte(parts[4])}, true
}

// ResumeStream sends the rest of a call to a client that has come back for it.
// Its progress starts over, so there is none.
func (x *Client) ResumeStream(ctx context.Context, l LostStream) {
	m := &wire.Message{ID: l.id, Method: "tools/call"}
	c := &activeCall{x: x, m: m}
	agent, err := x.reach(ctx, l.agent)
	if err == nil {
		x.Agent = agent
		err = c.prepareRequest()
	}
	if err != nil {
		x.Out.SendError(x.HTTP, l.id, x.Version, err)
		return
	}
	c.req.TurnID, c.req.Channel, c.req.Live = l.turn, l.channel, true
	x.Out.FirstEventID = func() string { return x.sealStreamID(l) }
	x.Out.StartStream()
	c.handOverAfter, c.handOverResult = x.remainingHandOver(l)
	result, err := x.toolOutcome(c.joinEarlierCall(ctx))
	switch {
	case x.HTTP.Context().Err() != nil, errors.Is(err, ErrClientReturns):
	case err != nil:
		x.Out.SendError(x.HTTP, l.id, x.Version, err)
	default:
		x.SendResult(m, result)
	}
}

// remainingHandOver is handOverPlan for a call whose client has come back: its own
// clock has run since the beginning.
func (x *Client) remainingHandOver(l LostStream) (time.Duration, resultForTurn) {
	t := x.Lists.ToolByName[l.tool]
	if t == nil {
		t = &catalog.Tool{Name: l.tool}
	}
	return max(x.Runner.HandOver-x.Runner.Now().Sub(beeos.IDTime(l.turn)), time.Millisecond), x.handOverNotice(t)
}
