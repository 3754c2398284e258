package agentgateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/beeos/beeos"
)

// lookWithin bounds a look into the ledger that a dispatch waits for.
const lookWithin = time.Second

// finish stores the reply that ends a turn and acknowledges it once it is on
// disk. The reader of the socket does not wait for the disk: while one reply
// is being written others come in, and the ledger commits them together.
func (c *connection) finish(f *beeos.Frame, to *answers) error {
	if f.MessageID == "" {
		return beeos.Errorf(beeos.MissingParam, "a frame of type %q needs the message_id of its turn", f.Type)
	}
	m := reply(f)
	t := c.g.desk.turn(f.MessageID)
	if t != nil && !c.serves(t.agent) {
		return notYours(f.MessageID)
	}
	if t != nil {
		streamed := t.finish(c.g)
		switch {
		case m.Body == "" && m.Type == beeos.AgentReply:
			m.Body = streamed
		case m.Type == beeos.AgentReplyError && len(m.Payload) == 0 && streamed != "":
			m.Payload, _ = json.Marshal(map[string]string{"partial": cut(streamed)}) // a string
		}
	}
	to.open.Add(1)
	c.g.workers.Go(func() {
		defer to.open.Done()
		to.send(c.settle(t, m))
	})
	return nil
}

// cut bounds what is kept of an answer that its agent did not bring to an end.
func cut(text string) string {
	if len(text) > maxAside {
		text = strings.ToValidUTF8(text[:maxAside], "")
	}
	return text
}

// reply is the message that a terminal frame stands for.
func reply(f *beeos.Frame) beeos.Message {
	m := beeos.Message{
		InReplyTo: f.MessageID, Body: f.Body, StopReason: f.StopReason,
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

// settle stores m and returns the acknowledgement. t is nil when this node
// does not hold the turn: the agent has reconnected and brings a reply whose
// acknowledgement it never got.
func (c *connection) settle(t *turn, m beeos.Message) []byte {
	ctx := context.Background() // the reply is to be kept whatever becomes of the connection
	var stored beeos.Message
	agent, err := c.locate(ctx, t, &m)
	if err == nil {
		m.Publisher = "agent:" + agent
		stored, err = c.g.Ledger.Finish(ctx, m)
	}
	code := beeos.CodeOf(err)
	if err == nil || code == beeos.MessageTerminal {
		switch {
		case t == nil:
		case t.conn == c, c.wake == nil: // a visitor is the same process by another way
			t.conn.drop(t)
		default: // another process of the agent's was faster than the one that holds it
			c.g.overtaken(t)
		}
		if err == nil {
			return ackFrame(m.InReplyTo, stored.Offset)
		}
	} else if t != nil && t.unfinish() {
		c.g.release([]*turn{t})
	}
	return refusal(&beeos.Frame{Type: beeos.FrameReply, MessageID: m.InReplyTo}, unavailable(err))
}

// locate fills in m's channel and returns whose turn it is.
func (c *connection) locate(ctx context.Context, t *turn, m *beeos.Message) (agent string, err error) {
	if t != nil {
		m.Channel = t.channel
		return t.agent, nil
	}
	d, err := c.g.Ledger.Turn(ctx, m.InReplyTo)
	switch {
	case beeos.CodeOf(err) == beeos.NotFound:
		return "", beeos.Errorf(beeos.MessageTerminal, "this message already has its final reply")
	case err != nil:
		return "", err
	case !c.serves(d.AgentID):
		return "", notYours(m.InReplyTo)
	}
	m.Channel = d.Channel
	return d.AgentID, nil
}

// over reports whether a turn that is handed out again has ended meanwhile: an
// agent that reconnects may bring its reply while its work is on the way to
// somebody else.
func (g *Gateway) over(turn string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), lookWithin)
	defer cancel()
	_, err := g.Ledger.Turn(ctx, turn)
	return beeos.CodeOf(err) == beeos.NotFound
}

func notYours(turn string) error {
	return beeos.Errorf(beeos.NotFound, "there is no message %q for the agents of this connection", turn)
}

// unavailable turns a fault that may pass into the code that tells an agent to
// try again; what is the agent's own doing stays as it is.
func unavailable(err error) error {
	var e *beeos.Error
	if errors.As(err, &e) && e.Code != beeos.InternalError {
		return err
	}
	return beeos.Wrap(beeos.AgentServiceUnavailable, err, "the reply could not be stored now; send it again")
}
