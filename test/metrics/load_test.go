//go:build unix

package metrics

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
)

// load is a mixed one: something of everything that is counted.
type load struct {
	t        *testing.T
	near     node // which callers talk to
	far      node // which agents are connected to; the same one where there is one
	key      string
	worker   string
	receiver *httptest.Server // of webhooks, which takes none
}

// makeLoad calls agents in every way, well and badly. Afterwards one request
// waits for an agent that is away, one for a person, and a webhook for a receiver
// that takes nothing.
func makeLoad(t *testing.T, near, far node, key string) *load {
	t.Helper()
	l := &load{t: t, near: near, far: far, key: key}
	l.receiver = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	t.Cleanup(l.receiver.Close)
	l.worker, _ = connect(t, far, key, workerOptions(), func(_ context.Context, m agent.Message, r *agent.Reply) error {
		r.Step("think", agent.StepModel).Tokens("model-1", 100, 20).End(nil)
		return r.Send("you said " + m.Text)
	})
	l.callTools()
	l.callMessages()
	l.beRefused()
	l.moveFile()
	l.sendTasks()
	return l
}

func workerOptions() agent.Options {
	return agent.Options{Name: "worker", Tools: []agent.Tool{
		{
			Name: "add", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`),
			Handle: func(_ context.Context, _ agent.Message, r *agent.Reply) error { return r.Send("3") },
		},
		{Name: "break", Handle: func(_ context.Context, _ agent.Message, r *agent.Reply) error { return r.Fail("broken") }},
	}}
}

// want makes a request whose status matters.
func (l *load) want(status int, method, url, key, body string) string {
	l.t.Helper()
	got, answer := request(l.t, method, url, key, body)
	if got != status {
		l.t.Fatalf("%s %s: %d %s", method, url, got, answer)
	}
	return answer
}

func (l *load) callTools() {
	l.t.Helper()
	for _, c := range []struct{ method, params, want string }{
		{"initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`, `"result"`},
		{"tools/list", `{}`, `"add"`},
		{"tools/call", `{"name":"add","arguments":{"a":1}}`, `"3"`},
		{"tools/call", `{"name":"add","arguments":{"a":2}}`, `"3"`},
		{"tools/call", `{"name":"break","arguments":{}}`, `"isError":true`},
		{"tools/call", `{"name":"add","arguments":{"a":"x"}}`, `invalid arguments`},
		{"tools/call", `{"name":"made-up","arguments":{}}`, `"error"`},
		{"made/up", `{}`, `"error"`},
	} {
		_, answer := request(l.t, http.MethodPost, l.near.MCP+"/"+l.worker+"/mcp", l.key, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, c.method, c.params))
		if !strings.Contains(answer, c.want) {
			l.t.Fatalf("%s %s: %s", c.method, c.params, answer)
		}
	}
}

func (l *load) callMessages() {
	l.t.Helper()
	l.want(http.StatusOK, http.MethodPost, l.near.REST+"/api/v1/agents/"+l.worker+"/invoke", l.key, `{"message":"hi"}`)
	answer := l.want(http.StatusOK, http.MethodPost, l.near.A2A+"/"+l.worker, l.key,
		`{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","role":"user","messageId":"m1","parts":[{"kind":"text","text":"hi"}]}}}`)
	if !strings.Contains(answer, "you said hi") {
		l.t.Fatal(answer)
	}
}

// beRefused is what callers and strangers do wrong.
func (l *load) beRefused() {
	l.t.Helper()
	invoke := func(agentID string) string { return l.near.REST + "/api/v1/agents/" + agentID + "/invoke" }
	l.want(http.StatusUnauthorized, http.MethodPost, invoke(l.worker), "oag_wrong", `{"message":"hi"}`)
	l.want(http.StatusNotFound, http.MethodPost, invoke("agent_nobody"), l.key, `{"message":"hi"}`)
	l.want(http.StatusBadRequest, http.MethodPost, invoke(l.worker), l.key, `{}`)
	l.want(http.StatusUnprocessableEntity, http.MethodPost, l.near.REST+"/api/v1/auth/login", "", `{"email":"eve@example.com","password":"guess"}`)
	answer := l.want(http.StatusOK, http.MethodPost, l.near.A2A+"/"+l.worker, l.key, `{"jsonrpc":"2.0","id":1,"method":"made/up"}`)
	if !strings.Contains(answer, `"error"`) {
		l.t.Error(answer)
	}
	resp, err := http.PostForm(l.near.Web+"/signin", url.Values{"email": {"eve@example.com"}, "password": {"guess"}})
	if err != nil {
		l.t.Fatal(err)
	}
	resp.Body.Close()
	sleeper, stop := connect(l.t, l.far, l.key, agent.Options{Name: "sleeper"}, answerNothing)
	stop()
	await(l.t, func() string {
		status, answer := request(l.t, http.MethodPost, invoke(sleeper), l.key, `{"message":"hi"}`)
		if status == http.StatusServiceUnavailable && strings.Contains(answer, "offline") {
			return ""
		}
		return answer
	})
}

func answerNothing(_ context.Context, _ agent.Message, r *agent.Reply) error { return r.Send("") }

func (l *load) moveFile() {
	l.t.Helper()
	var file struct {
		Data struct {
			UploadURL   string `json:"upload_url"`
			DownloadURL string `json:"download_url"`
		}
	}
	answer := l.want(http.StatusOK, http.MethodPost, l.near.REST+"/api/v1/files/presign-upload", l.key, `{"filename":"a.json","content_type":"application/json"}`)
	if err := json.Unmarshal([]byte(answer), &file); err != nil || file.Data.UploadURL == "" {
		l.t.Fatal(answer, err)
	}
	status, answer := request(l.t, http.MethodPut, file.Data.UploadURL, "", `{"size":11}`)
	if status/100 != 2 {
		l.t.Fatal(status, answer)
	}
	if got := l.want(http.StatusOK, http.MethodGet, file.Data.DownloadURL, "", ""); got != `{"size":11}` {
		l.t.Fatal(got)
	}
}

// sendTasks leaves what waits.
func (l *load) sendTasks() {
	l.t.Helper()
	clerk, stop := connect(l.t, l.far, l.key, agent.Options{Name: "clerk", DeliveryMode: beeos.DeliverQueue}, answerNothing)
	stop()
	l.sendTask(clerk)
	asker, _ := connect(l.t, l.far, l.key, agent.Options{Name: "asker"}, func(ctx context.Context, _ agent.Message, r *agent.Reply) error {
		if err := r.Approve(ctx, "pay", map[string]int{"amount": 1}); err != nil {
			return err
		}
		return r.Send("paid")
	})
	l.want(http.StatusOK, http.MethodPatch, l.near.REST+"/api/v1/agents/"+asker+"/approval-policy", l.key, `{"auto_approve":false}`)
	l.sendTask(asker)
	task := l.sendTask(l.worker)
	l.want(http.StatusCreated, http.MethodPost, l.near.REST+"/api/v1/agents/"+l.worker+"/tasks/"+task+"/webhooks", l.key, fmt.Sprintf(`{"url":%q}`, l.receiver.URL))
}

// sendTask gives an agent work that nobody waits for.
func (l *load) sendTask(agentID string) (id string) {
	l.t.Helper()
	req, err := http.NewRequestWithContext(l.t.Context(), http.MethodPost, l.near.REST+"/api/v1/agents/"+agentID+"/tasks", strings.NewReader(`{"message":"do it"}`))
	if err != nil {
		l.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+l.key)
	req.Header.Set("Idempotency-Key", beeos.NewID())
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		l.t.Fatal(err)
	}
	defer resp.Body.Close()
	var task struct {
		Data struct {
			TaskID string `json:"task_id"`
		}
	}
	body, err := io.ReadAll(resp.Body)
	if err == nil {
		err = json.Unmarshal(body, &task)
	}
	if err != nil || resp.StatusCode/100 != 2 || task.Data.TaskID == "" {
		l.t.Fatalf("%d %s %v", resp.StatusCode, body, err)
	}
	return task.Data.TaskID
}
