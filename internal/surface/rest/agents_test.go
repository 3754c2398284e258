package rest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type agentJSON struct {
	ID, Name, Slug, Status, Visibility, MCPURL string
	Online, MCPEnabled                         bool
	Snake                                      bool `json:"mcp_enabled"`
	Capabilities                               map[string]bool
	Skills                                     []struct {
		Name         string
		ExposeAsTool bool
	}
}

func TestListAndGetAgents(t *testing.T) {
	s := start(t)
	s.echo()

	a := s.do("GET", "/api/v1/agents", s.key, "")
	var list []agentJSON
	if err := json.Unmarshal(a.data, &list); err != nil {
		t.Fatalf("%s: %v", a.raw, err)
	}
	if a.total != 2 || len(list) != 2 {
		t.Fatalf("total %d, %d listed; want 2 and 2", a.total, len(list))
	}
	echo := list[0]
	if echo.ID != s.agent {
		echo = list[1]
	}
	if !echo.Online || echo.Status != "active" || !echo.MCPEnabled || !echo.Snake || echo.Visibility != "private" {
		t.Errorf("echo = %+v", echo)
	}
	if want := "http://mcp.test/" + s.agent + "/mcp"; echo.MCPURL != want {
		t.Errorf("mcpUrl = %q, want %q", echo.MCPURL, want)
	}
	if len(echo.Capabilities) != 21 || !echo.Capabilities["mcp"] || !echo.Capabilities["streaming"] || echo.Capabilities["cron"] {
		t.Errorf("capabilities = %v", echo.Capabilities)
	}
	if len(echo.Skills) != 1 || !echo.Skills[0].ExposeAsTool {
		t.Errorf("skills = %+v", echo.Skills)
	}
	if got := ok[agentJSON](s, "GET", "/api/v1/agents/"+s.offline, ""); got.Online {
		t.Error("an agent that nobody serves is shown as online")
	}
	page := s.do("GET", "/api/v1/agents?limit=1&offset=1&status=active", s.key, "")
	if page.total != 2 || strings.Count(string(page.data), `"instanceId"`) != 1 {
		t.Errorf("second page = %s", page.raw)
	}
	if others := s.do("GET", "/api/v1/agents", s.other, ""); string(others.data) != "[]" || others.total != 0 {
		t.Errorf("a stranger lists %s", others.raw)
	}
}

func TestPatchAgent(t *testing.T) {
	s := start(t)
	path := "/api/v1/agents/" + s.agent
	if got := ok[agentJSON](s, "PATCH", path, `{"visibility":"public","mcp_enabled":false}`); got.Visibility != "public" || got.MCPEnabled || got.Snake {
		t.Errorf("after the patch: %+v", got)
	}
	if got := ok[agentJSON](s, "PATCH", path, `{"mcpEnabled":true}`); !got.MCPEnabled || got.Visibility != "public" {
		t.Errorf("after the second patch: %+v", got)
	}
	if diff := cmp.Diff([]string{s.agent, s.agent}, s.changed); diff != "" {
		t.Error("changes announced:", diff)
	}
	for name, c := range map[string]struct{ key, body, code string }{
		"empty":         {s.key, `{}`, "invalid_body"},
		"null":          {s.key, `{"visibility":null}`, "invalid_body"},
		"unknown":       {s.key, `{"visibility":"public","name":"x"}`, "invalid_body"},
		"not an object": {s.key, `[]`, "invalid_body"},
		"case":          {s.key, `{"Visibility":"public"}`, "invalid_body"},
		"contradiction": {s.key, `{"mcpEnabled":true,"mcp_enabled":false}`, "invalid_body"},
		"bad value":     {s.key, `{"visibility":"secret"}`, "invalid_param"},
		"bad type":      {s.key, `{"mcpEnabled":"yes"}`, "invalid_body"},
		"not JSON":      {s.key, `{"visibility"`, "invalid_json"},
		"stranger":      {s.other, `{"visibility":"private"}`, "forbidden"}, // it is public by now
		"too large":     {s.key, `{"visibility":"` + strings.Repeat("x", 64<<10) + `"}`, "payload_too_large"},
	} {
		if a := s.do("PATCH", path, c.key, c.body); a.code != c.code {
			t.Errorf("%s: %d %s, want %s", name, a.status, a.raw, c.code)
		}
	}
	if a := s.do("PATCH", path, s.key, `{"visibility":"private"}`, "Content-Type", "text/plain"); a.status != 415 {
		t.Errorf("text/plain: %d %s", a.status, a.raw)
	}
	if got := ok[agentJSON](s, "GET", path, ""); got.Visibility != "public" || !got.MCPEnabled {
		t.Errorf("a refused patch changed the agent: %+v", got)
	}
}

// TestOwnerSaysWhatBecomesOfLongCalls: the settings for long calls over MCP and
// for clients that leave are read and changed like their neighbours.
func TestOwnerSaysWhatBecomesOfLongCalls(t *testing.T) {
	s := start(t)
	path := "/api/v1/agents/" + s.agent
	type settings struct {
		HandOver *bool
		WhenLeft *string
	}
	expect := func(step string, got settings, handOver bool, whenLeft string) {
		t.Helper()
		if got.HandOver == nil || *got.HandOver != handOver || got.WhenLeft == nil || *got.WhenLeft != whenLeft {
			t.Errorf("%s: %+v, want %v and %q", step, got, handOver, whenLeft)
		}
	}
	expect("at first", ok[settings](s, "GET", path, ""), true, "")
	expect("no hand-over", ok[settings](s, "PATCH", path, `{"handOver":false}`), false, "")
	expect("go on", ok[settings](s, "PATCH", path, `{"whenLeft":"go_on"}`), false, "go_on")
	s.audited("agent.update", s.agent)
	expect("both", ok[settings](s, "PATCH", path, `{"handOver":true,"whenLeft":""}`), true, "")
	for body, code := range map[string]string{`{"whenLeft":"maybe"}`: "invalid_param", `{"handOver":"no"}`: "invalid_body", `{"hand_over":false}`: "invalid_body"} {
		if a := s.do("PATCH", path, s.key, body); a.code != code {
			t.Errorf("%s: %d %s", body, a.status, a.raw)
		}
	}
	if a := s.do("PATCH", path, s.other, `{"handOver":false}`); a.status != 404 {
		t.Errorf("a stranger: %d %s", a.status, a.raw)
	}
	expect("in the end", ok[settings](s, "GET", path, ""), true, "")
}

func TestDeleteAgent(t *testing.T) {
	s := start(t)
	path := "/api/v1/agents/" + s.agent
	if a := s.do("DELETE", path, s.other, ""); a.code != "agent_not_found" {
		t.Errorf("a stranger's delete: %d %s", a.status, a.raw)
	}
	if a := s.do("DELETE", path, s.key, ""); a.status != 204 || a.raw != "" {
		t.Errorf("delete: %d %s", a.status, a.raw)
	}
	if a := s.do("GET", path, s.key, ""); a.status != 404 || a.code != "agent_not_found" {
		t.Errorf("after the delete: %d %s", a.status, a.raw)
	}
}

func TestRoutesAcceptTheirKindsOfKeys(t *testing.T) {
	s := start(t)
	s.echo()
	agentKey := ok[keyJSON](s, "POST", "/api/v1/agents/"+s.agent+"/keys", `{"name":"k"}`).Key
	invoke := "/api/v1/agents/" + s.agent + "/invoke"
	for _, c := range []struct {
		name, method, path, key, body, code string
		status                              int
	}{
		{"no key", "GET", "/api/v1/agents", "", "", "missing_token", 401},
		{"bad key", "GET", "/api/v1/agents", "oag_" + strings.Repeat("0", 64), "", "invalid_token", 401},
		{"agent key lists", "GET", "/api/v1/agents", agentKey, "", "unauthorized", 401},
		{"agent key makes keys", "POST", "/api/v1/api-keys", agentKey, `{"name":"x"}`, "unauthorized", 401},
		{"agent key opens channels", "POST", "/channels", agentKey, `{}`, "unauthorized", 401},
		{"agent key elsewhere", "POST", "/api/v1/agents/" + s.offline + "/invoke", agentKey, `{"message":"x"}`, "agent_not_found", 404},
		{"stranger reads", "GET", "/api/v1/agents/" + s.agent, s.other, "", "agent_not_found", 404},
		{"stranger invokes", "POST", invoke, s.other, `{"message":"x"}`, "agent_not_found", 404},
		{"stranger lists keys", "GET", "/api/v1/agents/" + s.agent + "/keys", s.other, "", "agent_not_found", 404},
		{"unknown path", "GET", "/api/v2/agents", s.key, "", "not_found", 404},
		{"unknown method", "PUT", "/api/v1/agents", s.key, "", "not_found", 404},
		{"unknown agent", "GET", "/api/v1/agents/agent_nobody", s.key, "", "agent_not_found", 404},
	} {
		a := s.do(c.method, c.path, c.key, c.body)
		if a.status != c.status || a.code != c.code {
			t.Errorf("%s: %d %s, want %d %s", c.name, a.status, a.raw, c.status, c.code)
		}
		if (a.status == 401) != (a.header.Get("WWW-Authenticate") != "") {
			t.Errorf("%s: %d with WWW-Authenticate %q", c.name, a.status, a.header.Get("WWW-Authenticate"))
		}
	}
	if a := s.do("POST", invoke, agentKey, `{"message":"hi"}`); a.status != 200 {
		t.Errorf("agent key on its own agent: %d %s", a.status, a.raw)
	}
	if a := s.do("POST", invoke, s.key, `{"message":"hi"}`, "X-Agent-API-Key", agentKey); a.status != 401 {
		t.Errorf("two credentials: %d %s", a.status, a.raw)
	}
	private := s.do("GET", "/api/v1/agents/"+s.agent, s.other, "")
	absent := s.do("GET", "/api/v1/agents/agent_nobody", s.other, "")
	if strings.ReplaceAll(private.raw, s.agent, "X") != strings.ReplaceAll(absent.raw, "agent_nobody", "X") {
		t.Errorf("private and absent can be told apart:\n%s\n%s", private.raw, absent.raw)
	}
}

// TestAgentThatChangedIsKnownAtOnce: what a call remembers of an agent is gone
// as soon as a change is told of.
func TestAgentThatChangedIsKnownAtOnce(t *testing.T) {
	s := start(t)
	tasks := "/api/v1/agents/" + s.agent + "/tasks"
	if a := s.do("GET", tasks, s.other, ""); a.code != "agent_not_found" {
		t.Fatalf("a private agent: %d %s", a.status, a.raw)
	}
	for visibility, want := range map[string]int{"unlisted": 200, "private": 404} {
		if a := s.do("PATCH", "/api/v1/agents/"+s.agent, s.key, `{"visibility":"`+visibility+`"}`); a.status != 200 {
			t.Fatalf("%d %s", a.status, a.raw)
		}
		if a := s.do("GET", tasks, s.other, ""); a.status != want {
			t.Errorf("%s: %d %s", visibility, a.status, a.raw)
		}
	}
	if a := s.do("DELETE", "/api/v1/agents/"+s.agent, s.key, ""); a.status >= 300 {
		t.Fatalf("%d %s", a.status, a.raw)
	}
	if a := s.do("GET", tasks, s.key, ""); a.code != "agent_not_found" {
		t.Errorf("a deleted agent: %d %s", a.status, a.raw)
	}
}
