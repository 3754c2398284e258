package invoke

import (
	"context"
	"iter"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/watch"
)

// Asks returns the questions to its caller that the agent of a turn is waiting
// on; ok is false when no agent has the turn now.
func (c *Calls) Asks(ctx context.Context, turn string) (asks []beeos.Event, ok bool) {
	return c.opt.Bus.Asks(ctx, turn)
}

// Resume waits on for a turn that an earlier Do, perhaps another node's, has
// begun: r.TurnID on r.Channel. It begins with the questions that are open. The
// rest is as with Do, except that nothing is stored or sent.
func (c *Calls) Resume(ctx context.Context, r *Request) iter.Seq2[beeos.Event, error] {
	return c.recordCall(ctx, r, c.resume)
}

func (c *Calls) resume(ctx context.Context, r *Request, yield func(*beeos.Event) bool) error {
	if !r.Caller.MayReach(r.Agent) {
		return unreachable(r.Agent)
	}
	t := &turn{c: c, id: r.TurnID, channel: r.Channel, timeout: c.timeout(r), keepTimeout: r.KeepTimeout}
	t.waiter = c.AwaitReply(t.id)
	defer t.close()
	if r.Live {
		t.feed = watch.NewFeed(t.id)
		t.unwatch = c.opt.Bus.Watch(t.channel, t.feed.Push)
	}
	_, unknown := c.opt.Ledger.OpenDelivery(ctx, t.id) // before the reply is looked for, which may come in between
	done, err := c.opt.Ledger.Terminal(ctx, t.id)
	switch {
	case err != nil:
		return err
	case done != nil:
		yield(t.last(done))
		return nil
	case unknown != nil:
		return unknown
	}
	if r.Live && !t.yieldOpenAsks(ctx, yield) {
		return errReaderLeft
	}
	return t.await(ctx, yield)
}
