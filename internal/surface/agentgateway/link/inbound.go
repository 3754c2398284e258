package link

import (
	"bytes"
	"sync"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/surface/agentgateway/codec"
	"github.com/beeos/beeos/internal/surface/agentgateway/question"
)

const (
	// MaxFrame bounds one frame: a megabyte of content and what is around it.
	MaxFrame = 1<<20 + 32<<10
	// MaxInbound bounds all frames of one WebSocket message or POST.
	MaxInbound = 4 << 20
)

// Responses is where acknowledgements and refusals go: back over a socket, or
// into the response to a POST, which waits until all are there.
type Responses struct {
	Send    func(frame []byte)
	Pending sync.WaitGroup // frames that are being stored
}

// Receive acts on the frames that an agent sent, one per line. A frame that
// cannot be used is answered with the reason; the others are not affected.
// data may be reused afterwards.
func (c *Connection) Receive(data []byte, to *Responses) {
	f := new(beeos.Frame) // one for all of them: nothing keeps it
	refused := 0
	for line := range bytes.Lines(data) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		c.budget.spend(readCost(len(line)))
		err := codec.Decode(line, f)
		if err == nil && len(line) > MaxFrame {
			err = beeos.Errorf(beeos.PayloadTooLarge, "the frame has %d bytes, the limit is %d; send large things as files", len(line), MaxFrame)
		}
		if err == nil {
			err = c.act(f, len(line), to)
		}
		if err == nil {
			continue
		}
		c.budget.spend(refuseCost)
		c.wasteFrame(len(line))
		if refused++; refused > maxRefusals {
			*f, err = beeos.Frame{}, beeos.Errorf(beeos.RateLimited, "more than %d of the frames that came together cannot be used; the rest was not read", maxRefusals)
		}
		if to.Send(codec.Refusal(f, err)); refused > maxRefusals {
			c.cutOff(err.Error())
			return
		}
	}
}

// act does what one frame asks for. What names a turn that is not ours any
// more is not an error: it was overtaken on its way.
func (c *Connection) act(f *beeos.Frame, size int, to *Responses) error {
	switch f.Type {
	case beeos.FrameHeartbeat:
		return nil
	case beeos.FrameDrain:
		c.drain()
		return nil
	case beeos.FrameResourceUpdated:
		return c.announceResource(f)
	}
	if f.MessageID == "" {
		return beeos.Errorf(beeos.MissingParam, "a frame of type %q needs the message_id of its turn", f.Type)
	}
	switch f.Type {
	case beeos.FrameReply, beeos.FrameError, beeos.FrameRefuse, beeos.FrameBusy:
		c.budget.useful()
		return c.finish(f, to)
	case beeos.FrameWorking:
		c.resume(f.MessageID)
		return nil
	}
	t := c.heldTurn(f.MessageID)
	if t == nil || !c.countStream(t, size, to) {
		c.wasteFrame(size)
		return nil
	}
	c.budget.useful()
	t.NoteSign()
	if t.noteStart != nil && !t.begun.Swap(true) {
		c.hub.Go(t.noteStart)
	}
	switch f.Type {
	case beeos.FrameDelta:
		c.budget.spend(streamCost(size))
		addDelta(t, f)
	case beeos.FrameProgress:
		t.Publish(beeos.Event{Kind: beeos.EventProgress, Progress: f.Progress, Total: f.Total, Text: f.Text})
	case beeos.FrameLog:
		c.hub.book.addLine(t.Agent, newLine(c.hub.Now(), f))
		if f.Reason == beeos.LogForOwner {
			return nil
		}
		t.Publish(beeos.Event{Kind: beeos.EventLog, Level: f.Level, Logger: f.Logger, Data: bytes.Clone(f.Data)})
	case beeos.FrameBackground:
		t.Publish(beeos.Event{Kind: beeos.EventBackground})
	case beeos.FrameRequest:
		c.budget.spend(lookUpCost)
		return c.hub.questions.Ask(&t.Turn, f, c.Replies.Send)
	case beeos.FrameApprove:
		c.budget.spend(lookUpCost)
		return c.hub.questions.Approve(&t.Turn, f, c.Replies.Send)
	case beeos.FrameInputRequired, beeos.FrameAuthRequired:
		c.pause(t, f, to)
	default:
		return beeos.Errorf(beeos.InvalidParam, "there is no frame type %q", f.Type)
	}
	return nil
}

// addDelta takes a piece of an answer.
func addDelta(t *heldTurn, f *beeos.Frame) {
	if f.Reason == "replay" {
		t.ReplaceText(f.Text)
		return
	}
	if f.Reasoning != "" {
		t.AddText(f.Reasoning, true)
	}
	if f.Text != "" {
		t.AddText(f.Text, false)
	}
	if len(f.Part) > 0 {
		t.AddPart(bytes.Clone(f.Part))
	}
}

// pause stores an agent's question to the person and puts it to the caller. The
// reader of the socket does not wait for the disk.
func (c *Connection) pause(t *heldTurn, f *beeos.Frame, to *Responses) {
	m := question.NewPause(&t.Turn, f)
	named := beeos.Frame{Type: f.Type, MessageID: f.MessageID, RequestID: f.RequestID}
	c.budget.spend(lookUpCost)
	to.Pending.Add(1)
	c.work(storeCost+len(m.Body)+len(m.Parts)+len(m.Payload), func() {
		defer to.Pending.Done()
		if err := c.hub.questions.Pause(&t.Turn, &m, c.Replies.Send); err != nil {
			to.Send(codec.Refusal(&named, retryable(err)))
		}
	})
}

// announceResource tells whoever watches a resource that it has changed.
func (c *Connection) announceResource(f *beeos.Frame) error {
	id := f.AgentID
	if agents := c.servedAgents(); id == "" && len(agents) == 1 {
		id = agents[0]
	}
	if f.URI == "" || !c.serves(id) {
		return beeos.Errorf(beeos.InvalidParam, "resource_updated needs the uri and the agent_id of an agent that this connection serves")
	}
	c.budget.spend(lookUpCost)
	c.hub.Bus.Control(bus.Control{Kind: bus.ResourceUpdated, AgentID: id, ID: f.URI})
	return nil
}
