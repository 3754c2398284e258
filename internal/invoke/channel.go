package invoke

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/bus"
)

// ContextChannel maps a client's context id to a channel of this principal
// and agent: the same three always meet in the same channel, without a table.
// A channel id is its own context id.
func ContextChannel(principal, agentID, contextID string) string {
	if isChannelID(contextID) {
		return contextID
	}
	sum := sha256.Sum256([]byte(principal + "\x00" + agentID + "\x00" + contextID))
	h := hex.EncodeToString(sum[:16])
	return "ch-" + h[:8] + "-" + h[8:12] + "-8" + h[13:16] + "-" + h[16:20] + "-" + h[20:32]
}

// isChannelID: the id ends up in frames and subjects, so it must look like one
// of ours to the letter.
func isChannelID(s string) bool {
	id, ok := strings.CutPrefix(s, "ch-")
	if !ok || len(id) != 36 {
		return false
	}
	for i, c := range []byte(id) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		hexDigit := c >= '0' && c <= '9' || c >= 'a' && c <= 'f'
		if dash != (c == '-') || !dash && !hexDigit {
			return false
		}
	}
	return true
}

// Wait returns the terminal reply to a request, at once when it is there.
func (c *Calls) Wait(ctx context.Context, turn string, timeout time.Duration) (*beeos.Message, error) {
	w := c.waiters.add(c.waiters.byTurn, turn)
	defer c.waiters.remove(c.waiters.byTurn, turn, w)
	_, unknown := c.opt.Ledger.Turn(ctx, turn) // before the reply is looked for, which may come in between
	if m, err := c.opt.Ledger.Terminal(ctx, turn); err != nil || m != nil {
		return m, err
	}
	if unknown != nil {
		return nil, unknown
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case m := <-w.terminal:
		return m, nil
	case <-timer.C:
		return nil, beeos.Errorf(beeos.ServiceTimeout, "no reply within %s", timeout)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// watchPage is how many messages Watch reads at once.
const watchPage = 200

// Watch yields the channel's messages after offset since, then live events
// and new messages as they come, until ctx ends or the channel is closed and
// read to its end. It starts with the text so far of a turn under way.
func (c *Calls) Watch(ctx context.Context, channel string, since int64) iter.Seq2[beeos.Event, error] {
	return func(yield func(beeos.Event, error) bool) {
		w := c.waiters.add(c.waiters.byChannel, channel)
		defer c.waiters.remove(c.waiters.byChannel, channel, w)
		live := newChannelFeed()
		defer c.opt.Bus.Watch(channel, live.push)()

		wt := &watch{c: c, channel: channel, since: since, live: live}
		first := true
		for {
			more, err := wt.replay(ctx, func(ev beeos.Event) bool { return yield(ev, nil) })
			if err != nil {
				yield(beeos.Event{}, err)
				return
			}
			if !more {
				return
			}
			if first {
				first = false
				if !wt.catchUp(ctx, yield) {
					return
				}
			}
			select {
			case <-w.wake:
				// Live events that came before the message go out before it.
				if !wt.flush(yield) {
					return
				}
			case <-live.ready:
				if !wt.flush(yield) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// watch is the state of one Watch.
type watch struct {
	c       *Calls
	channel string
	since   int64
	turn    string // the last request that has no terminal reply yet
	live    *feed
}

// replay yields stored messages; false when the channel has ended or the
// reader has had enough.
func (w *watch) replay(ctx context.Context, yield func(beeos.Event) bool) (more bool, err error) {
	// Read before the messages: a channel that is closed now has them all.
	ch, err := w.c.opt.Ledger.Channel(ctx, w.channel)
	if err != nil {
		return false, err
	}
	for {
		ms, err := w.c.opt.Ledger.Messages(ctx, w.channel, w.since, watchPage)
		if err != nil {
			return false, err
		}
		for i := range ms {
			m := &ms[i]
			w.since = m.Offset
			switch {
			case m.Type == beeos.ChatMessage:
				w.turn = m.ID
			case m.Type.Terminal() && m.InReplyTo == w.turn:
				w.turn = ""
			}
			if !yield(beeos.Event{Kind: beeos.EventMessage, Channel: w.channel, Turn: m.InReplyTo, Message: m}) {
				return false, nil
			}
		}
		if len(ms) < watchPage {
			return !ch.Closed, nil
		}
	}
}

// catchUp yields the text so far of the turn under way, so that whoever joins
// late has what the others have.
func (w *watch) catchUp(ctx context.Context, yield func(beeos.Event, error) bool) bool {
	if w.turn == "" {
		return true
	}
	text, ok := w.c.opt.Bus.Snapshot(ctx, w.turn)
	if !ok || text == "" {
		return true
	}
	w.live.take() // part of the snapshot
	return yield(beeos.Event{Kind: beeos.EventDelta, Channel: w.channel, Turn: w.turn, Text: text}, nil)
}

func (w *watch) flush(yield func(beeos.Event, error) bool) bool {
	for _, ev := range w.live.take() {
		if !yield(ev, nil) {
			return false
		}
	}
	return true
}

// Cancel asks the agent to stop working on a turn. The request ends with
// whatever terminal reply the agent then gives. An empty channel is looked
// up; a turn that is over already needs no cancel.
func (c *Calls) Cancel(ctx context.Context, channel, turn, reason string) error {
	if channel == "" {
		d, err := c.opt.Ledger.Turn(ctx, turn)
		if beeos.CodeOf(err) == beeos.NotFound {
			return nil
		}
		if err != nil {
			return fmt.Errorf("find the turn to cancel: %w", err)
		}
		channel = d.Channel
	}
	_, err := c.opt.Ledger.Append(ctx, beeos.Message{
		Channel: channel, Type: beeos.ChatCancel, State: beeos.StateCompleted, InReplyTo: turn, Publisher: "user", Body: reason,
	})
	if err != nil {
		return fmt.Errorf("store cancel: %w", err)
	}
	c.opt.Bus.Control(bus.Control{Kind: bus.Cancel, ID: turn, Channel: channel, Reason: reason})
	return nil
}

// Continue stores what a user says to a turn that paused, input or a grant,
// and brings it to the agent that asked.
func (c *Calls) Continue(ctx context.Context, m beeos.Message) (beeos.Message, error) {
	if m.Type != beeos.Continue && m.Type != beeos.AuthGrant {
		return beeos.Message{}, beeos.Errorf(beeos.InvalidParam, "type must be %s or %s", beeos.Continue, beeos.AuthGrant)
	}
	d, err := c.opt.Ledger.Turn(ctx, m.InReplyTo)
	if err == nil && d.Channel != m.Channel {
		err = beeos.Errorf(beeos.NotFound, "there is no open request %s on this channel", m.InReplyTo)
	}
	if err != nil {
		return beeos.Message{}, err
	}
	m.State = beeos.StateCompleted
	if m, err = c.opt.Ledger.Append(ctx, m); err != nil {
		return beeos.Message{}, fmt.Errorf("store %s: %w", m.Type, err)
	}
	frame, err := json.Marshal(beeos.Frame{
		Type: beeos.FrameType(m.Type), AgentID: d.AgentID, ChannelID: m.Channel, MessageID: m.InReplyTo, Offset: m.Offset,
		PublisherID: m.Publisher, Body: m.Body, Parts: m.Parts, Payload: m.Payload,
	})
	if err != nil {
		return beeos.Message{}, fmt.Errorf("encode %s: %w", m.Type, err)
	}
	c.opt.Bus.Control(bus.Control{Kind: bus.Continue, ID: m.InReplyTo, Channel: m.Channel, Data: frame})
	return m, nil
}

// Answer carries a caller's answer back to the agent that asked.
func (c *Calls) Answer(_ context.Context, askID string, result json.RawMessage, fault *beeos.FrameFault) error {
	data, err := json.Marshal(struct {
		Result json.RawMessage   `json:"result,omitempty"`
		Error  *beeos.FrameFault `json:"error,omitempty"`
	}{result, fault})
	if err != nil {
		return beeos.Wrap(beeos.InvalidBody, err, "the answer cannot be encoded")
	}
	c.opt.Bus.Control(bus.Control{Kind: bus.Answer, ID: askID, Data: data})
	return nil
}
