//go:build unix && clients

package frameworks

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/npm"
	"github.com/beeos/beeos/test/python"
)

// TestPagesRun runs what docs/how-to/connect-*.md show, word for word but for the
// address: whole programs of each library, with a model of the test's own that
// speaks as OpenAI's does.
func TestPagesRun(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	id := app.Connect(t, agent.Options{Name: "weather", Description: "Knows the weather.", Tools: []agent.Tool{{
		Name: "forecast", Description: "The forecast for a city.", Schema: []byte(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`), Handle: forecast,
	}}}, ping)
	model := httptest.NewServer(http.HandlerFunc(callForecast))
	t.Cleanup(model.Close)
	for _, p := range []struct{ page, language, packages string }{
		{"connect-openai-agents.md", "python", "mcp-2.txt"},
		{"connect-langgraph.md", "python", "langgraph.txt"},
		{"connect-vercel-ai.md", "js", "node-page"},
	} {
		t.Run(p.page, func(t *testing.T) {
			program := pageProgram(t, p.page, p.language, app.MCP+"/"+id+"/mcp")
			ctx, cancel := context.WithTimeout(t.Context(), runWithin)
			defer cancel()
			cmd := pageCommand(ctx, t, p.language, p.packages, program)
			home := t.TempDir()
			cmd.Env = []string{
				"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CONFIG_HOME=" + home, "BEEOS_KEY=" + app.UserKey,
				"OPENAI_API_KEY=none", "OPENAI_BASE_URL=" + model.URL + "/v1", "OPENAI_AGENTS_DISABLE_TRACING=1",
			}
			var log strings.Builder
			cmd.Stderr = &log
			out, err := cmd.Output()
			if err != nil || strings.TrimSpace(string(out)) != "I heard: sunny in Oslo" {
				t.Errorf("%v: it printed %q\n%s", err, out, log.String())
			}
		})
	}
}

func forecast(_ context.Context, m agent.Message, r *agent.Reply) error {
	var in struct{ City string }
	if err := m.Bind(&in); err != nil {
		return err
	}
	return r.Send("sunny in " + in.City)
}

// pageProgram is the program of a page, for that endpoint.
func pageProgram(t *testing.T, name, language, endpoint string) string {
	t.Helper()
	const address = "http://localhost:8094/{agentId}/mcp"
	_, rest, found := strings.Cut(string(read(t, "..", "..", "docs", "how-to", name)), "```"+language+"\n")
	code, _, ended := strings.Cut(rest, "\n```")
	if !found || !ended || strings.Count(code, address) != 1 {
		t.Fatalf("%s has no program in %s with the address %s", name, language, address)
	}
	return strings.Replace(code, address, endpoint, 1)
}

// pageCommand runs a program where its packages are.
func pageCommand(ctx context.Context, t *testing.T, language, packages, program string) *exec.Cmd {
	t.Helper()
	if language == "python" {
		bin, err := python.Install(t.Context(), read(t, "requirements", packages))
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "page.py")
		if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
			t.Fatal(err)
		}
		return exec.CommandContext(ctx, bin, file)
	}
	tools, err := npm.Install(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	installed, err := npm.InstallLocked(t.Context(), read(t, packages, "package.json"), read(t, packages, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := tools.Node(ctx, "--input-type=module", "-")
	cmd.Dir, cmd.Stdin = installed.Dir, strings.NewReader(program)
	return cmd
}

// callForecast is a model that calls the tool forecast once it is offered, and then
// says what that said: in both of OpenAI's formats.
func callForecast(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	text, call := "there is nothing to call", false
	switch asked := string(body); {
	case strings.Contains(asked, "sunny in Oslo"):
		text = "I heard: sunny in Oslo"
	case strings.Contains(asked, `"forecast"`):
		call = true
	}
	const arguments = `{"city":"Oslo"}`
	var answer any
	if strings.HasSuffix(r.URL.Path, "/responses") {
		item := map[string]any{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": []any{map[string]any{"type": "output_text", "text": text, "annotations": []any{}}}}
		if call {
			item = map[string]any{"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "forecast", "arguments": arguments, "status": "completed"}
		}
		answer = map[string]any{
			"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "gpt-5", "output": []any{item}, "parallel_tool_calls": true, "tool_choice": "auto", "tools": []any{},
			"usage": map[string]any{"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, "input_tokens_details": map[string]int{"cached_tokens": 0}, "output_tokens_details": map[string]int{"reasoning_tokens": 0}},
		}
	} else {
		message, why := map[string]any{"role": "assistant", "content": text}, "stop"
		if call {
			message["content"], why = nil, "tool_calls"
			message["tool_calls"] = []any{map[string]any{"id": "call_1", "type": "function", "function": map[string]string{"name": "forecast", "arguments": arguments}}}
		}
		answer = map[string]any{
			"id": "chat_1", "object": "chat.completion", "created": 1, "model": "gpt-5", "choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": why}},
			"usage": map[string]int{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
		}
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		fmt.Fprintln(os.Stderr, "the model:", err)
	}
}
