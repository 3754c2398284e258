package web

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
)

// TestSecretsAreNotShown: neither on the page of a call nor in the form that makes
// it again, which sends them if they are left alone.
func TestSecretsAreNotShown(t *testing.T) {
	k := newStack(t)
	ann := k.user("Ann", false)
	agent := k.agents(ann, 1)[0]
	inst, err := k.db.Instances.Get(t.Context(), agent.InstanceID)
	if err != nil {
		t.Fatal(err)
	}
	agent.Definition.Skills[0].InputSchema = json.RawMessage(`{"type":"object","properties":{"login":{"type":"object","properties":{"deep":{"type":"object","properties":{"pass":{"format":"password"}}}}}}}`)
	if _, err := k.db.Agents.Sync(t.Context(), inst, []beeos.Definition{agent.Definition}); err != nil {
		t.Fatal(err)
	}
	p := k.puppet(agent)
	m, err := k.calls.Send(t.Context(), invoke.Request{
		Caller: beeos.Caller{Kind: beeos.BySession, UserID: ann.ID}, Agent: agent, Surface: "web",
		Call: beeos.Call{Method: "tools/call", Tool: "forecast", Arguments: []byte(`{"login":{"deep":{"pass":"hush"}},"city":"Rome"}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	p.reply(p.turn(), beeos.Message{Body: "sunny"})
	at, path := k.signedIn(ann), "/calls/"+m.ID
	res := at.get(path)
	if strings.Contains(res.body, "hush") || strings.Count(res.body, "•••") != 6 { // the request, the form and its hint, the command, its copy and its hint
		t.Errorf("%d %s", strings.Count(res.body, "•••"), res.body)
	}
	for input, want := range map[string]string{
		`{"login":{"deep":{"pass":"•••"}},"city":"Bern"}`: `"arguments":{"city":"Bern","login":{"deep":{"pass":"hush"}}}`,
		`{"login":{"deep":{"pass":"loud"}},"city":"•••"}`: `"arguments":{"login":{"deep":{"pass":"loud"}},"city":"•••"}`,
	} {
		res := at.post(path+"/replay", url.Values{"agent": {agent.ID}, "input": {input}, "key": {input}, "confirm": {"on"}})
		f := p.turn()
		if !strings.Contains(string(f.Payload), want) {
			t.Errorf("%s: %d, the agent got %s", input, res.status, f.Payload)
		}
		p.reply(f, beeos.Message{Body: "rain"})
		if both := at.get(res.location()); both.status != http.StatusOK || strings.Contains(both.body, "hush") || strings.Contains(both.body, "loud") {
			t.Errorf("side by side: %d %s", both.status, both.body)
		}
	}
	tool := "/agents/" + agent.ID + "/tools/forecast"
	if res := at.get(tool + "?as=json&run=" + m.ID); res.status != http.StatusOK || strings.Contains(res.body, "hush") {
		t.Errorf("the playground: %d %s", res.status, res.body)
	}
	res = at.post(tool, url.Values{"key": {"k"}, "sure": {"on"}, "arguments": {`{"login":{"deep":{"pass":"•••"}}}`}})
	if res.status != http.StatusBadRequest || !strings.Contains(res.body, "write the secret in place of") || len(p.turns) != 0 {
		t.Errorf("a mask that is run: %d %s", res.status, res.body)
	}
}

// TestOwnerKeepsWordsOut: the setting is on the agent's page, and then the page of
// somebody else's call has none of what was said.
func TestOwnerKeepsWordsOut(t *testing.T) {
	k := newStack(t)
	ann, bob := k.user("Ann", false), k.user("Bob", false)
	agent := k.agents(ann, 1)[0]
	p, at := k.puppet(agent), k.signedIn(ann)
	settings := "/agents/" + agent.ID + "/settings"
	if res := at.post(settings, url.Values{"metadata_only": {"on"}}); res.status != http.StatusSeeOther {
		t.Fatal(res.status, res.body)
	}
	if body := at.get(settings).body; !strings.Contains(body, `name="metadata_only" checked`) {
		t.Error(body)
	}
	agent, err := k.db.Agents.Get(t.Context(), agent.ID)
	if err != nil {
		t.Fatal(err)
	}
	say := func(u beeos.User) string {
		t.Helper()
		caller := beeos.Caller{Kind: beeos.BySession, UserID: u.ID}
		if u.ID != agent.OwnerID {
			caller = beeos.Caller{Kind: beeos.ByAgentKey, CredentialID: "k", AgentID: agent.ID}
		}
		m, err := k.calls.Send(t.Context(), invoke.Request{Caller: caller, Agent: agent, Surface: "web", Body: "my words"})
		if err != nil {
			t.Fatal(err)
		}
		p.reply(p.turn(), beeos.Message{Type: beeos.AgentReplyError, State: beeos.StateFailed, StopReason: beeos.StopError, Body: "her words"})
		return "/calls/" + m.ID
	}
	theirs, own := say(bob), say(ann)
	res := at.get(theirs)
	for _, word := range []string{"my words", "her words", "curl -X", "/replay"} {
		if strings.Contains(res.body, word) {
			t.Errorf("the page has %q", word)
		}
	}
	if res.status != http.StatusOK || !strings.Contains(res.body, "data-kept") || !strings.Contains(res.body, "attempt 1") {
		t.Errorf("%d %s", res.status, res.body)
	}
	if body := at.get(own).body; !strings.Contains(body, "my words") || !strings.Contains(body, "her words") {
		t.Errorf("one's own: %s", body)
	}
	if res := at.get(theirs + "/compare/" + strings.TrimPrefix(own, "/calls/")); res.status != http.StatusForbidden {
		t.Errorf("side by side: %d", res.status)
	}
	say(bob)
	if body := at.get("/agents/" + agent.ID + "/health").body; strings.Contains(body, "her words") {
		t.Errorf("the last error: %s", body)
	}
}
