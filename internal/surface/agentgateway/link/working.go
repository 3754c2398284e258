package link

import (
	"context"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/surface/agentgateway/codec"
)

// resume puts a turn on the connection of an agent that has reconnected and
// never stopped working on it. What may be handed out again comes to the agent
// anyway; this is for what nobody may be given a second time, which would be
// given up otherwise. What has ended meanwhile need not be worked on.
func (c *Connection) resume(f *beeos.Frame) error {
	if f.MessageID == "" {
		return beeos.Errorf(beeos.MissingParam, "a frame of type %q needs the message_id of its turn", f.Type)
	}
	if c.transport == nil || c.heldTurn(f.MessageID) != nil {
		return nil
	}
	c.hub.Go(func() {
		if err := c.takeOver(f.MessageID); err != nil {
			c.hub.Log.Error("a turn was not put on its agent's new connection", "turn", f.MessageID, "err", err)
		}
	})
	return nil
}

func (c *Connection) takeOver(id string) error {
	ctx, cancel := context.WithTimeout(context.Background(), releaseWithin)
	defer cancel()
	d, err := c.hub.Ledger.Turn(ctx, id)
	switch {
	case beeos.CodeOf(err) == beeos.NotFound: // it ended while the agent was away
		c.enqueue(codec.Ended(id))
		return nil
	case err != nil:
		return err
	case !d.Final() || !c.serves(d.AgentID):
		return nil
	}
	lease, ok, err := c.hub.Ledger.Resume(ctx, &d, c.hub.Now().Add(invoke.LeaseTTL))
	if err != nil || !ok {
		return err
	}
	t := c.hub.newTurn(&bus.Dispatch{AgentID: d.AgentID, MessageID: id, Channel: d.Channel, Attempt: lease.Attempt, Deadline: d.Deadline}, false)
	if !c.deliver(t, codec.Encode(&beeos.Frame{Type: beeos.FrameWorking, MessageID: id})) {
		return c.hub.Ledger.Release(ctx, []ledger.Lease{lease})
	}
	return nil
}
