package builtin_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/outward/llm"
)

// A service that asks for a tool in its first answer and says "done" in its
// second; arguments and reason are those of the first.
var services = map[string]func(arguments, reason string, asked int32) string{
	llm.OpenAI: func(arguments, reason string, asked int32) string {
		if asked > 1 {
			return `data: {"choices":[{"index":0,"delta":{"content":"done"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
		}
		return fmt.Sprintf(`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"files__save_csv","arguments":%q}}]},"finish_reason":%q}]}`, arguments, reason) + "\n\ndata: [DONE]\n\n"
	},
	llm.Anthropic: func(arguments, reason string, asked int32) string {
		reason = map[string]string{"tool_calls": "tool_use", "length": "max_tokens"}[reason]
		events := []string{
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c1","name":"files__save_csv","input":{}}}`,
			fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":%q}}`, arguments),
			`{"type":"content_block_stop","index":0}`,
			fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q}}`, reason),
		}
		if asked > 1 {
			events = []string{`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"done"}}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`}
		}
		return "data: " + strings.Join(append(events, `{"type":"message_stop"}`), "\n\ndata: ") + "\n\n"
	},
}

// TestInvalidArgumentsAreNeverExecuted: a call whose arguments do not parse, or
// whose answer ran into the limit of tokens, is not made and nobody is asked
// about it; the model is told why.
func TestInvalidArgumentsAreNeverExecuted(t *testing.T) {
	const whole = `{"filename":"invoice-1","rows":[]}`
	for provider, write := range services {
		for name, c := range map[string]struct {
			arguments, reason, told string
		}{
			"half an object": {`{"filename":"invoice-1","ro`, "tool_calls", "not a JSON object"},
			"a list":         {`["invoice-1"]`, "tool_calls", "not a JSON object"},
			"cut off":        {`{"filename":"invo`, "length", "cut off by the limit of tokens"},
			"cut off early":  {``, "length", "cut off by the limit of tokens"},
			"cut off late":   {whole, "length", "cut off by the limit of tokens"},
			"whole":          {whole, "tool_calls", "CSV saved"},
		} {
			t.Run(provider+" "+name, func(t *testing.T) {
				var asked atomic.Int32
				var told atomic.Value
				service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					told.Store(string(body))
					fmt.Fprint(w, write(c.arguments, c.reason, asked.Add(1)))
				}))
				defer service.Close()
				model, err := llm.Open(llm.Settings{Provider: provider, URL: service.URL, Model: "m", Key: "k"})
				if err != nil {
					t.Fatal(err)
				}
				srv := skillServer(t)
				s := start(t, builtin.Options{Model: model})
				_, id := s.create(t, builtin.Definition{Name: "clerk", Servers: files(srv.URL, true)}, nil)
				if a := s.ask(t, id, "", "go"); a.Text != "done" {
					t.Errorf("%+v", a)
				}
				if last := told.Load().(string); !strings.Contains(last, c.told) {
					t.Errorf("the model was not told %q: %s", c.told, last)
				}
				if n := len(srv.files()); n > 0 != (name == "whole") {
					t.Errorf("the tool ran %d times", n)
				}
			})
		}
	}
}
