package call

import (
	"cmp"
	"context"
	"errors"
	"strconv"
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
	stopsWhenLeft              bool   // as the call that it was
	id                         []byte // of the request
}

func (x *Client) sealStreamID(l LostStream) string {
	text := l.turn + "\n" + l.channel + "\n" + l.agent + "\n" + l.tool + "\n" + strconv.FormatBool(l.stopsWhenLeft) + "\n" + string(l.id)
	return x.Runner.Sealer.Seal(sessions.SealedEvent, x.EndpointAgent, x.Caller.Principal(), []byte(text))
}

func (x *Client) OpenStreamID(id string) (l LostStream, ok bool) {
	text, ok := x.Runner.Sealer.Open(sessions.SealedEvent, x.EndpointAgent, x.Caller.Principal(), id)
	if !ok {
		return l, false
	}
	parts := strings.SplitN(string(text), "\n", 6)
	if len(parts) != 6 {
		return l, false
	}
	return LostStream{parts[0], parts[1], parts[2], parts[3], parts[4] == "true", []byte(parts[5])}, true
}

// ResumeStream sends the rest of a call to a client that has come back for it.
// Its progress starts over, so there is none.
func (x *Client) ResumeStream(ctx context.Context, l LostStream) {
	m := &wire.Message{ID: l.id, Method: "tools/call"}
	c := &activeCall{x: x, m: m, stopsWhenLeft: l.stopsWhenLeft}
	x.announceReturn(l.id)
	agent, err := x.findReachable(ctx, l.agent)
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
	x.planRest(c, l)
	result, err := x.toolOutcome(c.joinEarlierCall(ctx))
	switch {
	case x.HTTP.Context().Err() != nil, errors.Is(err, ErrClientReturns):
	case err != nil:
		x.Out.SendError(x.HTTP, l.id, x.Version, err)
	default:
		x.SendResult(m, result)
	}
}

// planRest is handOverPlan for a call whose client has come back: its own clock
// has run since the beginning.
func (x *Client) planRest(c *activeCall, l LostStream) {
	t := x.Lists.ToolByName[l.tool]
	if t == nil {
		t = &catalog.Tool{Name: l.tool}
	}
	rest := func(of time.Duration) time.Duration {
		return max(of-x.Runner.Now().Sub(beeos.IDTime(l.turn)), time.Millisecond)
	}
	if x.Agent.HandOver {
		c.handOverAfter, c.handOverResult = rest(x.Runner.HandOver), x.handOverNotice(t)
	} else {
		c.req.Timeout = rest(cmp.Or(x.Agent.Timeout, x.Runner.Calls.Timeout()))
	}
}
