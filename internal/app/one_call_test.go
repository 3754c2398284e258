package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/apptest"
)

// saying is what a caller says to an agent, by whichever surface.
type saying struct{ text, key, context string }

// entries are the ways to say something to an agent and wait for the answer,
// by their names; each returns all that came back.
func entries(t *testing.T, a *apptest.App, id string) map[string]func(key string, s saying) string {
	t.Helper()
	post := func(url, key string, body any, headers ...string) string {
		t.Helper()
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(string(raw)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		req.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(answer)
	}
	full, err := client.New(a.REST, a.UserKey).Agent(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	call := func(method string, params any) any {
		return map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
	}
	given := func(fields map[string]any, optional ...string) map[string]any {
		for i := 0; i < len(optional); i += 2 {
			if optional[i+1] != "" {
				fields[optional[i]] = optional[i+1]
			}
		}
		return fields
	}
	return map[string]func(string, saying) string{
		"rest": func(key string, s saying) string {
			return post(a.REST+"/api/v1/agents/"+id+"/invoke", key, given(map[string]any{"message": s.text}, "context_id", s.context, "idempotency_key", s.key))
		},
		"mcp": func(key string, s saying) string {
			args := given(map[string]any{"message": s.text}, "context_id", s.context, "idempotency_key", s.key)
			return post(full.MCPURL, key, call("tools/call", map[string]any{"name": id, "arguments": args}))
		},
		"a2a": func(key string, s saying) string {
			message := given(map[string]any{"role": "ROLE_USER", "messageId": beeos.NewID(), "parts": []any{map[string]string{"text": s.text}}}, "contextId", s.context, "messageId", s.key)
			return post(full.A2AURL, key, call("SendMessage", map[string]any{"message": message}), "A2A-Version", "1.0")
		},
	}
}

// TestOneKeyIsOneCallOnEverySurface: what was said over one surface under an
// idempotency key, and is said again over another, is answered from the log;
// other words under that key are refused, and somebody else's key is another.
func TestOneKeyIsOneCallOnEverySurface(t *testing.T) {
	a := apptest.Start(t, apptest.Config(t))
	var calls atomic.Int32
	id := a.Connect(t, agent.Options{Name: "counter"}, func(_ context.Context, m agent.Message, r *agent.Reply) error {
		r.Text(fmt.Sprintf("answer %d to %s", calls.Add(1), m.Text))
		return nil
	})
	ways := entries(t, a, id)
	other, err := client.New(a.REST, a.UserKey).CreateKey(t.Context(), "", client.KeyRequest{Name: "another"})
	if err != nil {
		t.Fatal(err)
	}
	for first, ask := range ways {
		for _, context := range []string{"", "a project of " + first} {
			s := saying{text: "words of " + first, key: first + context, context: context}
			n := calls.Load() + 1
			want := fmt.Sprintf("answer %d to %s", n, s.text)
			if got := ask(a.UserKey, s); !strings.Contains(got, want) {
				t.Fatalf("%s: %s, want %q", first, got, want)
			}
			for again, ask := range ways {
				if got := ask(a.UserKey, s); !strings.Contains(got, want) {
					t.Errorf("said over %s, repeated over %s: %s, want %q", first, again, got, want)
				}
				if got := ask(a.UserKey, saying{"other words", s.key, context}); !strings.Contains(got, "another payload") {
					t.Errorf("said over %s, other words over %s: %s, want a conflict", first, again, got)
				}
				if got := ask(a.UserKey, saying{s.text, s.key, "elsewhere"}); !strings.Contains(got, "another payload") {
					t.Errorf("said over %s, in another context over %s: %s, want a conflict", first, again, got)
				}
			}
			if calls.Load() != n {
				t.Errorf("said over %s: the agent was called %d times", first, calls.Load()-n+1)
			}
			if got := ask(other.Secret, s); !strings.Contains(got, fmt.Sprintf("answer %d to", n+1)) {
				t.Errorf("%s, with another credential: %s", first, got)
			}
		}
	}
}

// TestOneLimitForKeys: an idempotency key has one limit and one message.
func TestOneLimitForKeys(t *testing.T) {
	a := apptest.Start(t, apptest.Config(t))
	id := a.Connect(t, agent.Options{Name: "listener"}, func(_ context.Context, m agent.Message, r *agent.Reply) error {
		r.Text("heard " + m.Text)
		return nil
	})
	for name, ask := range entries(t, a, id) {
		longest := name + strings.Repeat("k", 256-len(name))
		if got := ask(a.UserKey, saying{text: name, key: longest}); !strings.Contains(got, "heard "+name) {
			t.Errorf("%s, 256 bytes: %s", name, got)
		}
		for _, key := range []string{longest + "k", strings.Repeat("é", 129)} {
			if got := ask(a.UserKey, saying{text: name, key: key}); !strings.Contains(got, "must be UTF-8 text of 1 to 256 bytes, without zero bytes") {
				t.Errorf("%s, %d bytes: %s", name, len(key), got)
			}
		}
	}
}

// TestModelOfAConversationHoldsOnEverySurface: whoever goes on with a
// conversation does so with the model that was chosen for it.
func TestModelOfAConversationHoldsOnEverySurface(t *testing.T) {
	a := apptest.Start(t, apptest.Config(t))
	id := a.Connect(t, agent.Options{Name: "chooser", Capabilities: json.RawMessage(`{"modelsSet":true}`)},
		func(_ context.Context, m agent.Message, r *agent.Reply) error {
			r.Text("model=" + m.Model + ".")
			return nil
		})
	conversation, err := client.New(a.REST, a.UserKey).CreateConversation(t.Context(), id, "")
	if err != nil {
		t.Fatal(err)
	}
	url := a.REST + "/api/v1/agents/" + id + "/conversations/" + conversation.ID + "/model"
	req, err := http.NewRequestWithContext(t.Context(), "PUT", url, strings.NewReader(`{"modelOverrideId":"m1"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+a.UserKey)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", "choose")
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusAccepted {
		t.Fatalf("choose a model: %v, %v", resp, err)
	}
	resp.Body.Close()
	for name, ask := range entries(t, a, id) {
		if got := ask(a.UserKey, saying{text: "which?", context: conversation.ID}); !strings.Contains(got, "model=m1.") {
			t.Errorf("%s in the conversation: %s, want the chosen model", name, got)
		}
		if got := ask(a.UserKey, saying{text: "which?"}); !strings.Contains(got, "model=.") {
			t.Errorf("%s elsewhere: %s, want the agent's own model", name, got)
		}
	}
}
