package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// send posts a message to a replica as the client of a session.
func (s *stack) send(ctx context.Context, t *testing.T, at, agent, key, session, body string) *http.Response {
	t.Helper()
	resp, err := http.DefaultClient.Do(s.request(ctx, t, at, agent, key, session, body))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func (s *stack) request(ctx context.Context, t *testing.T, at, agent, key, session, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, at+"/"+s.agents[agent]+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+s.keys[key])
	if session != "" {
		r.Header.Set(wire.HeaderSession, session)
	}
	return r
}

func (s *stack) handshake(t *testing.T, agent, key, capabilities string) (session string) {
	t.Helper()
	resp := s.send(t.Context(), t, s.server.URL, agent, key, "",
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":`+capabilities+`}}`)
	session = resp.Header.Get(wire.HeaderSession)
	if resp.StatusCode != http.StatusOK || session == "" {
		t.Fatal("initialize:", resp.Status)
	}
	return session
}

// nextEvent reads the next message of a stream.
func nextEvent(t *testing.T, from *bufio.Scanner) []byte {
	t.Helper()
	for from.Scan() {
		if data, ok := strings.CutPrefix(from.Text(), "data: "); ok && data != "" {
			return []byte(data)
		}
	}
	t.Fatal("the stream ended: ", from.Err())
	return nil
}

// TestAskAcrossReplicas: the question goes out on one replica's stream, the
// answer comes in at the other.
func TestAskAcrossReplicas(t *testing.T) {
	s := newStack(t)
	session := s.handshake(t, "clerk", "user", `{"elicitation":{"form":{}},"sampling":{},"roots":{}}`)
	tests := []struct{ method, answer, want string }{
		{"elicitation/create", `"result":{"action":"decline"}`, `{"result":{"action":"decline"}}`},
		{"sampling/createMessage", `"result":{"role":"assistant"}`, `{"result":{"role":"assistant"}}`},
		{"roots/list", `"error":{"code":-1,"message":"User rejected"}`, `{"error":{"code":"-1","message":"User rejected"}}`},
	}
	for _, tt := range tests {
		resp := s.send(t.Context(), t, s.server.URL, "clerk", "user", session,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{"method":"`+tt.method+`","params":{"message":"?"}}}}`)
		events := bufio.NewScanner(resp.Body)
		ask := nextEvent(t, events)
		if m, _ := strictjson.StringField(ask, "method"); m != tt.method {
			t.Fatalf("asked %s", ask)
		}
		answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, strictjson.Field(ask, "id"), tt.answer)
		if got := s.send(t.Context(), t, s.other.URL, "talker", "user", "", answer); got.StatusCode != http.StatusBadRequest {
			t.Errorf("answer at another agent: %s", got.Status)
		}
		if got := s.send(t.Context(), t, s.other.URL, "clerk", "clerk", "", answer); got.StatusCode != http.StatusBadRequest {
			t.Errorf("answer of somebody else: %s", got.Status)
		}
		if got := s.send(t.Context(), t, s.other.URL, "clerk", "user", session, answer); got.StatusCode != http.StatusAccepted {
			t.Errorf("answer: %s", got.Status)
		}
		result, _ := json.Marshal(tt.want)
		if got := string(nextEvent(t, events)); !strings.Contains(got, string(result)) {
			t.Errorf("%s: the agent got %s", tt.method, got)
		}
	}
	// What the client did not declare is not asked.
	resp := s.send(t.Context(), t, s.server.URL, "clerk", "user", session,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{"method":"elicitation/create","params":{"mode":"url"}}}}`)
	if body, _ := io.ReadAll(resp.Body); !strings.Contains(string(body), "cannot_ask") {
		t.Errorf("asked for a URL: %s", body)
	}
}

func TestCancelAcrossReplicas(t *testing.T) {
	s := newStack(t)
	session := s.handshake(t, "clerk", "user", `{}`)
	foreign := s.handshake(t, "clerk", "user", `{}`)
	for _, context := range []string{"", `"context_id":"c1"`} {
		next := s.nextFrame()
		resp := s.send(t.Context(), t, s.server.URL, "clerk", "user", session,
			`{"jsonrpc":"2.0","id":"r1","method":"tools/call","params":{"name":"hang","arguments":{`+context+`},"_meta":{"progressToken":1}}}`)
		events := bufio.NewScanner(resp.Body)
		nextEvent(t, events)
		turn := (<-next).MessageID
		cancel := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"r1","reason":"changed my mind"}}`
		s.send(t.Context(), t, s.other.URL, "clerk", "user", foreign, cancel)
		s.send(t.Context(), t, s.other.URL, "clerk", "user", "", cancel)
		if m, err := s.ledger.Terminal(t.Context(), turn); m != nil || err != nil {
			t.Error("another session cancelled it", err)
		}
		if got := s.send(t.Context(), t, s.other.URL, "clerk", "user", session, cancel); got.StatusCode != http.StatusAccepted {
			t.Error(got.Status)
		}
		if got := string(nextEvent(t, events)); !strings.Contains(got, `"id":"r1","error":{"code":409`) {
			t.Errorf("the cancelled request ended with %s", got)
		}
		s.waitTerminal(t, turn, "changed my mind")
	}
}

// TestClientGoesAway: without a session the agent is told, because nobody can
// ever get the result. With an idempotency key somebody can. In a session the
// call goes on, and can still be cancelled.
func TestClientGoesAway(t *testing.T) {
	s := newStack(t)
	session := s.handshake(t, "clerk", "user", `{}`)
	tests := []struct {
		name, session, arguments string
		check                    func(t *testing.T, turn string)
	}{
		{"bare", "", ``, func(t *testing.T, turn string) { s.waitTerminal(t, turn, "went away") }},
		{"context", "", `"context_id":"c"`, func(t *testing.T, turn string) { s.waitTerminal(t, turn, "went away") }},
		{"idempotency key", "", `"idempotency_key":"k"`, s.goesOn},
		{"session", session, ``, func(t *testing.T, turn string) {
			s.goesOn(t, turn)
			s.send(t.Context(), t, s.other.URL, "clerk", "user", session, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
			s.waitTerminal(t, turn, "cancelled by the client")
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(s.server.Config.Handler)
			ctx, leave := context.WithCancel(t.Context())
			next := s.nextFrame()
			resp := s.send(ctx, t, server.URL, "clerk", "user", tt.session,
				`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hang","arguments":{`+tt.arguments+`},"_meta":{"progressToken":1}}}`)
			nextEvent(t, bufio.NewScanner(resp.Body))
			turn := (<-next).MessageID
			leave()
			if tt.session == "" {
				server.Close() // waits for the handler
			} else {
				defer server.Close()
			}
			tt.check(t, turn)
		})
	}
}

// goesOn checks that a turn has no end yet.
func (s *stack) goesOn(t *testing.T, turn string) {
	t.Helper()
	if m, err := s.ledger.Terminal(t.Context(), turn); m != nil || err != nil {
		t.Error("the agent was told to stop", err)
	}
}

// TestSessionsShareAChannel, and no one else's.
func TestSessionsShareAChannel(t *testing.T) {
	s := newStack(t)
	one, two := s.handshake(t, "clerk", "user", `{}`), s.handshake(t, "clerk", "user", `{}`)
	channel := func(session, arguments string) string {
		t.Helper()
		next := s.nextFrame()
		resp := s.send(t.Context(), t, s.other.URL, "clerk", "user", session, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"what","arguments":{`+arguments+`}}}`)
		if resp.StatusCode != http.StatusOK {
			t.Fatal(resp.Status)
		}
		return (<-next).ChannelID
	}
	first := channel(one, "")
	if channel(one, `"a":1`) != first {
		t.Error("two calls of one session are in two channels")
	}
	fresh := channel("", "")
	if channel(two, "") == first || fresh == first || channel("", "") == fresh {
		t.Error("calls of different sessions share a channel")
	}
	if channel(one, `"context_id":"c"`) != channel("", `"context_id":"c"`) || channel(one, `"context_id":"c"`) == first {
		t.Error("context_id does not name the channel")
	}
}

// TestForeignSessionsAreUnknown: a session is worth nothing to anybody else.
func TestForeignSessionsAreUnknown(t *testing.T) {
	s := newStack(t)
	public := beeos.VisiblePublic
	for _, name := range []string{"clerk", "talker"} {
		if _, err := s.db.Agents.Update(t.Context(), s.agents[name], agents.Patch{Visibility: &public}); err != nil {
			t.Fatal(err)
		}
		s.bus.Control(bus.Control{Kind: bus.AgentChanged, AgentID: s.agents[name]})
	}
	session := s.handshake(t, "clerk", "user", `{}`)
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	tests := []struct {
		agent, key string
		want       int
	}{
		{"clerk", "user", http.StatusOK},
		{"clerk", "stranger", http.StatusNotFound},
		{"clerk", "clerk", http.StatusNotFound},
		{"talker", "user", http.StatusNotFound},
		{"clerk", "user", http.StatusOK},
	}
	for _, tt := range tests {
		if got := s.send(t.Context(), t, s.server.URL, tt.agent, tt.key, session, ping); got.StatusCode != tt.want {
			t.Errorf("%s at %s: %s, want %d", tt.key, tt.agent, got.Status, tt.want)
		}
	}
}
