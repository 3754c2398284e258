package link

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/surface/agentgateway/codec"
	"github.com/beeos/beeos/internal/surface/agentgateway/turn"
)

// lookWithin bounds a query that a dispatch waits for.
const lookWithin = time.Second

// finish stores the reply that ends a turn and acknowledges it once it is on
// disk. The reader of the socket does not wait for the disk: while one reply
// is being written others come in, and the ledger commits them together.
func (c *Connection) finish(f *beeos.Frame, to *Responses) error {
	m := replyMessage(f)
	t := c.hub.turns.get(f.MessageID)
	if t != nil && !c.serves(t.Agent) {
		return errNotServed(f.MessageID)
	}
	if t != nil {
		streamed := t.Finish()
		switch {
		case m.Body == "" && m.Type == beeos.AgentReply:
			m.Body = streamed
		case m.Type == beeos.AgentReplyError && len(m.Payload) == 0 && streamed != "":
			m.Payload, _ = json.Marshal(map[string]string{"partial": cutPartial(streamed)}) // a string
		}
	}
	steps, kept := codec.ReadSteps(f.Steps)
	usage := codec.ReadUsage(f.Usage, steps)
	size := storeCost + len(m.Body) + len(m.Parts) + len(m.Payload) + len(kept)
	if t == nil { // it is looked up, which is for those who reconnect
		size += 7 * storeCost
		c.budget.spend(lookUpCost)
	}
	to.Pending.Add(1)
	c.work(size, func() {
		defer to.Pending.Done()
		to.Send(c.storeReply(t, m, kept, usage))
	})
	return nil
}

// cutPartial bounds what is kept of an answer that its agent did not finish.
func cutPartial(text string) string {
	if len(text) > turn.MaxExtra {
		text = strings.ToValidUTF8(text[:turn.MaxExtra], "")
	}
	return text
}

// replyMessage is the message that a terminal frame stands for. It has its id
// already: making one takes more stack than a goroutine begins with.
func replyMessage(f *beeos.Frame) *beeos.Message {
	m := &beeos.Message{
		ID: beeos.NewID(), InReplyTo: f.MessageID, Body: f.Body, StopReason: f.StopReason,
		Parts: bytes.Clone(f.Parts), Payload: bytes.Clone(f.Payload),
	}
	stop := beeos.StopEndTurn
	switch {
	case f.Type == beeos.FrameRefuse:
		m.Type, m.State, stop = beeos.AgentRefuse, beeos.StateRefused, beeos.StopRefused
	case f.Type == beeos.FrameBusy:
		m.Type, m.State, stop = beeos.AgentBusy, beeos.StateRefused, beeos.StopRefused
	case f.Type == beeos.FrameError || f.IsError:
		m.Type, m.State, stop = beeos.AgentReplyError, beeos.StateFailed, beeos.StopError
		if f.StopReason == beeos.StopUser {
			m.State = beeos.StateCancelled
		}
		if m.Body == "" && f.Error != nil {
			m.Body = f.Error.Message
		}
	default:
		m.Type, m.State = beeos.AgentReply, beeos.StateCompleted
	}
	if m.StopReason == "" {
		m.StopReason = stop
	}
	return m
}

// storeReply stores m and returns the acknowledgement. t is nil when this node
// does not hold the turn: the agent has reconnected and brings a reply whose
// acknowledgement it never got.
func (c *Connection) storeReply(t *heldTurn, m *beeos.Message, steps []byte, usage []beeos.Usage) []byte {
	ctx := context.Background() // the reply is to be kept whatever becomes of the connection
	var stored beeos.Message
	agent, err := c.locateTurn(ctx, t, m)
	if err == nil {
		m.Publisher = "agent:" + agent
		stored, err = c.hub.Ledger.FinishAttempt(ctx, *m, c.attemptAt(t, steps, usage))
	}
	code := beeos.CodeOf(err)
	if err == nil || code == beeos.MessageTerminal {
		switch {
		case t == nil:
		case t.conn == c, c.transport == nil: // a visitor is the same process on another path
			t.conn.drop(t)
		default: // another process of this agent was faster than the one that holds it
			c.hub.dropEnded(t)
		}
		if err == nil {
			return codec.Ack(m.InReplyTo, stored.Offset)
		}
	} else if t != nil && t.Unfinish() {
		c.hub.releaseTurns([]*heldTurn{t})
	}
	return codec.Refusal(&beeos.Frame{Type: beeos.FrameReply, MessageID: m.InReplyTo}, retryable(err))
}

// attemptAt is the attempt that brings the reply to a turn; of one that is not
// held here nothing is known but who brings it.
func (c *Connection) attemptAt(t *heldTurn, steps []byte, usage []beeos.Usage) *ledger.Attempt {
	a := ledger.Attempt{}
	if t != nil {
		a = t.Attempt()
	}
	a.Node, a.Instance, a.Steps, a.Usage = c.hub.Bus.NodeName(), c.Instance, steps, c.hub.Prices.Charge(usage)
	return &a
}

// locateTurn fills in m's channel and returns whose turn it is.
func (c *Connection) locateTurn(ctx context.Context, t *heldTurn, m *beeos.Message) (agent string, err error) {
	if t != nil {
		m.Channel = t.Channel
		return t.Agent, nil
	}
	d, err := c.hub.Ledger.OpenDelivery(ctx, m.InReplyTo)
	switch {
	case beeos.CodeOf(err) == beeos.NotFound:
		return "", beeos.Errorf(beeos.MessageTerminal, "this message already has its final reply")
	case err != nil:
		return "", err
	case !c.serves(d.AgentID):
		return "", errNotServed(m.InReplyTo)
	}
	m.Channel = d.Channel
	return d.AgentID, nil
}

// hasEnded reports whether a turn that is handed out again has ended meanwhile:
// an agent that reconnects may bring its reply while its work is on the way to
// somebody else.
func (h *Hub) hasEnded(turnID string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), lookWithin)
	defer cancel()
	_, err := h.Ledger.OpenDelivery(ctx, turnID)
	return beeos.CodeOf(err) == beeos.NotFound
}

func errNotServed(turnID string) error {
	return beeos.Errorf(beeos.NotFound, "there is no message %q for the agents of this connection", turnID)
}

// retryable turns a fault that may pass into the code that tells an agent to
// try again; what is the agent's own doing stays as it is.
func retryable(err error) error {
	if beeos.CodeOf(err) != beeos.InternalError {
		return err
	}
	return beeos.Wrap(beeos.AgentServiceUnavailable, err, "the reply could not be stored now; send it again")
}
