package builtin_test

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/outward/llm"
)

// TestStepsOfAnAnswer: whoever owns a built-in agent sees what it did for an answer:
// each question to the model with its tokens, each tool with its server.
func TestStepsOfAnAnswer(t *testing.T) {
	srv := skillServer(t)
	s := start(t, builtin.Options{Model: llm.Script(saving)})
	_, id := s.create(t, builtin.Definition{Name: "clerk", Model: "small-1", Servers: files(srv.URL, true)}, nil)
	s.ask(t, id, "", "invoice-1")
	c := client.New(s.REST, s.UserKey)
	var turn string
	for one, err := range c.Calls(t.Context(), client.CallFilter{AgentID: id}) {
		if err != nil {
			t.Fatal(err)
		}
		turn = one.ID
	}
	made, err := c.Call(t.Context(), turn)
	if err != nil || len(made.Steps) != 3 {
		t.Fatalf("%+v, %v", made, err)
	}
	first, tool, second := made.Steps[0], made.Steps[1], made.Steps[2]
	for _, m := range []beeos.Step{first, second} {
		if m.Kind != beeos.StepModel || m.Name != "small-1" || m.Model != "small-1" || m.InputTokens <= 0 || m.OutputTokens <= 0 || m.Error != "" {
			t.Errorf("the model: %+v", m)
		}
	}
	if first.Attributes["tool_calls"] != "1" || second.Attributes["tool_calls"] != "" {
		t.Errorf("%v, then %v", first.Attributes, second.Attributes)
	}
	if tool.Kind != beeos.StepTool || tool.Name != "files__save_csv" || tool.Attributes["server"] != "files" || tool.Attributes["result_bytes"] == "" || tool.Error != "" {
		t.Errorf("the tool: %+v", tool)
	}
}

// TestStepsTellWhatOnlyReads: a tool that says of itself that it changes nothing
// is told as one, and no other.
func TestStepsTellWhatOnlyReads(t *testing.T) {
	srv := skillServer(t)
	mcp.AddTool(srv.mcp, &mcp.Tool{Name: "look", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "nothing there"}}}, nil, nil
	})
	s := start(t, builtin.Options{Model: llm.Script(func(r llm.Request) []llm.Delta {
		if r.Messages[len(r.Messages)-1].Role == llm.ToolRole {
			return llm.Say("done")
		}
		return []llm.Delta{call("c1", "files__look", struct{}{}), call("c2", "files__save_csv", csv{Filename: "x", Rows: []map[string]any{}})}
	})})
	_, id := s.create(t, builtin.Definition{Name: "clerk", Servers: files(srv.URL, true)}, nil)
	s.ask(t, id, "", "look and save")
	c := client.New(s.REST, s.UserKey)
	told := map[string]string{}
	for one, err := range c.Calls(t.Context(), client.CallFilter{AgentID: id}) {
		if err != nil {
			t.Fatal(err)
		}
		made, err := c.Call(t.Context(), one.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range made.Steps {
			if step.Kind == beeos.StepTool {
				told[step.Name] = step.Attributes[beeos.StepReadOnly]
			}
		}
	}
	if len(told) != 2 || told["files__look"] != "true" || told["files__save_csv"] != "" {
		t.Errorf("%v", told)
	}
}
