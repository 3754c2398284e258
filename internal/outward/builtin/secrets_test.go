package builtin_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/outward/llm"
)

// TestSecretArgumentsAreNotRecorded: what a skill server's schema names secret
// reaches the tool, and neither the record of the answer nor whoever approves.
func TestSecretArgumentsAreNotRecorded(t *testing.T) {
	srv := skillServer(t)
	given := make(chan string, 1)
	srv.mcp.AddTool(&mcp.Tool{Name: "login", InputSchema: json.RawMessage(`{"type":"object","properties":{"pass":{"type":"string","writeOnly":true},"user":{"type":"string"}}}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			given <- string(r.Params.Arguments)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "in"}}}, nil
		})
	s := start(t, builtin.Options{Approve: gate, Model: llm.Script(func(r llm.Request) []llm.Delta {
		if r.Messages[len(r.Messages)-1].Role == llm.ToolRole {
			return llm.Say("done")
		}
		return []llm.Delta{call("c1", "files__login", map[string]string{"pass": "hush", "user": "ann"})}
	})})
	_, id := s.create(t, builtin.Definition{Name: "clerk", Servers: files(srv.URL, false)}, nil)
	c := client.New(s.REST, s.UserKey)
	said := make(chan string, 1)
	go func() { said <- s.callAgent(t, id, "log in") }()
	a := s.waiting(t, c)
	if string(a.Arguments) != `{"pass":"•••","user":"ann"}` {
		t.Errorf("asked about %s", a.Arguments)
	}
	decide(t, c, a.ID, true)
	if got := <-given; !strings.Contains(got, "hush") {
		t.Errorf("the tool was given %s", got)
	}
	<-said
	for one, err := range c.Calls(t.Context(), client.CallFilter{AgentID: id}) {
		if err != nil {
			t.Fatal(err)
		}
		made, err := c.Call(t.Context(), one.ID)
		if err != nil {
			t.Fatal(err)
		}
		all, err := json.Marshal(made)
		if err != nil || strings.Contains(string(all), "hush") || !strings.Contains(string(made.Reply.Parts), `"arguments":{"pass":"•••","user":"ann"}`) {
			t.Errorf("%s, %v", all, err)
		}
		if got := made.Steps[1].Attributes[beeos.StepArguments]; got != `{"pass":"•••","user":"ann"}` {
			t.Errorf("the step tells %s", got)
		}
	}
}
