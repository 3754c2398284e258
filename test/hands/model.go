package hands

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/beeos/beeos/internal/config"
)

// modelKey is what the model wants to see.
const modelKey = "the model's key"

// Model speaks OpenAI's chat completions and answers by a script.
type Model struct {
	front  *httptest.Server
	mu     sync.Mutex
	script func(Talk) Words
	talks  []Talk
	traces []string // the traceparent of each
}

// Talk is what the model is asked.
type Talk struct {
	Messages []Message
	Tools    []string
}

// Message is one of a conversation.
type Message struct {
	Role    string `json:"role"` // system, user, assistant or tool
	Content string `json:"content"`
}

// Last is what was said last.
func (t Talk) Last() Message { return t.Messages[len(t.Messages)-1] }

// Words are what the model answers.
type Words struct {
	Text  string
	Calls []Call
}

// Call is a tool call that the model wants, with its arguments as it writes
// them.
type Call struct{ Tool, Arguments string }

// Save is the wish to call save_csv.
func Save(in Invoice) Call {
	arguments, _ := json.Marshal(in) // of plain values
	return Call{Tool: Skill + "__" + SaveCSV, Arguments: string(arguments)}
}

// NewModel starts a model.
func NewModel(t testing.TB, script func(Talk) Words) *Model {
	t.Helper()
	m := &Model{script: script}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", m.complete)
	m.front = httptest.NewServer(mux)
	t.Cleanup(func() {
		m.front.CloseClientConnections()
		m.front.Close()
	})
	return m
}

// Env is the settings of a server that thinks with the model and lets agents
// reach servers on this machine.
func (m *Model) Env() []string {
	return []string{
		"LLM_PROVIDER=openai", "LLM_URL=" + m.front.URL + "/v1", "LLM_MODEL=script", "LLM_API_KEY=" + modelKey, "BEEOS_ALLOW_PRIVATE=true",
	}
}

// Play gives the model another script.
func (m *Model) Play(script func(Talk) Words) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.script = script
}

// Talks are what the model was asked so far.
func (m *Model) Talks() []Talk {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.talks)
}

// Traces are the headers traceparent that it was asked with.
func (m *Model) Traces() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.traces)
}

// Settings are those of Env, for a server in this process.
func (m *Model) Settings() config.LLM {
	return config.LLM{Provider: "openai", URL: m.front.URL + "/v1", Model: "script", APIKey: modelKey}
}

func (m *Model) complete(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Model    string    `json:"model"`
		Stream   bool      `json:"stream"`
		Messages []Message `json:"messages"`
		Tools    []struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tools"`
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || !asked.Stream || len(asked.Messages) == 0 || r.Header.Get("Authorization") != "Bearer "+modelKey {
		http.Error(w, `{"error":{"message":"this is not a request for a streamed chat completion"}}`, http.StatusBadRequest)
		return
	}
	talk := Talk{Messages: asked.Messages}
	for _, t := range asked.Tools {
		talk.Tools = append(talk.Tools, t.Function.Name)
	}
	m.mu.Lock()
	m.talks, m.traces = append(m.talks, talk), append(m.traces, r.Header.Get("Traceparent"))
	n, script := len(m.talks), m.script
	m.mu.Unlock()
	m.stream(w, n, script(talk))
}

// stream answers in pieces, as the service does: text by the word, a call's
// arguments in halves.
func (m *Model) stream(w http.ResponseWriter, n int, words Words) {
	w.Header().Set("Content-Type", "text/event-stream")
	type object = map[string]any
	send := func(choice object) {
		chunk, _ := json.Marshal(object{"id": fmt.Sprint("chat-", n), "object": "chat.completion.chunk", "choices": []object{choice}}) // plain values
		fmt.Fprintf(w, "data: %s\n\n", chunk)
	}
	for _, word := range strings.SplitAfter(words.Text, " ") {
		send(object{"index": 0, "delta": object{"content": word}})
	}
	stop := "stop"
	for i, c := range words.Calls {
		stop = "tool_calls"
		half := len(c.Arguments) / 2
		send(object{"index": 0, "delta": object{"tool_calls": []object{{
			"index": i, "id": fmt.Sprintf("call-%d-%d", n, i), "type": "function", "function": object{"name": c.Tool, "arguments": c.Arguments[:half]},
		}}}})
		send(object{"index": 0, "delta": object{"tool_calls": []object{{"index": i, "function": object{"arguments": c.Arguments[half:]}}}}})
	}
	send(object{"index": 0, "delta": object{}, "finish_reason": stop})
	fmt.Fprint(w, `data: {"id":"usage","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":10,"total_tokens":20}}`+"\n\ndata: [DONE]\n\n")
}
