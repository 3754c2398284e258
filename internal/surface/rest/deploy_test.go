package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/outward/llm"
)

// listed is a service that says which models it has.
type listed []string

func (l listed) Models(context.Context) ([]string, error) { return l, nil }

func (l listed) Stream(context.Context, llm.Request) iter.Seq2[llm.Delta, error] {
	return func(func(llm.Delta, error) bool) {}
}

type deployedJSON struct {
	ID, Name     string
	Desired      string `json:"desiredStatus"`
	Hosting      string `json:"hostingType"`
	ModelPrimary string
	Models       []string
	SystemPrompt string
	Outcome      string
	MCPServers   map[string]json.RawMessage `json:"mcpServers"`
	Config       json.RawMessage
}

func (s *stack) deploy(body string) deployedJSON {
	s.t.Helper()
	return ok[deployedJSON](s, "POST", "/api/v1/instances", body)
}

const invoices = `{"name":"clerk","modelPrimary":"small","models":["large"],"systemPrompt":"Be brief.",
	"config":{"displayName":"The clerk","description":"Files invoices.","limits":{"turns":3,"seconds":60}},
	"mcpServers":{
		"files":{"type":"http","url":"https://files.example/mcp","auto_approve":false,"tools":{"list":{"auto_approve":true}},"description":"Keeps them.","offer":["list"],
			"auth":{"grant":"client_credentials","clientId":"c","clientSecret":"s3cret-of-the-clerk","issuer":"https://as.example"}},
		"books":{"command":"sqlite","autoApprove":true}}}`

func TestDeployChangesTheAgentOfThatName(t *testing.T) {
	s := start(t)
	var log bytes.Buffer
	s.acts.Log = slog.New(slog.NewTextHandler(&log, nil))
	made := s.deploy(invoices)
	want := deployedJSON{
		ID: made.ID, Name: "clerk",
		Desired: "running", Hosting: "built-in", ModelPrimary: "small", Models: []string{"large"}, SystemPrompt: "Be brief.", Outcome: "created",
		MCPServers: map[string]json.RawMessage{
			"files": json.RawMessage(`{"url":"https://files.example/mcp","description":"Keeps them.","autoApprove":false,"tools":{"list":{"autoApprove":true}},"offer":["list"],"auth":{"grant":"client_credentials","clientId":"c","issuer":"https://as.example"}}`),
			"books": json.RawMessage(`{"command":"sqlite","autoApprove":true}`),
		},
		Config: json.RawMessage(`{"displayName":"The clerk","description":"Files invoices.","limits":{"turns":3,"calls":50,"tokens":500000,"seconds":60}}`),
	}
	if d := cmp.Diff(want, made); d != "" {
		t.Error(d)
	}
	path := "/api/v1/instances/" + made.ID
	want.Outcome = ""
	if d := cmp.Diff(want, ok[deployedJSON](s, "GET", path, "")); d != "" {
		t.Error(d)
	}
	if list := ok[[]deployedJSON](s, "GET", "/api/v1/instances?search=clerk", ""); len(list) != 1 || !cmp.Equal(list[0], want) {
		t.Errorf("listed: %+v", list)
	}

	// The same again changes nothing; without the secret it is kept; something else is a change.
	for body, outcome := range map[string]string{
		invoices: "unchanged",
		strings.Replace(invoices, `"clientSecret":"s3cret-of-the-clerk",`, "", 1): "unchanged",
		strings.Replace(invoices, `s3cret-of-the-clerk`, "another", 1):            "changed",
		strings.Replace(invoices, "Be brief.", "Be kind.", 1):                     "changed",
	} {
		got := ok[struct{ ID, Name, Outcome string }](s, "POST", "/api/v1/instances?dryRun=true", body)
		if got.ID != made.ID || got.Name != "clerk" || got.Outcome != outcome {
			t.Errorf("%s: %+v, want %s", body, got, outcome)
		}
	}
	if got := s.deploy(strings.Replace(invoices, "Be brief.", "Be kind.", 1)); got.ID != made.ID || got.Outcome != "changed" || got.SystemPrompt != "Be kind." {
		t.Errorf("changed: %+v", got)
	}
	if got := ok[struct{ ID, Outcome string }](s, "POST", "/api/v1/instances?dryRun=true", `{"name":"new"}`); got.ID != "" || got.Outcome != "created" {
		t.Errorf("a new one, dry: %+v", got)
	}

	for _, step := range []struct{ act, desired string }{{"stop", "stopped"}, {"stop", "stopped"}, {"restart", "running"}, {"stop", "stopped"}, {"start", "running"}} {
		if got := ok[deployedJSON](s, "POST", path+"/"+step.act, ""); got.Desired != step.desired {
			t.Errorf("%s: %+v", step.act, got)
		}
	}
	agents := ok[[]agentJSON](s, "GET", "/api/v1/agents?instance_id="+made.ID, "")
	if len(agents) != 1 {
		t.Fatalf("its agents: %+v", agents)
	}
	if a := s.do("DELETE", path, s.key, ""); a.status != 200 {
		t.Errorf("destroy: %d %s", a.status, a.raw)
	}
	if a := s.do("GET", path, s.key, ""); a.code != "not_found" {
		t.Errorf("destroyed: %d %s", a.status, a.raw)
	}
	s.mu.Lock()
	if !cmp.Equal(s.revoked, []string{made.ID, agents[0].ID}) {
		t.Errorf("told: %v", s.revoked)
	}
	s.mu.Unlock()

	trail := s.do("GET", "/api/v1/audit", s.key, "").raw
	for _, action := range strings.Fields("agent.create agent.update agent.stop agent.restart agent.start agent.delete") {
		if !strings.Contains(trail, action) {
			t.Errorf("the trail has no %s: %s", action, trail)
		}
	}
	if strings.Contains(trail+log.String(), "s3cret") {
		t.Errorf("the secret is told: %s %s", trail, log.String())
	}
}

// TestDeployRefuses: what cannot be run is not taken, and the answer says why
// and repeats no secret.
func TestDeployRefuses(t *testing.T) {
	s := start(t)
	server := func(inside string) string { return `{"name":"x","mcpServers":{"files":` + inside + `}}` }
	many := make([]string, 33)
	for i := range many {
		many[i] = fmt.Sprintf(`"s%d":{"url":"https://x"}`, i)
	}
	for name, c := range map[string]struct{ body, code, says string }{
		"no name":               {`{}`, "missing_param", "name"},
		"empty name":            {`{"name":""}`, "missing_param", "name"},
		"no string":             {`{"name":7}`, "invalid_body", "a string"},
		"long name":             {`{"name":"` + strings.Repeat("n", 129) + `"}`, "invalid_param", "128"},
		"name with controls":    {`{"name":"a\u0007b"}`, "invalid_body", "control"},
		"another agent's name":  {`{"name":"echo"}`, "conflict", "echo"},
		"unknown member":        {`{"name":"x","systemPrmopt":"y"}`, "invalid_body", "systemPrmopt"},
		"another framework":     {`{"name":"x","agentFramework":"openclaw"}`, "invalid_param", "beeos connect"},
		"long prompt":           {`{"name":"x","systemPrompt":"` + strings.Repeat("é", 8193) + `"}`, "invalid_param", "8192"},
		"unknown model":         {`{"name":"x","modelPrimary":"huge"}`, "invalid_param", "large, small"},
		"unknown second model":  {`{"name":"x","models":["small","huge"]}`, "invalid_param", "huge"},
		"models that are none":  {`{"name":"x","models":"small"}`, "invalid_body", "a list of strings"},
		"servers that are none": {`{"name":"x","mcpServers":[]}`, "invalid_body", "mcpServers"},
		"too many servers":      {`{"name":"x","mcpServers":{` + strings.Join(many, ",") + `}}`, "invalid_param", "32"},
		"name of a skill":       {`{"name":"x","mcpServers":{"My Files":{"url":"https://x"}}}`, "invalid_param", "My Files"},
		"two of one name":       {`{"name":"x","mcpServers":{"f":{"url":"https://x"},"f":{"url":"https://y"}}}`, "invalid_json", "twice"},
		"plain http":            {server(`{"url":"http://files.example/mcp"}`), "invalid_param", "https://"},
		"no address":            {server(`{"url":"files"}`), "invalid_param", "url"},
		"neither":               {server(`{}`), "invalid_param", "url"},
		"both":                  {server(`{"url":"https://x","command":"sqlite"}`), "invalid_param", "only one of them"},
		"command":               {server(`{"command":"/bin/sh"}`), "forbidden", "admin"},
		"arguments":             {server(`{"command":"sqlite","args":["-c"]}`), "forbidden", "admin"},
		"environment":           {server(`{"command":"sqlite","env":{"A":"s3cret"}}`), "forbidden", "admin"},
		"headers":               {server(`{"url":"https://x","headers":{"Authorization":"Bearer s3cret"}}`), "invalid_param", "OAuth"},
		"old transport":         {server(`{"url":"https://x","type":"sse"}`), "invalid_param", "Streamable"},
		"misspelt":              {server(`{"url":"https://x","autoAprove":true}`), "invalid_body", "autoAprove"},
		"two minds":             {server(`{"url":"https://x","autoApprove":true,"auto_approve":false}`), "invalid_param", "differ"},
		"policy of nothing":     {server(`{"url":"https://x","tools":{"t":{}}}`), "invalid_param", "t"},
		"no policy":             {server(`{"url":"https://x","tools":{"t":true}}`), "invalid_body", "tools"},
		"unknown grant":         {server(`{"url":"https://x","auth":{"grant":"password"}}`), "invalid_param", "password"},
		"no client":             {server(`{"url":"https://x","auth":{"grant":"client_credentials"}}`), "invalid_param", "clientId"},
		"secret of two types":   {server(`{"url":"https://x","auth":{"clientSecret":["s3cret"]}}`), "invalid_body", "files"},
		"key that is none":      {server(`{"url":"https://x","auth":{"grant":"client_credentials","clientId":"c","privateKey":"s3cret"}}`), "invalid_param", "PEM"},
		"assertion":             {server(`{"url":"https://x","auth":{"grant":"jwt_bearer","clientId":"c","assertion":"/etc/passwd"}}`), "forbidden", "admin"},
		"assertion for another": {server(`{"url":"https://x","auth":{"grant":"jwt_bearer","clientId":"c","assertion":"pod","issuer":"https://evil.example"}}`), "forbidden", "evil.example"},
		"auth of a command":     {server(`{"command":"sqlite","auth":{"clientId":"c"}}`), "invalid_param", "auth"},
		"limits":                {`{"name":"x","config":{"limits":{"turns":1000000}}}`, "invalid_param", "200"},
		"negative limits":       {`{"name":"x","config":{"limits":{"turns":-1}}}`, "invalid_param", "0"},
		"long description":      {`{"name":"x","config":{"description":"` + strings.Repeat("d", 4097) + `"}}`, "invalid_param", "4096"},
		"unknown config":        {`{"name":"x","config":{"colour":"red"}}`, "invalid_body", "colour"},
		"too much":              {`{"name":"x","systemPrompt":"` + strings.Repeat("x", 70<<10) + `"}`, "payload_too_large", ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := s.do("POST", "/api/v1/instances", s.key, c.body)
			if a.code != c.code || !strings.Contains(a.text, c.says) || strings.Contains(a.raw, "s3cret") {
				t.Errorf("%d %s, want %s with %q", a.status, a.raw, c.code, c.says)
			}
		})
	}
	if list := ok[[]instanceJSON](s, "GET", "/api/v1/instances", ""); len(list) != 1 {
		t.Errorf("made all the same: %+v", list)
	}
	if a := s.do("POST", "/api/v1/instances?dryRun=perhaps", s.key, `{"name":"x"}`); a.code != "invalid_param" {
		t.Errorf("dryRun: %d %s", a.status, a.raw)
	}
}

// TestDeployUnderOneKeyOnce: an idempotency key stands for one deployment.
func TestDeployUnderOneKeyOnce(t *testing.T) {
	s := start(t)
	post := func(body string) (answer, deployedJSON) {
		t.Helper()
		a := s.do("POST", "/api/v1/instances", s.key, body, "Idempotency-Key", "k1")
		var d deployedJSON
		if a.status == 201 {
			if err := json.Unmarshal(a.data, &d); err != nil {
				t.Fatal(err)
			}
		}
		return a, d
	}
	_, first := post(`{"name":"x","systemPrompt":"one"}`)
	s.deploy(`{"name":"x","systemPrompt":"two"}`)
	if a, again := post(`{"name":"x","systemPrompt":"one"}`); again.ID != first.ID || again.SystemPrompt != "two" || a.header.Get("Idempotent-Replayed") == "" {
		t.Errorf("again: %d %s", a.status, a.raw)
	}
	if a, _ := post(`{"name":"x","systemPrompt":"three"}`); a.code != "conflict" {
		t.Errorf("another payload: %d %s", a.status, a.raw)
	}
	path := "/api/v1/instances/" + first.ID
	for i, want := range []string{"", "true"} {
		if a := s.do("POST", path+"/restart", s.key, "", "Idempotency-Key", "k2"); a.status != 200 || a.header.Get("Idempotent-Replayed") != want {
			t.Errorf("restart %d: %d %s", i, a.status, a.raw)
		}
	}
	if n := strings.Count(s.do("GET", "/api/v1/audit", s.key, "").raw, "agent.restart"); n != 1 {
		t.Errorf("restarted %d times", n)
	}
	if a := s.do("DELETE", path, s.key, ""); a.status >= 300 {
		t.Fatalf("%d %s", a.status, a.raw)
	}
	if a, _ := post(`{"name":"x","systemPrompt":"one"}`); a.code != "conflict" || !strings.Contains(a.text, "deleted since") {
		t.Errorf("what was deleted comes back: %d %s", a.status, a.raw)
	}
}

// TestFailedActsAreNotReplayed: a key whose act has failed does it when it comes
// again, and does not say that it was done.
func TestFailedActsAreNotReplayed(t *testing.T) {
	s := start(t)
	path := "/api/v1/instances/" + s.deploy(`{"name":"x","systemPrompt":"one"}`).ID
	for i, c := range []struct{ path, body, done string }{
		{"/api/v1/instances", `{"name":"x","systemPrompt":"two"}`, `"systemPrompt":"two"`},
		{path + "/stop", "", `"desiredStatus":"stopped"`},
		{path + "/restart", "", `"desiredStatus":"running"`},
	} {
		// A name of its own each: another connection may still know one that is gone.
		trigger := fmt.Sprint("broken", i)
		s.exec("CREATE TRIGGER " + trigger + " BEFORE UPDATE ON builtin_agents BEGIN SELECT RAISE(ABORT, 'the disk is full'); END")
		if a := s.do("POST", c.path, s.key, c.body, "Idempotency-Key", "k"); a.status != 500 {
			t.Errorf("%s: %d %s", c.path, a.status, a.raw)
		}
		s.exec("DROP TRIGGER " + trigger)
		if a := s.do("POST", c.path, s.key, c.body, "Idempotency-Key", "k"); a.status >= 300 || a.header.Get("Idempotent-Replayed") != "" || !strings.Contains(a.raw, c.done) {
			t.Errorf("%s again: %d %s", c.path, a.status, a.raw)
		}
	}
}

func (s *stack) exec(query string) {
	s.t.Helper()
	if _, err := s.db.ExecContext(s.t.Context(), query); err != nil {
		s.t.Fatal(err)
	}
}

// TestDeployNeedsAServer: a process that cannot reach built-in agents says so.
func TestDeployNeedsAServer(t *testing.T) {
	s := start(t)
	path := "/api/v1/instances/" + s.deploy(`{"name":"x"}`).ID
	s.acts.Builtins = nil
	for _, c := range [][2]string{{"POST", "/api/v1/instances"}, {"POST", path + "/stop"}, {"DELETE", path}} {
		body := ""
		if c[1] != path && !strings.HasSuffix(c[1], "stop") {
			body = `{"name":"y"}`
		}
		if a := s.do(c[0], c[1], s.key, body); a.code != "conflict" || !strings.Contains(a.text, "beeos serve") {
			t.Errorf("%v: %d %s", c, a.status, a.raw)
		}
	}
	if got := ok[deployedJSON](s, "GET", path, ""); got.Hosting != "built-in" {
		t.Errorf("%+v", got)
	}
}

// TestClearConversation: the agent's history begins anew, the log stays.
func TestClearConversation(t *testing.T) {
	s := start(t)
	made := s.deploy(`{"name":"clerk","models":["large"]}`)
	inst, err := s.db.Instances.Get(t.Context(), made.ID)
	if err != nil {
		t.Fatal(err)
	}
	synced, err := s.db.Agents.Sync(t.Context(), inst, []beeos.Definition{{Name: "clerk", Capabilities: json.RawMessage(`{"modelsSet":true}`)}})
	if err != nil {
		t.Fatal(err)
	}
	s.agent = synced.IDs()["clerk"]
	s.echo()
	base := "/api/v1/agents/" + s.agent + "/conversations"
	conv := ok[conversationJSON](s, "POST", base, `{}`)
	path := base + "/" + conv.ID
	ok[messageJSON](s, "POST", path+"/messages", `{"message":"remember 7"}`)
	clear := func(key string) (generation string, a answer) {
		t.Helper()
		a = s.do("POST", path+"/clear", s.key, "", "Idempotency-Key", key)
		var got struct {
			Status, OperationID, ConversationID, CurrentGeneration string
		}
		if err := json.Unmarshal([]byte(a.raw), &got); err != nil || got.Status != "accepted" || got.ConversationID != conv.ID || got.OperationID == "" {
			t.Fatalf("%d %s: %v", a.status, a.raw, err)
		}
		return got.CurrentGeneration, a
	}
	if g, _ := clear("k1"); g != "1" {
		t.Errorf("generation %s", g)
	}
	if g, a := clear("k1"); g != "1" || a.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("again: generation %s, %s", g, a.raw)
	}
	if g, _ := clear("k2"); g != "2" {
		t.Errorf("generation %s", g)
	}
	ch, err := s.ledger.Channel(t.Context(), conv.ID)
	if err != nil || ch.Generation != 2 || ch.Cleared < 1 {
		t.Errorf("%+v, %v", ch, err)
	}
	if list := s.do("GET", path+"/messages", s.key, ""); !strings.Contains(list.raw, "remember 7") {
		t.Errorf("the log: %s", list.raw)
	}
	if trail := s.do("GET", "/api/v1/audit", s.key, "").raw; strings.Count(trail, "conversation.clear") != 2 {
		t.Errorf("the trail: %s", trail)
	}
	if a := s.do("POST", path+"/clear", s.key, ""); a.code != "missing_param" {
		t.Errorf("without a key: %d %s", a.status, a.raw)
	}
	for model, code := range map[string]string{`"large"`: "", `"huge"`: "invalid_param", `null`: ""} {
		if a := s.do("PUT", path+"/model", s.key, `{"modelOverrideId":`+model+`}`, "Idempotency-Key", model); a.code != code {
			t.Errorf("model %s: %d %s", model, a.status, a.raw)
		}
	}
	if err := s.ledger.CloseChannel(t.Context(), conv.ID, "done"); err != nil {
		t.Fatal(err)
	}
	if a := s.do("POST", path+"/clear", s.key, "", "Idempotency-Key", "k3"); a.code != "conflict" {
		t.Errorf("of a closed one: %d %s", a.status, a.raw)
	}
}
