package rest_test

import (
	"strings"
	"testing"

	"github.com/beeos/beeos"
)

// TestStreamsTellOfApprovals: that somebody is asked, once, and what came of it.
func TestStreamsTellOfApprovals(t *testing.T) {
	s := start(t)
	s.play(func(f beeos.Frame) *beeos.Message {
		for i, method := range []string{beeos.ApprovalRequested, beeos.ApprovalRequested, beeos.ApprovalDecided} {
			s.bus.Publish(beeos.Event{
				Kind: beeos.EventProgress, Channel: f.ChannelID, Turn: f.MessageID, Attempt: f.Attempt, Seq: int64(i + 1),
				Text: "a tool", Method: method, Data: []byte(`{"id":"a1","tool":"rm","status":"pending"}`),
			})
		}
		return &beeos.Message{Type: beeos.AgentReply, State: beeos.StateCompleted, Body: "done"}
	})
	got := frames(t, s.send("POST", s.invokePath(), s.key, `{"message":"x"}`, "Accept", "text/event-stream"))
	if len(got) != 3 || !strings.Contains(got[0], `"type":"approval.requested"`) || !strings.Contains(got[0], `"timeout_suspended":true`) ||
		!strings.Contains(got[0], `"approval":{"id":"a1"`) || !strings.Contains(got[1], `"type":"approval.decided"`) || !strings.Contains(got[1], `"timeout_suspended":false`) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
}

// TestEventsOfATaskTellOfApprovals as messages that are not stored.
func TestEventsOfATaskTellOfApprovals(t *testing.T) {
	s := start(t)
	turns := s.silent()
	made := ok[taskJSON](s, "POST", s.tasksPath(), `{"message":"x"}`)
	f := <-turns
	events := newReader(t, s.send("GET", s.tasksPath()+"/"+made.ID+"/events", s.key, ""))
	events.next() // the request: from here on it listens
	s.bus.Publish(beeos.Event{
		Kind: beeos.EventProgress, Channel: f.ChannelID, Turn: f.MessageID, Attempt: f.Attempt, Seq: 1,
		Text: "waiting", Method: beeos.ApprovalRequested, Data: []byte(`{"id":"a1","tool":"rm","status":"pending"}`),
	})
	if m := events.next(); m.Type != "approval.requested" || m.Body != "waiting" {
		t.Errorf("%+v", m)
	}
	s.reply(f, beeos.Message{Type: beeos.AgentReply, State: beeos.StateCompleted, Body: "done"})
	if m := events.next(); m.Type != "agent_reply" {
		t.Errorf("%+v", m)
	}
	if ms, err := s.ledger.Messages(t.Context(), f.ChannelID, 0, 10); err != nil || len(ms) != 2 {
		t.Errorf("stored: %v, %v", ms, err)
	}
}

// TestTimeoutIsKeptWhileAPersonDecides, for a caller that waits for one answer.
func TestTimeoutIsKeptWhileAPersonDecides(t *testing.T) {
	s := start(t)
	asked := make(chan string, 1)
	s.play(func(f beeos.Frame) *beeos.Message { asked <- s.asks(f.MessageID); return nil })
	a := s.do("POST", s.invokePath(), s.key, `{"message":"x","timeout_ms":2000}`)
	if a.status != 504 || !strings.Contains(a.text, "approved") {
		t.Errorf("approval %s: %d %s", <-asked, a.status, a.raw)
	}
}
