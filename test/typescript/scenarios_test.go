//go:build unix

package typescript

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
)

// TestReadme: the first program that the README shows finds `beeos dev` by itself
// and answers over REST, MCP and A2A; the second one asks it.
func TestReadme(t *testing.T) {
	s := startServer(t)
	s.startAgent("weather.js")
	a := s.find("weather")

	answer, err := s.client().Invoke(t.Context(), a.ID, client.InvokeRequest{Message: "hello"})
	if err != nil || answer.Text != "You asked: hello" {
		t.Errorf("REST: %v, %v", answer, err)
	}
	for _, version := range []string{"2025-06-18", "2026-07-28"} {
		session := s.connect(a.ID, version, nil)
		got := text(session.CallTool(t.Context(), &mcp.CallToolParams{Name: "forecast", Arguments: map[string]any{"city": "Oslo", "days": 3}}))
		if got != "sunny in Oslo for 3 days" {
			t.Errorf("MCP %s: %s", version, got)
		}
	}
	var said string
	for ev, err := range s.client().StreamA2A(t.Context(), a, client.InvokeRequest{Message: "hello"}) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Done != nil {
			said = ev.Done.Text
		}
	}
	if said != "You asked: hello" {
		t.Errorf("A2A: %q", said)
	}

	asker := s.startAgent("ask.js")
	await(t, asker.Process, "You asked: What is it like in Oslo?")
}

// TestClient: what the client of the SDK does.
func TestClient(t *testing.T) {
	s := startServer(t)
	s.startScenarios()
	caller := s.startAgent("scenarios.js", "call", "scenarios")
	select {
	case <-caller.Ended():
	case <-time.After(patience):
		t.Error("the client does not end")
	}
	want := []string{
		"delta you said: ",
		"done you said: hello",
		`tool {"city":"Oslo","days":2,"sunny":true} false`,
		"conversation one|you said: one|history",
		"files hello file HELLO FILE",
		"task hello file",
		"conversation hello file",
		"task input_required Which one?",
		"task completed Wait. You chose the second.",
		"webhook false true true [ true ]",
		"again true 1",
		"removed []",
		"refused agent_not_found",
	}
	if got := caller.Out.All(); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestScenarios: what a turn can do, as its callers see it.
func TestScenarios(t *testing.T) {
	s := startServer(t)
	agent := s.startScenarios()
	s.startAgent("weather.js")
	s.find("weather")
	c := s.client()

	call := func(t *testing.T, session *mcp.ClientSession, tool string, args any) string {
		t.Helper()
		return text(session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args}))
	}
	elicit := &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada", "ok": true}}, nil
	}}
	for _, version := range []string{"2025-06-18", "2026-07-28"} {
		t.Run("MCP "+version, func(t *testing.T) {
			session := s.connect(agent.id, version, elicit)
			if got := call(t, session, "greet", nil); got != "Hello, Ada!" {
				t.Errorf("elicit: %s", got)
			}
			if got := call(t, session, "confirm", nil); !strings.Contains(got, `"ok":true`) {
				t.Errorf("need input: %s", got)
			}
			if got := call(t, session, "count", map[string]int{"to": 3}); got != "1 2 3 " {
				t.Errorf("count: %s", got)
			}
			if got := call(t, session, "forecast", map[string]any{"city": "Atlantis"}); !strings.Contains(got, "the arguments do not fit: city: there is no such city") {
				t.Errorf("arguments: %s", got)
			}
			testReading(t, session)
		})
	}
	t.Run("cannot ask", func(t *testing.T) {
		if got := call(t, s.connect(agent.id, "2025-06-18", nil), "greet", nil); !strings.Contains(got, "the caller cannot be asked this") {
			t.Error(got)
		}
	})
	t.Run("cancel", func(t *testing.T) { testCancel(t, s, agent) })
	t.Run("approve", func(t *testing.T) { testApproval(t, s, agent) })
	t.Run("odd input", func(t *testing.T) { testOddInput(t, s, agent) })
	t.Run("failure", func(t *testing.T) {
		answer, err := c.Invoke(t.Context(), agent.id, client.InvokeRequest{Message: "fail"})
		if err != nil || !answer.IsError || answer.Text != "the disk is full" {
			t.Errorf("%+v, %v", answer, err)
		}
	})
	t.Run("another agent", func(t *testing.T) {
		answer, err := c.Invoke(t.Context(), agent.id, client.InvokeRequest{Message: "neighbour"})
		if err != nil || answer.Text != "You asked: hello, sunny in Bern for 1 days" {
			t.Errorf("%+v, %v", answer, err)
		}
	})
	t.Run("streaming", func(t *testing.T) {
		var pieces []string // of what was yielded; what was returned is in the reply alone
		for ev, err := range c.Stream(t.Context(), agent.id, client.InvokeRequest{Message: "hello"}) {
			if err != nil {
				t.Fatal(err)
			}
			if ev.Delta != "" {
				pieces = append(pieces, ev.Delta)
			}
		}
		if !slices.Equal(pieces, []string{"you said: "}) {
			t.Errorf("%q", pieces)
		}
	})
	t.Run("steps", func(t *testing.T) { testSteps(t, s, agent) })
}

// testReading: resources, prompts and completions.
func testReading(t *testing.T, session *mcp.ClientSession) {
	t.Helper()
	read, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "note://one"})
	if err != nil || read.Contents[0].Text != "the note at note://one" {
		t.Errorf("resource: %v, %v", read, err)
	}
	prompt, err := session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "greet", Arguments: map[string]string{"who": "Ada"}})
	if err != nil || prompt.Messages[0].Content.(*mcp.TextContent).Text != "Say hello to Ada." {
		t.Errorf("prompt: %v, %v", prompt, err)
	}
	offered, err := session.Complete(t.Context(), &mcp.CompleteParams{
		Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "greet"}, Argument: mcp.CompleteParamsArgument{Name: "who", Value: "Al"},
	})
	if err != nil || !slices.Equal(offered.Completion.Values, []string{"Alan"}) {
		t.Errorf("completion: %v, %v", offered, err)
	}
}

// testCancel: a client that gives up is heard by the handler.
func testCancel(t *testing.T, s *server, agent *agentProcess) {
	session := s.connect(agent.id, "2025-06-18", nil)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	go func() { // ends with the call
		if _, err := agent.Out.Await(ctx, func(line string) bool { return line == "waiting" }); err == nil {
			cancel()
		}
	}()
	if result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "wait"}); err == nil {
		t.Errorf("a cancelled call has a result: %v", result)
	}
	await(t, agent.Process, "ended by cancelled")

	task, err := s.client().CreateTask(t.Context(), agent.id, client.TaskRequest{Message: "pause"})
	if err != nil {
		t.Fatal(err)
	}
	if task, err = s.client().CancelTask(t.Context(), agent.id, task.ID, "enough"); err != nil || task.Status != beeos.TaskCanceled {
		t.Errorf("%+v, %v", task, err)
	}
}

// testApproval: the owner says yes to one call and no to another.
func testApproval(t *testing.T, s *server, agent *agentProcess) {
	c := s.client()
	a, err := c.Agent(t.Context(), agent.id)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"a.csv": "saved a.csv", "b.csv": "not saved: wrong folder"} {
		got := make(chan string, 1)
		go func() { // ends with the call
			result, err := c.CallTool(t.Context(), a, "save", json.RawMessage(`{"path":"`+path+`"}`))
			if err != nil {
				got <- err.Error()
				return
			}
			got <- result.Text()
		}()
		waiting := awaitApproval(t, c)
		if path == "a.csv" {
			_, err = c.Approve(t.Context(), waiting.ID)
		} else {
			_, err = c.Reject(t.Context(), waiting.ID, "wrong folder")
		}
		if err != nil || string(waiting.Arguments) != `{"path":"`+path+`"}` || waiting.Tool != "write_file" {
			t.Errorf("%+v, %v", waiting, err)
		}
		if text := <-got; text != want {
			t.Errorf("%s: got %q, want %q", path, text, want)
		}
	}
}

func awaitApproval(t *testing.T, c *client.Client) client.Approval {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(patience); ; {
		list, err := c.Approvals(t.Context(), "pending")
		if err == nil && len(list) == 1 {
			return list[0]
		}
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("no approval is pending: %v, %v", list, err)
		}
	}
}

// testOddInput: what comes back is what went in, whatever it is.
func testOddInput(t *testing.T, s *server, agent *agentProcess) {
	session := s.connect(agent.id, "2025-11-25", nil)
	long := strings.Repeat("0123456789abcdef", 40<<10) // 640 KiB
	for name, in := range map[string]map[string]any{
		"nothing":  {},
		"unicode":  {"é": "\u2028 <&> \"\\ 🐝 \t\n\r", "": "empty name"},
		"numbers":  {"tiny": 1e-7, "large": 9007199254740991, "negative": -0.5},
		"nested":   {"a": []any{nil, true, map[string]any{"b": []any{}}}},
		"names":    {"__proto__": map[string]any{"x": 1.0}, "constructor": "y", "toString": "z"},
		"half 1MB": {"long": long},
	} {
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: in})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want, err1 := json.Marshal(in)
		got, err2 := json.Marshal(result.StructuredContent)
		var a, b any
		if err1 != nil || err2 != nil || json.Unmarshal(want, &a) != nil || json.Unmarshal(got, &b) != nil {
			t.Fatal(err1, err2)
		}
		if want, _ = json.Marshal(a); string(want) != remarshal(b) {
			t.Errorf("%s: got %.300s, want %.300s", name, got, want)
		}
	}
	answer, err := s.client().Invoke(t.Context(), agent.id, client.InvokeRequest{Message: long})
	if err != nil || answer.Text != "you said: "+long {
		t.Errorf("a long text: %d bytes, %v", len(answer.Text), err)
	}
}

func remarshal(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// testSteps: what the agent told of its work is on the page of the call.
func testSteps(t *testing.T, s *server, agent *agentProcess) {
	c := s.client()
	a, err := c.Agent(t.Context(), agent.id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.CallTool(t.Context(), a, "work", json.RawMessage(`{"text":"seen"}`)); err != nil {
		t.Fatal(err)
	}
	for one, err := range c.Calls(t.Context(), client.CallFilter{AgentID: agent.id, Tool: "work"}) {
		if err != nil {
			t.Fatal(err)
		}
		detail, err := c.Call(t.Context(), one.ID)
		if err != nil || len(detail.Steps) != 1 || detail.Steps[0].Name != "think" || detail.Steps[0].OutputTokens != 4 {
			t.Errorf("%+v, %v", detail, err)
		}
	}
}
