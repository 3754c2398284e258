package agentgateway

import (
	"bytes"
	"context"
	"strings"
	"sync"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
)

const (
	maxFrame   = 1<<20 + 32<<10 // one frame: a megabyte of content and what is around it
	maxInbound = 4 << 20        // all frames of one message or POST
)

// answers is where acknowledgements and complaints go: back over a socket, or
// into the response to a POST, which waits until all are there.
type answers struct {
	send func(frame []byte)
	open sync.WaitGroup // replies that are being stored
}

// receive acts on the frames that an agent sent, one per line. A frame that
// cannot be used is answered with the reason; the others are not affected.
// data may be reused afterwards.
func (c *connection) receive(data []byte, to *answers) {
	for line := range bytes.Lines(data) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		f, err := decode(line)
		if err == nil && len(line) > maxFrame {
			err = beeos.Errorf(beeos.PayloadTooLarge, "the frame has %d bytes, the limit is %d; send large things as files", len(line), maxFrame)
		}
		if err == nil {
			err = c.act(&f, to)
		}
		if err != nil {
			to.send(refusal(&f, err))
		}
	}
}

// act does what one frame asks for. What names a turn that is not ours any
// more is not an error: it was overtaken on its way.
func (c *connection) act(f *beeos.Frame, to *answers) error {
	switch f.Type {
	case beeos.FrameReply, beeos.FrameError, beeos.FrameRefuse, beeos.FrameBusy:
		return c.finish(f, to)
	case beeos.FrameWorking:
		return c.working(f)
	case beeos.FrameHeartbeat:
		return nil
	case beeos.FrameDrain:
		c.drain()
		return nil
	case beeos.FrameResourceUpdated:
		return c.resourceUpdated(f)
	}
	if f.MessageID == "" {
		return beeos.Errorf(beeos.MissingParam, "a frame of type %q needs the message_id of its turn", f.Type)
	}
	t := c.turn(f.MessageID)
	if t == nil {
		return nil
	}
	if t.begun() {
		c.g.workers.Go(func() { c.g.noteStart(t) })
	}
	switch f.Type {
	case beeos.FrameDelta:
		c.delta(t, f)
	case beeos.FrameProgress:
		t.tell(c.g, beeos.Event{Kind: beeos.EventProgress, Progress: f.Progress, Total: f.Total, Text: f.Text})
	case beeos.FrameLog:
		t.tell(c.g, beeos.Event{Kind: beeos.EventLog, Level: f.Level, Logger: f.Logger, Data: bytes.Clone(f.Data)})
	case beeos.FrameBackground:
		t.tell(c.g, beeos.Event{Kind: beeos.EventBackground})
	case beeos.FrameRequest:
		return c.ask(t, f)
	case beeos.FrameApprove:
		return c.approve(t, f)
	case beeos.FrameInputRequired, beeos.FrameAuthRequired:
		c.pause(t, f, to)
	default:
		return beeos.Errorf(beeos.InvalidParam, "there is no frame type %q", f.Type)
	}
	return nil
}

func (c *connection) delta(t *turn, f *beeos.Frame) {
	if f.Reason == "replay" {
		t.replayed(f.Text)
		return
	}
	if f.Reasoning != "" {
		t.delta(c.g, f.Reasoning, true)
	}
	if f.Text != "" {
		t.delta(c.g, f.Text, false)
	}
	if len(f.Part) > 0 {
		t.part(c.g, bytes.Clone(f.Part))
	}
}

// ask passes an agent's question on to whoever watches the turn.
func (c *connection) ask(t *turn, f *beeos.Frame) error {
	if f.RequestID == "" || f.Method == "" {
		return beeos.Errorf(beeos.MissingParam, "a request needs request_id and method")
	}
	if strings.HasPrefix(f.Key, approvalKey) { // its answer could be taken for a decision
		return beeos.Errorf(beeos.InvalidParam, "a key may not begin with %q", approvalKey)
	}
	if f.Method == beeos.MethodCallAgent {
		c.call(t, f)
		return nil
	}
	return c.put(t, ask{conn: c, request: f.RequestID}, beeos.Event{
		AskID: "ask_" + beeos.NewID(), Key: f.Key, Total: f.Total, Method: f.Method, Data: bytes.Clone(f.Params),
	})
}

func (c *connection) resourceUpdated(f *beeos.Frame) error {
	id := f.AgentID
	if agents := c.agentsNow(); id == "" && len(agents) == 1 {
		id = keys(agents)[0]
	}
	if f.URI == "" || !c.serves(id) {
		return beeos.Errorf(beeos.InvalidParam, "resource_updated needs the uri and the agent_id of an agent that this connection serves")
	}
	c.g.Bus.Control(bus.Control{Kind: bus.ResourceUpdated, AgentID: id, ID: f.URI})
	return nil
}

// noteStart tells the ledger that the agent has begun: its work must not be
// given to another instance.
func (g *Gateway) noteStart(t *turn) {
	if err := g.Ledger.Started(context.Background(), t.id); err != nil {
		g.Log.Error("the start of a turn was not noted", "turn", t.id, "err", err)
	}
	t.noted(true)
}
