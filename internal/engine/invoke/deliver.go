package invoke

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/store/database"
)

const (
	sweepEvery = time.Second
	claimLimit = 256
	loadWithin = time.Second
)

// LeaseTTL is how long an edge may be silent about a request it holds; it
// extends its leases three times as often.
const LeaseTTL = 15 * time.Second

// dispatch hands a request that was just stored to its agent. It is leased
// already, unless the agent queues. A failure is not the caller's: the lease
// goes back and the request waits for an instance.
func (c *Calls) dispatch(ctx context.Context, r *Request, o *ledger.Opening) {
	if r.Agent.Definition.DeliveryMode == beeos.DeliverQueue {
		c.Kick(r.Agent.ID)
		return
	}
	d := *o.Delivery
	d.Trace = cmp.Or(d.Trace, r.passed)
	d.Turn, d.Channel, d.Offset, d.Attempt = o.Message.ID, o.Channel.ID, o.Message.Offset, 1
	if err := c.deliver(context.WithoutCancel(ctx), &d, &o.Message); err != nil {
		c.giveBack(context.WithoutCancel(ctx), &d, err)
	}
}

// dispatchLate hands a request out whose caller was told that nobody knows whether
// it was stored, once it is known that it was. When its lease is about to end, that
// is left to the sweep.
func (c *Calls) dispatchLate(ctx context.Context, r *Request, o *ledger.Opening, err error) {
	late, ok := errors.AsType[*ledger.Unsettled](err)
	if !ok {
		return
	}
	c.late.Go(func() {
		if late.Stored() && c.opt.Now().Add(LeaseTTL/3).Before(o.Delivery.LeaseUntil) {
			c.dispatch(ctx, r, o)
		}
	})
}

func (c *Calls) deliver(ctx context.Context, d *ledger.Delivery, m *beeos.Message) error {
	dispatch := bus.Dispatch{
		AgentID: d.AgentID, MessageID: d.Turn, Channel: d.Channel, Offset: d.Offset, Attempt: d.Attempt, Deadline: d.Deadline,
		Trace: d.Trace, Frame: chatFrame(d, m),
	}
	if c.opt.Bus.Alone() {
		return c.opt.Bus.Deliver(ctx, dispatch)
	}
	c.holders.expect(d)
	defer c.holders.settle(d)
	dispatch.Taken = func(node string) { c.holders.taken(d.Turn, d.Attempt, node) }
	return c.opt.Bus.Deliver(ctx, dispatch)
}

// loadFrame makes the frame of a dispatch that came from another node without
// one, because it is large.
func (c *Calls) loadFrame(d bus.Dispatch) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(context.Background(), loadWithin)
	defer cancel()
	m, err := c.opt.Ledger.Message(ctx, d.Channel, d.Offset)
	if err != nil {
		return nil, err
	}
	return chatFrame(&ledger.Delivery{AgentID: d.AgentID, Turn: d.MessageID, Channel: d.Channel, Attempt: d.Attempt, Deadline: d.Deadline, Trace: d.Trace}, &m), nil
}

// redelivery is what becomes of a request whose instance died. Who gives an
// idempotency key wants it done once: then an agent gets it again only if it
// has said that it may.
func redelivery(r *Request) beeos.Redelivery {
	switch how := r.Agent.Definition.Redelivery; {
	case how != beeos.RedeliverDefault:
		return how
	case r.IdempotencyKey != "":
		return beeos.RedeliverNever
	}
	return beeos.RedeliverAlways
}

// giveBack lets a request that was not handed over wait for an instance. One
// that must not be handed over twice waits only if it is certain that nobody
// has it; else its lease stays with whoever took it, or runs out.
func (c *Calls) giveBack(ctx context.Context, d *ledger.Delivery, cause error) {
	nobody := errors.Is(cause, bus.ErrNobody)
	if !nobody {
		c.opt.Log.WarnContext(logContext(ctx, d.Trace), "request not handed to its agent; it waits for an instance", "turn", d.Turn, "agent", d.AgentID, "err", cause)
	}
	if d.Redelivery == beeos.RedeliverNever && !nobody {
		return
	}
	lease, err := []ledger.Lease{{Turn: d.Turn, Attempt: d.Attempt}}, error(nil)
	if d.Redelivery == beeos.RedeliverNever {
		err = c.opt.Ledger.UndoClaim(ctx, lease)
	} else {
		err = c.opt.Ledger.ReleaseLeases(ctx, lease, ledger.Attempt{Why: beeos.NotHandedOut, Node: c.opt.Bus.NodeName()})
	}
	if err != nil {
		c.opt.Log.ErrorContext(logContext(ctx, d.Trace), "release lease", "turn", d.Turn, "err", err)
	}
}

// chatFrame is the message as the agent reads it, appended by hand: it is
// made for every call, and its JSON parts are passed on as they are.
func chatFrame(d *ledger.Delivery, m *beeos.Message) []byte {
	b := make([]byte, 0, 384+len(m.Body)+len(m.Payload)+len(m.Parts))
	b = append(b, `{"type":"chat_message","agent_id":"`...)
	b = append(b, d.AgentID...)
	b = append(b, `","channel_id":"`...)
	b = append(b, d.Channel...)
	b = append(b, `","message_id":"`...)
	b = append(b, d.Turn...)
	b = strconv.AppendInt(append(b, `","offset":`...), m.Offset, 10)
	b = strconv.AppendInt(append(b, `,"attempt":`...), int64(d.Attempt), 10)
	b = strconv.AppendInt(append(b, `,"deadline_ms":`...), d.Deadline.UnixMilli(), 10)
	b = append(append(append(b, `,"publisher_id":"`...), m.Publisher...), '"')
	if m.Body != "" {
		body, _ := json.Marshal(m.Body) // a string always encodes
		b = append(append(b, `,"body":`...), body...)
	}
	if len(m.Parts) > 0 {
		b = append(append(b, `,"parts":`...), m.Parts...)
	}
	if len(m.Payload) > 0 {
		b = append(append(b, `,"payload":`...), m.Payload...)
	}
	if d.Trace != "" {
		b = appendTrace(b, d)
	}
	return append(b, '}')
}

// Kick says that waiting requests of an agent can perhaps be handed out: an
// instance came, work was given back, or a lane became free.
func (c *Calls) Kick(agentID string) {
	select {
	case c.kicks <- agentID:
	default: // the sweeper comes by every second
	}
}

// handOut serves kicks.
func (c *Calls) handOut(ctx context.Context) error {
	for {
		select {
		case agentID := <-c.kicks:
			if err := c.handOutTo(ctx, agentID); err != nil && ctx.Err() == nil {
				c.opt.Log.Error("hand out waiting requests", "agent", agentID, "err", err)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

func (c *Calls) handOutTo(ctx context.Context, agentID string) error {
	for {
		if !c.opt.Bus.Present(ctx, agentID) {
			return nil
		}
		// Not cut short when this node stops: what is claimed is handed out or goes back.
		claimed, err := c.opt.Ledger.ClaimDeliveries(context.WithoutCancel(ctx), agentID, c.opt.Now().Add(LeaseTTL), claimLimit)
		if err != nil {
			return err
		}
		if err := c.redeliverAll(ctx, claimed); err != nil || len(claimed) < claimLimit {
			return err
		}
	}
}

// redeliverAll hands out what was claimed. What cannot be, because of an error
// or because this node stops, goes back as if it had not been claimed.
func (c *Calls) redeliverAll(ctx context.Context, claimed []ledger.Delivery) error {
	var back []ledger.Lease
	var trouble error
	for i := range claimed {
		d := &claimed[i]
		if err := c.redeliver(ctx, d); err != nil {
			back = append(back, ledger.Lease{Turn: d.Turn, Attempt: d.Attempt})
			trouble = err
		}
	}
	if len(back) == 0 {
		return nil
	}
	return errors.Join(trouble, c.opt.Ledger.UndoClaim(context.WithoutCancel(ctx), back))
}

// redeliver hands out one claimed request, or ends it when too many instances
// have had it.
func (c *Calls) redeliver(ctx context.Context, d *ledger.Delivery) error {
	if d.Attempt > beeos.MaxAttempts {
		return c.lose(ctx, d, fmt.Sprintf("The agent's instances went away %d times while they worked on this.", beeos.MaxAttempts))
	}
	m, err := c.opt.Ledger.Message(ctx, d.Channel, d.Offset)
	if err != nil {
		return fmt.Errorf("read request %s: %w", d.Turn, err)
	}
	ctx = context.WithoutCancel(ctx) // what nobody knows the end of may not be repeated
	if err := c.deliver(ctx, d, &m); err != nil {
		c.giveBack(ctx, d, err)
	}
	return nil
}

func (c *Calls) lose(ctx context.Context, d *ledger.Delivery, why string) error {
	return c.end(ctx, d, beeos.StateFailed, beeos.StopAgentLost, why)
}

// end writes a terminal reply in the agent's stead. That somebody else was
// first is fine.
func (c *Calls) end(ctx context.Context, d *ledger.Delivery, state, stop, text string) error {
	_, err := c.opt.Ledger.Finish(ctx, beeos.Message{
		Channel: d.Channel, InReplyTo: d.Turn, Type: beeos.AgentReplyError, State: state, StopReason: stop,
		Publisher: "agent:" + d.AgentID, Body: text,
	})
	if err != nil && beeos.CodeOf(err) != beeos.MessageTerminal {
		return fmt.Errorf("end request %s: %w", d.Turn, err)
	}
	if d.Lane != "" {
		c.Kick(d.AgentID)
	}
	return nil
}

// sweep looks, once a second and on every node, after requests that nobody
// looks after any more.
func (c *Calls) sweep(ctx context.Context) error {
	return database.Every(ctx, sweepEvery, c.Sweep, func(err error) { c.opt.Log.Error("sweep", "err", err) })
}

// Sweep is one round: requests past their deadline end as timed out, cancelled
// ones that their agent does not end are ended for it, dropped
// ones whose agent is gone for good end as lost, the others are handed out.
func (c *Calls) Sweep(ctx context.Context) error {
	found, err := c.opt.Ledger.Sweep(ctx)
	if err != nil {
		return err
	}
	var trouble error
	goOn := func(err error) bool { // one whose channel is gone holds up no other; a ledger that takes nothing does
		trouble = errors.Join(trouble, err)
		return err == nil || beeos.CodeOf(err) == beeos.NotFound
	}
	for i := range found.Expired {
		if !goOn(c.end(ctx, &found.Expired[i], beeos.StateFailed, beeos.StopTimeout, "The agent did not reply before the request's deadline.")) {
			return trouble
		}
	}
	for i := range found.Cancelled {
		if !goOn(c.cancelled(ctx, &found.Cancelled[i])) {
			return trouble
		}
	}
	for i := range found.Dropped {
		if !goOn(c.giveUp(ctx, &found.Dropped[i])) {
			return trouble
		}
	}
	for _, id := range found.Agents {
		c.Kick(id)
	}
	return trouble
}

// giveUp ends a dropped request once nobody can be expected to answer it.
func (c *Calls) giveUp(ctx context.Context, d *ledger.Delivery) error {
	why := "The agent disconnected while it worked on this and did not come back."
	if d.Final() {
		why = "The agent's instance went away while it worked on this, and it is not repeated: whether it took effect is uncertain. Find out, then call again, with another idempotency_key if there was one."
	} else if c.opt.Bus.Present(ctx, d.AgentID) {
		return nil
	}
	since := d.LeaseUntil
	if since.Before(c.started) { // agents could not come back to a server that was down
		since = c.started
	}
	switch away := c.opt.Now().Sub(since); {
	case away <= callLostAfter:
		return nil
	case away > c.opt.LostAfter:
		return c.lose(ctx, d, why)
	}
	kept, err := c.outlivesAgent(ctx, d)
	if err != nil {
		return err
	}
	if !kept {
		return c.lose(ctx, d, why)
	}
	c.opt.Bus.Control(bus.Control{Kind: bus.AgentAway, ID: d.Turn}) // its caller need not wait as long
	return nil
}

// outlivesAgent reports whether a dropped request waits for its agent to come
// back: what has a key, under which its end would be final, what the agent has
// said about itself, and what was put into our hands. Any other can be made again
// by who waits for it.
func (c *Calls) outlivesAgent(ctx context.Context, d *ledger.Delivery) (bool, error) {
	if d.Redelivery != beeos.RedeliverAlways { // so it has a key, or the agent says so
		return true, nil
	}
	a, err := c.Agent(ctx, d.AgentID)
	switch {
	case err != nil && beeos.CodeOf(err) != beeos.AgentNotFound:
		return false, err
	case err == nil && a.Definition.Redelivery != beeos.RedeliverDefault:
		return true, nil
	}
	ch, err := c.opt.Ledger.Channel(ctx, d.Channel)
	return ch.Kind == beeos.KindTask || ch.Kind == beeos.KindConversation, err
}
