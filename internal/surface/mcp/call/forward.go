package call

import (
	"context"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/replies"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
)

// ForwardMethod lets the agent itself answer a method. A reply that is an error
// of the protocol comes back as the error.
func (x *Client) ForwardMethod(ctx context.Context, m *wire.Message, arguments []byte) *Outcome {
	c := &activeCall{x: x, m: m}
	c.req.Call = beeos.Call{Method: m.Method, Params: m.Params, Arguments: arguments}
	if err := c.prepareRequest(); err != nil {
		c.endWithError(err)
		return &c.outcome
	}
	o := c.runToEnd(ctx)
	if o.Reply != nil {
		if err := replies.AgentError(o.Reply, x.Version); err != nil {
			c.endWithError(err)
		}
	}
	return o
}
