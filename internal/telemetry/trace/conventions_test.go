package trace

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
)

// TestStepsBecomeSpans: named as the conventions say, and without what the agent
// told of arguments and answers.
func TestStepsBecomeSpans(t *testing.T) {
	for name, c := range map[string]struct {
		step  beeos.Step
		kind  Kind
		attrs map[string]string
		fails string
	}{
		"execute_tool search": {
			step: beeos.Step{Name: "search", Kind: beeos.StepTool, Attributes: map[string]string{"query": "secret"}},
			kind: Internal, attrs: map[string]string{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "beeos.step.kind": "tool"},
		},
		"tools/call fetch": {
			step: beeos.Step{Name: "fetch", Kind: beeos.StepTool, Error: "secret", Attributes: map[string]string{"server": "web", "result_bytes": "12"}},
			kind: Client, fails: "tool_error", attrs: map[string]string{
				"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "fetch", "mcp.method.name": "tools/call", "beeos.skill": "web",
				"beeos.result.bytes": "12", "beeos.step.kind": "tool",
			},
		},
		"chat m1": {
			step: beeos.Step{Name: "thinking", Kind: beeos.StepModel, Model: "m1", InputTokens: 10, OutputTokens: 3, Attributes: map[string]string{"finish": "end", "provider": "openai"}},
			kind: Client, attrs: map[string]string{
				"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "m1", "gen_ai.usage.input_tokens": "10",
				"gen_ai.usage.output_tokens": "3", "gen_ai.response.finish_reasons": `["end"]`, "beeos.step.kind": "model",
			},
		},
		"chat": {
			step: beeos.Step{Kind: beeos.StepModel, Error: "secret"}, kind: Client, fails: "_OTHER",
			attrs: map[string]string{"gen_ai.operation.name": "chat", "gen_ai.provider.name": "_OTHER", "beeos.step.kind": "model"},
		},
		"retrieval library": {
			step: beeos.Step{Name: "library", Kind: beeos.StepRetrieval}, kind: Internal,
			attrs: map[string]string{"gen_ai.operation.name": "retrieval", "beeos.step.kind": "retrieval"},
		},
		"tidy up": {step: beeos.Step{Name: "tidy up", Kind: beeos.StepOther}, kind: Internal, attrs: map[string]string{"beeos.step.kind": "other"}},
	} {
		got := DescribeStep(&c.step)
		attrs := map[string]string{}
		for _, a := range said(got.Attrs) {
			attrs[string(a.Key)] = a.Value.String()
		}
		if diff := cmp.Diff(c.attrs, attrs); diff != "" || got.Name != name || got.Kind != c.kind || got.Error != c.fails || strings.Contains(got.Words, "secret") {
			t.Errorf("%s: %q, kind %v, %q: %s", name, got.Name, got.Kind, got.Error, diff)
		}
	}
}

// TestEntriesAreNamed: as each protocol's convention says.
func TestEntriesAreNamed(t *testing.T) {
	for want, e := range map[string]Entry{
		"tools/call search":       {Surface: "mcp", Method: "tools/call", Target: "search"},
		"prompts/get hello":       {Surface: "mcp", Method: "prompts/get", Target: "hello"},
		"resources/read":          {Surface: "mcp", Method: "resources/read"},
		"SendMessage":             {Surface: "a2a", Method: "SendMessage"},
		"POST /api/v1/tasks":      {Surface: "rest", Method: "POST /api/v1/tasks"},
		"web call":                {Surface: "web"},
		"POST /chat/{id}/message": {Surface: "web", Method: "POST /chat/{id}/message"},
	} {
		if got := e.Name(); got != want {
			t.Errorf("%+v: %q, want %q", e, got, want)
		}
	}
	rest := Entry{Surface: "rest", Method: "POST /api/v1/tasks"}
	attrs := map[string]string{}
	for _, a := range said(rest.Attrs()) {
		attrs[string(a.Key)] = a.Value.String()
	}
	if diff := cmp.Diff(map[string]string{"beeos.surface": "rest", "http.request.method": "POST", "http.route": "/api/v1/tasks"}, attrs); diff != "" {
		t.Error(diff)
	}
}
