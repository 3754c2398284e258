package mcp

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
)

// sessionStream opens the GET stream of a session.
func (s *stack) sessionStream(ctx context.Context, t *testing.T, at, session string) *http.Response {
	t.Helper()
	resp, err := http.DefaultClient.Do(s.streamRequest(ctx, t, at, session))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func (s *stack) streamRequest(ctx context.Context, t *testing.T, at, session string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at+"/"+s.agents["clerk"]+"/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Authorization", "Bearer "+s.keys["user"])
	r.Header.Set(wire.HeaderSession, session)
	return r
}

// sync declares the agents again after a change, as an agent gateway does.
func (s *stack) sync(t *testing.T, change func(*beeos.Definition)) {
	t.Helper()
	defs := definitions()
	change(&defs[0])
	if _, err := s.db.Agents.Sync(t.Context(), s.instance, defs); err != nil {
		t.Fatal(err)
	}
	s.bus.Control(bus.Control{Kind: bus.AgentChanged, AgentID: s.agents["clerk"]})
}

// TestSessionStream: a session hears at one replica what happened at the other.
func TestSessionStream(t *testing.T) {
	s := newStack(t)
	session := s.handshake(t, "clerk", "user", `{}`)
	resp := s.sessionStream(t.Context(), t, s.server.URL, session)
	events := bufio.NewScanner(resp.Body)
	post := func(body string) {
		t.Helper()
		if got := s.send(t.Context(), t, s.other.URL, "clerk", "user", session, body); got.StatusCode != http.StatusOK {
			t.Fatal(got.Status)
		}
	}
	post(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"note://live"}}`)
	s.bus.Control(bus.Control{Kind: bus.ResourceUpdated, AgentID: s.agents["clerk"], ID: "note://kind"}) // not asked for
	s.bus.Control(bus.Control{Kind: bus.ResourceUpdated, AgentID: s.agents["talker"], ID: "note://live"})
	s.bus.Control(bus.Control{Kind: bus.ResourceUpdated, AgentID: s.agents["clerk"], ID: "note://live"})
	if got := string(nextEvent(t, events)); got != `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"note://live"}}` {
		t.Error(got)
	}
	post(`{"jsonrpc":"2.0","id":2,"method":"resources/unsubscribe","params":{"uri":"note://live"}}`)
	s.bus.Control(bus.Control{Kind: bus.ResourceUpdated, AgentID: s.agents["clerk"], ID: "note://live"})
	start := time.Now()
	s.sync(t, func(d *beeos.Definition) { d.Skills = append(d.Skills, beeos.Skill{Name: "grown"}) })
	if got := string(nextEvent(t, events)); got != `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` {
		t.Error(got)
	}
	if took := time.Since(start); took >= 5*time.Second { // a change whose notice was lost shows after that
		t.Error("after ", took)
	}
	s.sync(t, func(d *beeos.Definition) { d.Prompts = append(d.Prompts, beeos.Prompt{Name: "grown"}) })
	seen := string(nextEvent(t, events)) + string(nextEvent(t, events)) // the tool is gone again, the prompt is new
	if !strings.Contains(seen, "tools/list_changed") || !strings.Contains(seen, "prompts/list_changed") {
		t.Error(seen)
	}
}

// TestStreamEndsWithItsCredential: once a key is revoked its stream passes
// nothing on.
func TestStreamEndsWithItsCredential(t *testing.T) {
	s := newStack(t)
	session := s.handshake(t, "clerk", "user", `{}`)
	s.send(t.Context(), t, s.server.URL, "clerk", "user", session, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"note://live"}}`)
	events := bufio.NewScanner(s.sessionStream(t.Context(), t, s.server.URL, session).Body)
	s.bus.Control(bus.Control{Kind: bus.ResourceUpdated, AgentID: s.agents["clerk"], ID: "note://live"})
	nextEvent(t, events)
	s.must(s.db.Keys.Revoke(t.Context(), s.owner.ID, "key_user"))
	s.gateway.opt.Auth.Forget("key_user")
	s.bus.Control(bus.Control{Kind: bus.ResourceUpdated, AgentID: s.agents["clerk"], ID: "note://live"})
	for events.Scan() {
		if strings.Contains(events.Text(), "note://live") {
			t.Fatalf("a revoked key hears %s", events.Text())
		}
	}
}

// TestDelete: an ended session is unknown at every replica, its stream ends,
// and a replica that missed the news reads it.
func TestDelete(t *testing.T) {
	s := newStack(t)
	session := s.handshake(t, "clerk", "user", `{}`)
	opened, err := s.gateway.sessions.OpenSession(s.agents["clerk"], "user:"+s.owner.ID, session)
	s.must(err)
	resp := s.sessionStream(t.Context(), t, s.other.URL, session)
	r, err := http.NewRequest(http.MethodDelete, s.server.URL+"/"+s.agents["clerk"]+"/mcp", nil)
	s.must(err)
	r.Header.Set("Authorization", "Bearer "+s.keys["user"])
	r.Header.Set(wire.HeaderSession, session)
	deleted, err := http.DefaultClient.Do(r)
	s.must(err)
	deleted.Body.Close()
	if deleted.StatusCode != http.StatusNoContent {
		t.Fatal(deleted.Status)
	}
	for bufio.NewScanner(resp.Body).Scan() {
		t.Error("the stream goes on")
	}
	for _, at := range []string{s.server.URL, s.other.URL} {
		if got := s.send(t.Context(), t, at, "clerk", "user", session, `{"jsonrpc":"2.0","id":1,"method":"ping"}`); got.StatusCode != http.StatusNotFound {
			t.Error(got.Status)
		}
		if got := s.sessionStream(t.Context(), t, at, session); got.StatusCode != http.StatusNotFound {
			t.Error(got.Status)
		}
	}
	opt := s.gateway.opt
	late, err := New(opt)
	s.must(err)
	if !late.sessions.HasEnded(opened.Channel) {
		t.Error("a replica that starts later does not know")
	}
	opt.Now = func() time.Time { return time.Now().Add(31 * 24 * time.Hour) }
	if late, err = New(opt); err != nil || late.sessions.HasEnded(opened.Channel) {
		t.Error("an ended session is remembered for ever", err)
	}
	other := s.handshake(t, "clerk", "user", `{}`)
	if _, err := late.sessions.OpenSession(s.agents["clerk"], "user:"+s.owner.ID, other); err == nil {
		t.Error("a session lives for ever")
	}
}

// TestListen: a stateless client hears what it asked for, tagged, and nothing
// else.
func TestListen(t *testing.T) {
	s := newStack(t)
	open := func(wants string) *bufio.Scanner {
		resp := s.modernStream(t.Context(), t, s.other.URL, "user", "subscriptions/listen", "", `{}`, `"notifications":`+wants)
		return bufio.NewScanner(resp.Body)
	}
	tools := open(`{"toolsListChanged":true,"promptsListChanged":false,"odd":true}`)
	prompts := open(`{"promptsListChanged":true,"resourceSubscriptions":["note://live"]}`)
	const tag = `"_meta":{"io.modelcontextprotocol/subscriptionId":1}`
	for _, tt := range []struct {
		from *bufio.Scanner
		want string
	}{
		{tools, `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{` + tag + `,"notifications":{"toolsListChanged":true}}}`},
		{prompts, `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{` + tag + `,"notifications":{"promptsListChanged":true,"resourceSubscriptions":["note://live"]}}}`},
	} {
		if got := string(nextEvent(t, tt.from)); got != tt.want {
			t.Error(got)
		}
	}
	s.sync(t, func(d *beeos.Definition) { d.Skills = append(d.Skills, beeos.Skill{Name: "grown"}) })
	if got := string(nextEvent(t, tools)); got != `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{`+tag+`}}` {
		t.Error(got)
	}
	s.bus.Control(bus.Control{Kind: bus.ResourceUpdated, AgentID: s.agents["clerk"], ID: "note://live"})
	if got := string(nextEvent(t, prompts)); got != `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{`+tag+`,"uri":"note://live"}}` {
		t.Error(got)
	}
	for _, refused := range []string{`5`, `{"taskIds":["x"]}`} {
		if status, answer := s.modern(t, s.server.URL, "user", "subscriptions/listen", "", `{}`, `"notifications":`+refused); !strings.Contains(string(answer), `"error"`) {
			t.Errorf("%s: %d %s", refused, status, answer)
		}
	}
}

// TestLogLevels: a session hears what it set, wherever it set it.
func TestLogLevels(t *testing.T) {
	s := newStack(t)
	session := s.handshake(t, "clerk", "user", `{}`)
	logs := func() bool {
		resp := s.send(t.Context(), t, s.server.URL, "clerk", "user", session, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"log"}}`)
		all := bufio.NewScanner(resp.Body)
		for all.Scan() {
			if strings.Contains(all.Text(), "notifications/message") {
				return true
			}
		}
		return false
	}
	if !logs() {
		t.Error("a session without a level hears nothing")
	}
	s.send(t.Context(), t, s.other.URL, "clerk", "user", session, `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"error"}}`)
	if logs() {
		t.Error("a warning reached a session that wants errors")
	}
	s.send(t.Context(), t, s.other.URL, "clerk", "user", session, `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"warning"}}`)
	if !logs() {
		t.Error("a session that wants warnings hears none")
	}
}

// TestAgentsOwnResourcesNotify: what an agent is and can do changes without its
// agent saying so. Whoever watches it hears of it, in a session, on a stream of
// its own and in the union.
func TestAgentsOwnResourcesNotify(t *testing.T) {
	s := newStack(t)
	session := s.handshake(t, "clerk", "user", `{}`)
	for _, uri := range []string{"beeos://agent/config", "beeos://agent/skills"} {
		s.send(t.Context(), t, s.other.URL, "clerk", "user", session, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"`+uri+`"}}`)
	}
	inSession := bufio.NewScanner(s.sessionStream(t.Context(), t, s.server.URL, session).Body)
	listening := s.modernStream(t.Context(), t, s.server.URL, "user", "subscriptions/listen", "", `{}`, `"notifications":{"resourceSubscriptions":["beeos://agent/skills"]}`)
	modern := bufio.NewScanner(listening.Body)
	nextEvent(t, modern) // the acknowledgement
	r := s.modernRequest(t.Context(), t, s.server.URL, "user", "subscriptions/listen", "", `{}`, `"notifications":{"resourceSubscriptions":["beeos://clerk/beeos://agent/skills"]}`)
	r.URL.Path = "/mcp"
	resp, err := http.DefaultClient.Do(r)
	s.must(err)
	defer resp.Body.Close()
	union := bufio.NewScanner(resp.Body)
	nextEvent(t, union)
	s.sync(t, func(d *beeos.Definition) { d.Skills = append(d.Skills, beeos.Skill{Name: "grown"}) })
	seen := string(nextEvent(t, inSession)) + string(nextEvent(t, inSession)) + string(nextEvent(t, inSession))
	for _, want := range []string{`resources/updated","params":{"uri":"beeos://agent/config"`, `resources/updated","params":{"uri":"beeos://agent/skills"`, "tools/list_changed"} {
		if !strings.Contains(seen, want) {
			t.Errorf("in the session: %s, want %s", seen, want)
		}
	}
	if got := string(nextEvent(t, modern)); !strings.Contains(got, `"uri":"beeos://agent/skills"`) {
		t.Error(got)
	}
	if got := string(nextEvent(t, union)); !strings.Contains(got, `"uri":"beeos://clerk/beeos://agent/skills"`) {
		t.Error(got)
	}
	s.sync(t, func(d *beeos.Definition) {
		d.Skills, d.Model = append(d.Skills, beeos.Skill{Name: "grown"}), "another"
	})
	if got := string(nextEvent(t, inSession)); !strings.Contains(got, `"uri":"beeos://agent/config"`) {
		t.Errorf("another model: %s", got)
	}
}
