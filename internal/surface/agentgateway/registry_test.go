package agentgateway

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
)

// TestExactlyOnce kills one of two connections again and again while calls
// run: every call gets exactly one answer.
func TestExactlyOnce(t *testing.T) {
	s := newStack(t)
	p := s.join()
	id := p.sync(beeos.Definition{Name: "echo"})["echo"]
	work := func(agent *wsPeer) {
		for f := range agent.frames {
			if f.Type == beeos.FrameMessage {
				out := lines([]beeos.Frame{{Type: beeos.FrameReply, MessageID: f.MessageID, Body: f.Body}})
				_ = agent.ws.Write(context.Background(), websocket.MessageText, out) // killed meanwhile: then another answers
			}
		}
	}
	var workers sync.WaitGroup
	steady := p.websocket("")
	workers.Go(func() { work(steady) })
	var waits []func() call
	ask := func(calls int) {
		for range calls {
			waits = append(waits, s.ask(id, fmt.Sprint("call ", len(waits))))
		}
	}
	for range beeos.MaxAttempts - 1 { // so that no message can meet more deaths than it is allowed
		lazy := p.websocket("") // takes messages and dies over them
		s.eventually("it is connected", func() bool { return s.gateway.Connections() == 2 })
		ask(40)
		lazy.kill()
		ask(40)
		s.eventually("it is gone", func() bool { return s.gateway.Connections() == 1 })
	}
	for i, wait := range waits {
		if got := wait(); got.err != nil || got.reply.Body != fmt.Sprint("call ", i) {
			t.Fatalf("call %d: %v %+v", i, got.err, got.reply)
		}
	}
	steady.kill()
	workers.Wait()
	replies, requests, n := 0, 0, len(waits)
	s.must(s.db.QueryRowContext(s.ctx, "SELECT count(*) FROM messages WHERE terminal").Scan(&replies))
	s.must(s.db.QueryRowContext(s.ctx, "SELECT count(*) FROM messages WHERE type = 'chat_message'").Scan(&requests))
	if replies != n || requests != n {
		t.Errorf("%d replies to %d requests, want %d", replies, requests, n)
	}
}

// TestResend: a reply whose acknowledgement got lost is brought again, over a
// connection that never had the message.
func TestResend(t *testing.T) {
	s, p, agent, m, wait := begin(t, beeos.Definition{Name: "echo", Redelivery: beeos.RedeliverNever})
	// No instance takes it meanwhile: this one is the only one.
	path := "/api/v1/agents/frames"
	post := func(p *process, body string) string {
		h := &httpPeer{inbox: newInbox(t), p: p}
		status, answer := h.post([]byte(body))
		if status != http.StatusOK {
			t.Fatalf("%s: %d %s", path, status, answer)
		}
		return string(answer)
	}
	reply := string(lines([]beeos.Frame{{Type: beeos.FrameReply, MessageID: m.MessageID, Body: "done"}}))

	stranger := s.join()
	stranger.sync(beeos.Definition{Name: "other"})
	if got := post(stranger, reply); !strings.Contains(got, `"not_found"`) {
		t.Errorf("a stranger answered: %s", got)
	}
	agent.kill()
	s.eventually("nobody here holds it", func() bool { return len(s.gateway.hub.Leases()) == 0 })
	if got := post(stranger, reply); !strings.Contains(got, `"not_found"`) {
		t.Errorf("a stranger answered: %s", got)
	}
	if got := post(p, reply); !strings.Contains(got, `"ack"`) || strings.Contains(got, "error") {
		t.Errorf("first: %s", got)
	}
	if got := wait(); got.err != nil || got.reply.Body != "done" {
		t.Errorf("got %+v", got)
	}
	if got := post(p, reply); !strings.Contains(got, `"message_terminal"`) {
		t.Errorf("again: %s", got)
	}
	// It was on its way to somebody else meanwhile: it need not go there.
	expect(t, p.websocket(""), beeos.FrameHello)
	s.must(s.bus.Deliver(s.ctx, bus.Dispatch{AgentID: m.AgentID, MessageID: m.MessageID, Channel: m.ChannelID, Attempt: 2, Frame: []byte(`{}`)}))
	if len(s.gateway.hub.Leases()) != 0 {
		t.Error("a turn that had ended was begun again")
	}
	if got := post(p, `{"type":"reply","message_id":"\"} {"}`); !strings.Contains(got, `"message_terminal"`) {
		t.Errorf("no such message: %s", got)
	}
}

// TestLeases: a node that keeps its leases keeps its turns, and a turn that
// comes again to the node that works on it is not begun twice.
func TestLeases(t *testing.T) {
	s, _, agent, m, wait := begin(t, beeos.Definition{Name: "echo"})
	before, err := s.ledger.OpenDelivery(s.ctx, m.MessageID)
	s.must(err)
	s.gateway.hub.ExtendLeases(s.ctx)
	after, err := s.ledger.OpenDelivery(s.ctx, m.MessageID)
	s.must(err)
	if !after.LeaseUntil.After(before.LeaseUntil) {
		t.Errorf("lease until %s, was %s", after.LeaseUntil, before.LeaseUntil)
	}
	s.must(s.bus.Deliver(s.ctx, bus.Dispatch{AgentID: after.AgentID, MessageID: m.MessageID, Channel: m.ChannelID, Attempt: 2, Frame: []byte(`{}`)}))
	if held := s.gateway.hub.Leases(); len(held) != 1 || held[0].Attempt != 2 {
		t.Errorf("held %+v, want attempt 2", held)
	}
	agent.send(beeos.Frame{Type: beeos.FrameReply, MessageID: m.MessageID, Body: "once"})
	if ack := expect(t, agent, beeos.FrameAck); ack.Error != nil { // and no second message before it
		t.Errorf("ack: %s", show(ack))
	}
	if got := wait(); got.err != nil || got.reply.Body != "once" {
		t.Errorf("got %+v", got)
	}
}

// TestDatabaseDown: a reply that cannot be stored now is not lost: the agent
// is told to bring it again.
func TestDatabaseDown(t *testing.T) {
	s, _, agent, m, wait := begin(t, beeos.Definition{Name: "echo"})
	send := func() beeos.Frame {
		agent.send(beeos.Frame{Type: beeos.FrameReply, MessageID: m.MessageID, Body: "done"})
		return expect(t, agent, beeos.FrameAck)
	}
	_, err := s.db.ExecContext(s.ctx, "ALTER TABLE messages RENAME TO away")
	s.must(err)
	for range 2 {
		if ack := send(); ack.Error == nil || ack.Error.Code != string(beeos.AgentServiceUnavailable) || ack.MessageID != m.MessageID {
			t.Errorf("ack: %s", show(ack))
		}
	}
	_, err = s.db.ExecContext(s.ctx, "ALTER TABLE away RENAME TO messages")
	s.must(err)
	if ack := send(); ack.Error != nil {
		t.Errorf("ack: %s", show(ack))
	}
	if got := wait(); got.err != nil || got.reply.Body != "done" {
		t.Errorf("got %+v", got)
	}
}

func TestDrain(t *testing.T) {
	s, p, agent, m, wait := begin(t, beeos.Definition{Name: "echo"})
	agent.send(beeos.Frame{Type: beeos.FrameDrain})
	id := m.AgentID
	s.eventually("nobody serves the agent", func() bool { return !s.bus.Present(s.ctx, id) })
	if got := s.ask(id, "more")(); beeos.CodeOf(got.err) != beeos.AgentOffline {
		t.Errorf("got %+v", got)
	}
	second := p.websocket("")
	expect(t, second, beeos.FrameHello)
	agent.send(beeos.Frame{Type: beeos.FrameReply, MessageID: m.MessageID, Body: "my last"})
	if got := wait(); got.err != nil || got.reply.Body != "my last" {
		t.Errorf("got %+v", got)
	}
}

// TestChanges: what a connection serves follows what its instance declares.
func TestChanges(t *testing.T) {
	s := newStack(t)
	p := s.join()
	ids := p.sync(beeos.Definition{Name: "a"}, beeos.Definition{Name: "b"})
	all := p.websocket("")
	onlyA := p.websocket("?agents=a")
	if diff := cmp.Diff(ids, expect(t, all, beeos.FrameHello).Agents); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"a": ids["a"]}, expect(t, onlyA, beeos.FrameHello).Agents); diff != "" {
		t.Error(diff)
	}
	later := p.sync(beeos.Definition{Name: "a"}, beeos.Definition{Name: "c"})
	s.eventually("b is gone, c is there", func() bool {
		return s.bus.Present(s.ctx, ids["a"]) && !s.bus.Present(s.ctx, ids["b"]) && s.bus.Present(s.ctx, later["c"])
	})
	s.ask(later["c"], "hi")
	for f := expect(t, all, beeos.FrameHello); f.Agents["c"] == "" || f.Agents["b"] != ""; {
		f = expect(t, all, beeos.FrameHello)
	}
	expect(t, all, beeos.FrameMessage)

	path := "/api/v1/agents/poll?agents=a,nobody"
	if status := s.status("GET", path, nil, p.sign("GET", path, nil)); status != http.StatusNotFound {
		t.Errorf("an agent that was not declared: %d", status)
	}

	p.sync(beeos.Definition{Name: "a"}, beeos.Definition{Name: "b"}, beeos.Definition{Name: "b,a"})
	for query, want := range map[string]int{"?agents=a,b": 2, "?agents=a&agents=b": 2, "?agents=b,a": 1, "": 3} {
		if hello := expect(t, p.websocket(query), beeos.FrameHello); len(hello.Agents) != want {
			t.Errorf("%s: %v", query, hello.Agents)
		}
	}

	s.must(s.db.Instances.Revoke(s.ctx, s.owner.ID, p.inst))
	s.bus.Control(bus.Control{Kind: bus.KeyRevoked, ID: p.inst})
	s.eventually("the revoked are gone", func() bool { return s.gateway.Connections() == 0 && !s.bus.Present(s.ctx, ids["a"]) })
}
