package a2a_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/test/apptest"
)

// surface is one way to tasks. States are in the words of REST.
type surface interface {
	create(text string) (id string)
	read(id string) (state, text string)
	watch(ctx context.Context, id string) (end func() string)
	cancel(id string)
}

// TestEveryPairOfSurfaces: a task that one surface makes is read, watched to its
// end, and cancelled on each other one, and the first one sees it.
func TestEveryPairOfSurfaces(t *testing.T) {
	s := start(t)
	release := make(chan struct{})
	s.agent = s.connect("patient", func(ctx context.Context, m agent.Message, r *agent.Reply) error {
		_ = r.Background() // over MCP it is a task at once
		select {
		case <-release:
			return r.Send("released")
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	s.url = s.A2A + "/" + s.agent
	all := map[string]surface{"REST": restWay{s, client.New(s.REST, s.key)}, "A2A": a2aWay{s}, "MCP": mcpWay{s}}
	for from, maker := range all {
		for to, other := range all {
			if from == to {
				continue
			}
			t.Run(from+" to "+to, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				for _, want := range []string{"completed", "canceled"} {
					id := maker.create(want)
					if state, _ := other.read(id); state != "running" {
						t.Fatalf("read: %q", state)
					}
					end := other.watch(ctx, id)
					if want == "completed" {
						release <- struct{}{}
					} else {
						other.cancel(id)
					}
					if got := end(); got != want {
						t.Errorf("watched to %q, want %q", got, want)
					}
					for name, way := range map[string]surface{from: maker, to: other} {
						if state, text := way.read(id); state != want || want == "completed" && text != "released" {
							t.Errorf("%s: %q %q, want %s", name, state, text, want)
						}
					}
				}
			})
		}
	}
}

type restWay struct {
	*stack
	c *client.Client
}

func (w restWay) create(text string) string {
	w.t.Helper()
	task, err := w.c.CreateTask(w.t.Context(), w.agent, client.TaskRequest{Message: text})
	if err != nil {
		w.t.Fatal(err)
	}
	return task.ID
}

func (w restWay) read(id string) (state, text string) {
	w.t.Helper()
	task, err := w.c.Task(w.t.Context(), w.agent, id)
	if err != nil {
		w.t.Fatal(err)
	}
	if task.Result != nil {
		text = task.Result.Text
	}
	return word(string(task.Status)), text
}

func (w restWay) watch(ctx context.Context, id string) func() string {
	last := make(chan string, 1)
	go func() { // ends with the task, or with ctx
		state := ""
		for u, err := range w.c.WatchTask(ctx, w.agent, id) {
			switch {
			case err != nil:
				state = err.Error()
			case u.Message.Type.Terminal() && u.Message.State == beeos.StateCancelled:
				state = "canceled"
			case u.Message.Type.Terminal():
				state = "completed"
			}
		}
		last <- state
	}()
	return func() string { return <-last }
}

func (w restWay) cancel(id string) {
	w.t.Helper()
	if _, err := w.c.CancelTask(w.t.Context(), w.agent, id, "enough"); err != nil {
		w.t.Fatal(err)
	}
}

type a2aWay struct{ *stack }

func (w a2aWay) create(text string) string {
	w.t.Helper()
	made := w.rpc("SendMessage", `{"message":{"role":"ROLE_USER","messageId":"`+beeos.NewID()+`","parts":[{"text":"`+text+`"}]},"configuration":{"returnImmediately":true}}`)
	id, ok := at(made, "result", "task", "id").(string)
	if !ok {
		w.t.Fatal(made)
	}
	return id
}

func (w a2aWay) read(id string) (state, text string) {
	got := w.rpc("GetTask", `{"id":"`+id+`"}`)
	text, _ = at(got, "result", "artifacts", 0, "parts", 0, "text").(string)
	return word(fmt.Sprint(at(got, "result", "status", "state"))), text
}

func (w a2aWay) watch(ctx context.Context, id string) func() string {
	events := w.stream(ctx, w.url, `{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask","params":{"id":"`+id+`"}}`)
	return func() string {
		state := ""
		for ev := range events {
			if s, ok := at(ev, "result", "statusUpdate", "status", "state").(string); ok {
				state = word(s)
			}
		}
		return state
	}
}

func (w a2aWay) cancel(id string) {
	w.t.Helper()
	if got := w.rpc("CancelTask", `{"id":"`+id+`"}`); got["error"] != nil {
		w.t.Fatal(got)
	}
}

// mcpWay is the tasks extension of MCP's newest revision.
type mcpWay struct{ *stack }

func (w mcpWay) body(method, more string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` +
		`{"extensions":{"io.modelcontextprotocol/tasks":{}}}},` + more + `}}`
}

func (w mcpWay) headers(method, name string) []string {
	return []string{"A2A-Version", "", "Accept", "application/json, text/event-stream", "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", method, "Mcp-Name", name}
}

func (w mcpWay) call(method, name, more string) map[string]any {
	w.t.Helper()
	return w.do("POST", w.MCP+"/"+w.agent+"/mcp", w.body(method, more), w.headers(method, name)...).json(w.t)
}

func (w mcpWay) create(text string) string {
	w.t.Helper()
	got := w.call("tools/call", w.agent, `"name":"`+w.agent+`","arguments":{"message":"`+text+`"}`)
	id, ok := at(got, "result", "taskId").(string)
	if !ok {
		w.t.Fatal(got)
	}
	return id
}

func (w mcpWay) read(id string) (state, text string) {
	w.t.Helper()
	got := w.call("tasks/get", id, `"taskId":"`+id+`"`)
	text, _ = at(got, "result", "result", "content", 0, "text").(string)
	return word(fmt.Sprint(at(got, "result", "status"))), text
}

func (w mcpWay) watch(ctx context.Context, id string) func() string {
	ctx, stop := context.WithCancel(ctx)
	events := w.stream(ctx, w.MCP+"/"+w.agent+"/mcp", w.body("subscriptions/listen", `"notifications":{"taskIds":["`+id+`"]}`), w.headers("subscriptions/listen", "")...)
	<-events // it listens
	return func() string {
		defer stop()
		for ev := range events {
			if state := word(fmt.Sprint(at(ev, "params", "status"))); at(ev, "method") == "notifications/tasks" && state != "running" {
				return state
			}
		}
		return "the stream ended"
	}
}

func (w mcpWay) cancel(id string) {
	w.t.Helper()
	if got := w.call("tasks/cancel", id, `"taskId":"`+id+`"`); got["error"] != nil {
		w.t.Fatal(got)
	}
}

// word is a state in the words of REST; one that has not begun counts as
// running.
func word(state string) string {
	state = strings.ToLower(strings.TrimPrefix(state, "TASK_STATE_"))
	if w, ok := map[string]string{"cancelled": "canceled", "working": "running", "submitted": "running", "queued": "running"}[state]; ok {
		return w
	}
	return state
}

// TestStrangersReachNothing: a stranger's user key, another agent's key, one
// that was revoked, a forged one and none at all, at every operation of both
// bindings and dialects, and at the plain way.
func TestStrangersReachNothing(t *testing.T) {
	cfg := apptest.Config(t)
	s := &stack{App: apptest.Start(t, cfg), t: t}
	s.key = s.UserKey
	s.agent = s.connect("worker", work)
	s.url = s.A2A + "/" + s.agent
	_, stranger, err := app.IssueKey(t.Context(), cfg, "stranger@example.com", beeos.Key{Name: "theirs"})
	if err != nil {
		t.Fatal(err)
	}
	c := client.New(s.REST, s.UserKey)
	revoked, err := c.CreateKey(t.Context(), s.agent, client.KeyRequest{Name: "gone"})
	if err == nil {
		err = c.RevokeKey(t.Context(), s.agent, revoked.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	id := a2aWay{s}.create("wait")
	say := `{"message":{"role":"ROLE_USER","messageId":"s1","taskId":"` + id + `","parts":[{"text":"hi"}]}}`
	task, push := `{"id":"`+id+`","taskId":"`+id+`"}`, `{"taskId":"`+id+`","id":"x","url":"https://example.com","pushNotificationConfig":{"url":"https://example.com"}}`
	type request struct{ method, url, body, version string }
	var all []request
	for method, params := range map[string]string{
		"SendMessage": say, "SendStreamingMessage": say, "GetTask": task, "ListTasks": `{}`, "CancelTask": task, "SubscribeToTask": task,
		"CreateTaskPushNotificationConfig": push, "GetTaskPushNotificationConfig": push, "ListTaskPushNotificationConfigs": task, "DeleteTaskPushNotificationConfig": push,
		"GetExtendedAgentCard": `{}`, "message/send": say, "message/stream": say, "tasks/get": task, "tasks/list": `{}`, "tasks/cancel": task, "tasks/resubscribe": task,
		"tasks/pushNotificationConfig/set": push, "tasks/pushNotificationConfig/get": push, "tasks/pushNotificationConfig/list": task, "tasks/pushNotificationConfig/delete": push,
		"agent/getAuthenticatedExtendedCard": `{}`,
	} {
		version := "1.0"
		if strings.Contains(method, "/") {
			version = "0.3"
		}
		all = append(all, request{"POST", s.url, `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`, version})
	}
	for _, path := range []string{
		"POST /message:send", "POST /message:stream", "GET /tasks", "GET /tasks/" + id, "POST /tasks/" + id + ":cancel", "POST /tasks/" + id + ":subscribe", "GET /tasks/" + id + ":subscribe",
		"POST /tasks/" + id + "/pushNotificationConfigs", "GET /tasks/" + id + "/pushNotificationConfigs", "GET /tasks/" + id + "/pushNotificationConfigs/x",
		"DELETE /tasks/" + id + "/pushNotificationConfigs/x", "GET /extendedAgentCard", "POST /v1/message:send", "GET /v1/card", "POST /v1/invoke",
	} {
		method, path, _ := strings.Cut(path, " ")
		body := ""
		if method == "POST" {
			body = say
		}
		all = append(all, request{method, s.url + path, body, "1.0"})
	}
	for name, who := range map[string]struct {
		key  string
		want int
	}{
		"a stranger's user key": {stranger, 404}, "another agent's key": {s.AgentKey, 401}, "a revoked key": {revoked.Secret, 401},
		"a forged user key": {"oag_" + strings.Repeat("0", 64), 401}, "a forged token": {"eyJhbGciOiJub25lIn0.e30.", 401}, "none": {"", 401},
	} {
		for _, r := range all {
			headers := []string{"Authorization", "Bearer " + who.key, "A2A-Version", r.version}
			if who.key == "" {
				headers[1] = ""
			}
			got := s.do(r.method, r.url, r.body, headers...)
			if got.StatusCode != who.want || strings.Contains(string(got.body), "waiting") {
				t.Errorf("%s: %s %s %.90s: %d %.200s", name, r.method, strings.TrimPrefix(r.url, s.A2A), r.body, got.StatusCode, got.body)
			}
		}
	}
	if state, _ := (a2aWay{s}).read(id); state != "running" {
		t.Errorf("the task is %s", state)
	}
	a2aWay{s}.cancel(id)
}
