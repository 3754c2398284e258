package mcp

import (
	"context"

	"github.com/beeos/beeos"
)

// forwardMethod lets the agent itself answer a method. A reply that is an error
// of the protocol comes back as the error.
func (x *client) forwardMethod(ctx context.Context, m *message, arguments []byte) *outcome {
	c := &activeCall{x: x, m: m}
	c.req.Call = beeos.Call{Method: m.method, Params: m.params, Arguments: arguments}
	if err := c.prepareRequest(); err != nil {
		c.endWithError(err)
		return &c.outcome
	}
	o := c.runToEnd(ctx)
	if o.reply != nil {
		if err := agentError(o.reply, x.version); err != nil {
			c.endWithError(err)
		}
	}
	return o
}
