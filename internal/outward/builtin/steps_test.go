package builtin_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/outward/builtin/answer"
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
	if tool.Kind != beeos.StepTool || tool.Name != "files__save_csv" || tool.Attributes["server"] != "files" || tool.Attributes["result_bytes"] == "" || tool.Error != "" ||
		tool.Attributes[beeos.StepApproval] != beeos.WentByItself || tool.Attributes[beeos.StepDecidedBy] != "" || !strings.Contains(tool.Attributes[beeos.StepArguments], `"filename":"invoice-1`) {
		t.Errorf("the tool: %+v", tool)
	}
}

// TestStepsTellDecisions: whether somebody was asked about a tool, who decided, and the
// beginning of what it was to be called with.
func TestStepsTellDecisions(t *testing.T) {
	for name, yes := range map[string]bool{beeos.StepApproved: true, beeos.StepDenied: false} {
		t.Run(name, func(t *testing.T) {
			srv := skillServer(t)
			s := start(t, builtin.Options{Approve: gate, Model: llm.Script(func(r llm.Request) []llm.Delta {
				if r.Messages[len(r.Messages)-1].Role == llm.ToolRole {
					return llm.Say("done")
				}
				return []llm.Delta{call("c1", "files__save_csv", csv{Filename: strings.Repeat("long", 300), Rows: []map[string]any{}})}
			})})
			_, id := s.create(t, builtin.Definition{Name: "clerk", Servers: files(srv.URL, false)}, nil)
			c := client.New(s.REST, s.UserKey)
			said := make(chan string, 1)
			go func() { said <- s.callAgent(t, id, "save it") }() // awaited below
			decide(t, c, s.waiting(t, c).ID, yes)
			<-said
			for one, err := range c.Calls(t.Context(), client.CallFilter{AgentID: id}) {
				if err != nil {
					t.Fatal(err)
				}
				made, err := c.Call(t.Context(), one.ID)
				if err != nil || len(made.Steps) != 3 {
					t.Fatalf("%+v, %v", made, err)
				}
				got := made.Steps[1].Attributes
				if got[beeos.StepApproval] != name || !strings.HasPrefix(got[beeos.StepDecidedBy], "user:") {
					t.Errorf("decided: %v", got)
				}
				if text := got[beeos.StepArguments]; !strings.HasPrefix(text, `{"filename":"longlong`) || !strings.HasSuffix(text, "…") || len(text) > 600 {
					t.Errorf("called with %q", text)
				}
			}
		})
	}
}

// TestManyArgumentsLeaveStepsWhole: however much tools are called with, the steps are
// all kept.
func TestManyArgumentsLeaveStepsWhole(t *testing.T) {
	srv := skillServer(t)
	const calls = 90
	s := start(t, builtin.Options{Model: llm.Script(func(r llm.Request) (list []llm.Delta) {
		if r.Messages[len(r.Messages)-1].Role == llm.ToolRole {
			return llm.Say("done")
		}
		for i := range calls {
			list = append(list, call(fmt.Sprint("c", i), "files__save_csv", csv{Filename: strings.Repeat(`"\\`, 300), Rows: []map[string]any{}}))
		}
		return list
	})})
	_, id := s.create(t, builtin.Definition{Name: "clerk", Limits: answer.Limits{Calls: calls}, Servers: files(srv.URL, true)}, nil)
	s.ask(t, id, "", "save all")
	c := client.New(s.REST, s.UserKey)
	for one, err := range c.Calls(t.Context(), client.CallFilter{AgentID: id}) {
		if err != nil {
			t.Fatal(err)
		}
		made, err := c.Call(t.Context(), one.ID)
		if err != nil || len(made.Steps) != calls+2 {
			t.Fatalf("%d steps, %v", len(made.Steps), err)
		}
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
