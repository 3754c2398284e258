package invoke

import (
	"context"
	"fmt"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/ledger"
)

// Cancel asks the agent to stop working on a turn. The request ends cancelled,
// with whatever terminal reply the agent then gives, or without one when it
// gives none within ledger.CancelGrace. A turn of another channel does not exist
// (with an empty channel any does); one that is over, or cancelled already,
// needs no cancel.
func (c *Calls) Cancel(ctx context.Context, channel, turn, reason string) error {
	d, err := c.opt.Ledger.OpenDelivery(ctx, turn)
	switch {
	case beeos.CodeOf(err) == beeos.NotFound && err != nil:
		return nil
	case err != nil:
		return fmt.Errorf("find the turn to cancel: %w", err)
	case channel != "" && channel != d.Channel:
		return beeos.Errorf(beeos.NotFound, "there is no request %s on this channel", turn)
	case !d.CancelAt.IsZero() && d.Leased:
		return nil
	case !d.CancelAt.IsZero(): // whoever had it is gone
		return c.cancelled(ctx, &d)
	}
	ctx = context.WithoutCancel(ctx) // what is stored must reach the agent, also when the caller leaves
	_, err = c.opt.Ledger.Append(ctx, beeos.Message{
		Channel: d.Channel, Type: beeos.ChatCancel, State: beeos.StateCompleted, InReplyTo: turn, Publisher: "user", Body: reason,
	})
	if err != nil {
		return fmt.Errorf("store cancel: %w", err)
	}
	if !d.Leased { // nobody has it, so nobody can acknowledge anything
		return c.cancelled(ctx, &d)
	}
	c.opt.Bus.Control(bus.Control{Kind: bus.Cancel, ID: turn, Channel: d.Channel, Reason: reason})
	return nil
}

// cancelled ends a request whose agent does not do so itself.
func (c *Calls) cancelled(ctx context.Context, d *ledger.Delivery) error {
	return c.end(ctx, d, beeos.StateCancelled, beeos.StopUser, "The request was cancelled.")
}

// Stop cancels a turn and waits for its end, which it is when the agent gives
// none: the sweep that would end it may be late.
func (c *Calls) Stop(ctx context.Context, channel, turn, reason string) error {
	if err := c.Cancel(ctx, channel, turn, reason); err != nil {
		return err
	}
	if _, err := c.Wait(ctx, turn, ledger.CancelGrace); err == nil || beeos.CodeOf(err) != beeos.ServiceTimeout {
		return err
	}
	d, err := c.opt.Ledger.OpenDelivery(ctx, turn)
	switch {
	case err == nil:
		return c.cancelled(ctx, &d)
	case beeos.CodeOf(err) == beeos.NotFound: // it ended this moment
		return nil
	}
	return fmt.Errorf("find the turn that is cancelled: %w", err)
}
