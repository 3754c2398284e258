package agentgateway

import (
	"encoding/json"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
)

// TestHealth: who asks over the bus learns which processes of an agent are
// connected, how often they did, and what they logged; the log outlives them.
func TestHealth(t *testing.T) {
	s := newStack(t)
	p := s.join()
	id := p.sync(beeos.Definition{Name: "echo"})["echo"]
	if known := s.bus.Health(s.ctx, id); len(known) > 0 {
		t.Errorf("before it connects: %+v", known)
	}
	agent := p.websocket("")
	expect(t, agent, beeos.FrameHello)
	wait := s.ask(id, "hi")
	m := expect(t, agent, beeos.FrameMessage)
	now := func() bus.Health {
		t.Helper()
		found := s.bus.Health(s.ctx, id)
		if len(found) != 1 {
			t.Fatalf("%+v", found)
		}
		return found[0]
	}
	if h := now(); h.Opened != 1 || len(h.Connections) != 1 || h.Connections[0].Working != 1 || h.Connections[0].Address != "127.0.0.1" || h.Connections[0].Since.IsZero() {
		t.Errorf("%+v", h)
	}
	agent.send(
		beeos.Frame{Type: beeos.FrameLog, MessageID: m.MessageID, Level: "warning", Logger: "db", Data: json.RawMessage(`"slow"`)},
		beeos.Frame{Type: beeos.FrameLog, MessageID: m.MessageID, Level: "info", Data: json.RawMessage(`{"n": 1}`), Reason: beeos.LogForOwner},
		beeos.Frame{Type: beeos.FrameLog, MessageID: "of another turn", Data: json.RawMessage(`"nobody's"`)},
		beeos.Frame{Type: beeos.FrameReply, MessageID: m.MessageID, Body: "done"},
	)
	wait()
	agent.kill()
	s.eventually("it is gone", func() bool { return len(now().Connections) == 0 })
	h := now()
	if len(h.Lines) != 2 || h.Lines[0].Text != "slow" || h.Lines[0].Level != "warning" || h.Lines[0].Logger != "db" || h.Lines[0].Turn != m.MessageID || h.Lines[1].Text != `{"n":1}` {
		t.Errorf("%+v", h.Lines)
	}
	expect(t, p.websocket(""), beeos.FrameHello)
	s.eventually("it has come back", func() bool { return now().Opened == 2 && len(now().Connections) == 1 })
}
