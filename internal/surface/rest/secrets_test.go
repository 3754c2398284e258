package rest_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/store/storetest"
)

// await waits for the end of a call.
func (s *stack) await(id string) {
	s.t.Helper()
	if _, err := s.calls.Wait(s.t.Context(), id, time.Minute); err != nil {
		s.t.Fatal(err)
	}
}

// TestSecretsStayOut: what a tool's schema names secret is in no answer about a call
// or an approval, and an edited replay sends it all the same.
func TestSecretsStayOut(t *testing.T) {
	s := start(t)
	s.sync(beeos.Definition{Name: "echo", Skills: []beeos.Skill{{
		Name: "say", InputSchema: json.RawMessage(`{"type":"object","properties":{"pin":{"x-secret":true}}}`), Annotations: json.RawMessage(`{"readOnlyHint":true}`),
	}}}, beeos.Definition{Name: "asleep"})
	frames := make(chan beeos.Frame, 10)
	s.play(func(f beeos.Frame) *beeos.Message {
		frames <- f
		return &beeos.Message{Type: beeos.AgentReply, State: beeos.StateCompleted, Body: "seen"}
	})
	agent, err := s.calls.Agent(t.Context(), s.agent)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.calls.Send(t.Context(), invoke.Request{
		Caller: beeos.Caller{Kind: beeos.ByUserKey, UserID: s.user, CredentialID: "k"}, Agent: agent, Surface: "mcp",
		Call: beeos.Call{Method: "tools/call", Tool: "say", Arguments: json.RawMessage(`{"pin":7391,"to":"ann"}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	first := <-frames
	s.await(first.MessageID)
	q := storetest.Question(s.user, first.MessageID, `{"pin":7391}`, s.now())
	q.AgentID, q.Caller, q.Skill, q.Tool, q.Hash = s.agent, "user:"+s.user, "", "say", storetest.HashOf("x")
	if _, _, err := s.db.Approvals.Ask(t.Context(), q, "r"); err != nil {
		t.Fatal(err)
	}
	path := "/api/v1/calls/" + first.MessageID
	for _, address := range []string{path, "/api/v1/calls", "/api/v1/approvals", "/api/v1/approvals/" + q.ID} {
		if a := s.do("GET", address, s.key, ""); a.status != 200 || strings.Contains(a.raw, "7391") || strings.Contains(a.raw, "arguments_sha256") {
			t.Errorf("%s: %d %s", address, a.status, a.raw)
		}
	}
	var shown struct {
		Request struct{ Arguments json.RawMessage }
	}
	if shown = ok[struct {
		Request struct{ Arguments json.RawMessage }
	}](s, "GET", path, ""); string(shown.Request.Arguments) != `{"pin":"•••","to":"ann"}` {
		t.Errorf("%s", shown.Request.Arguments)
	}
	if a := s.do("POST", path+"/replay", s.key, `{"arguments":{"pin":"•••","to":"bob"}}`); a.status != 202 {
		t.Fatal(a.raw)
	}
	if again := <-frames; !strings.Contains(string(again.Payload), `"arguments":{"pin":7391,"to":"bob"}`) {
		t.Errorf("the agent was given %s", again.Payload)
	}
}

// TestMetadataOnlyOverREST: it is set like its neighbours, keeps what was said from
// the owner in every answer about the call, and not from its caller.
func TestMetadataOnlyOverREST(t *testing.T) {
	s := start(t)
	s.play(func(f beeos.Frame) *beeos.Message {
		return &beeos.Message{Type: beeos.AgentReply, State: beeos.StateCompleted, Body: "hush: " + f.Body}
	})
	agent := "/api/v1/agents/" + s.agent
	type settings struct{ MetadataOnly *bool }
	if got := ok[settings](s, "GET", agent, ""); got.MetadataOnly == nil || *got.MetadataOnly {
		t.Errorf("at first: %+v", got)
	}
	if got := ok[settings](s, "PATCH", agent, `{"metadataOnly":true}`); got.MetadataOnly == nil || !*got.MetadataOnly {
		t.Errorf("set: %+v", got)
	}
	s.audited("agent.update", s.agent)
	s.calls.Forget(s.agent)
	key := ok[madeKey](s, "POST", agent+"/keys", `{"name":"ci"}`)
	if a := s.do("POST", s.invokePath(), key.Key, `{"message":"my words"}`); a.status != 200 || !strings.Contains(a.raw, "hush: my words") {
		t.Fatal(a.raw)
	}
	made := ok[callsJSON](s, "GET", "/api/v1/calls", "").Calls[0]
	if a := s.do("GET", s.tasksPath()+"/"+made.ID, key.Key, ""); !strings.Contains(a.raw, "hush: my words") {
		t.Errorf("the caller's own: %s", a.raw)
	}
	path := "/api/v1/calls/" + made.ID
	for address, status := range map[string]int{
		path: 200, "/api/v1/calls": 200, s.tasksPath() + "/" + made.ID: 404, s.tasksPath() + "?key_id=" + key.ID: 403, "/api/v1/tasks": 200,
	} {
		a := s.do("GET", address, s.key, "")
		if a.status != status || strings.Contains(a.raw, "my words") || strings.Contains(a.raw, "hush") {
			t.Errorf("the owner's %s: %d %s", address, a.status, a.raw)
		}
	}
	if a := s.do("GET", path, s.key, ""); !strings.Contains(a.raw, `"metadata_only":true`) || !strings.Contains(a.raw, `"outcome":"ok"`) {
		t.Error(a.raw)
	}
	if a := s.do("POST", path+"/replay", s.key, `{"confirm":true}`); a.status != 403 || !strings.Contains(a.raw, "metadata only") {
		t.Errorf("a replay: %d %s", a.status, a.raw)
	}
}
