package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
)

// service answers every request with one of its answers, in order.
type service struct {
	*httptest.Server
	bodies  []map[string]any
	headers []http.Header
}

type answer struct {
	status int
	header map[string]string
	body   string
	hang   bool // after the body, until the client is gone
}

func serve(t *testing.T, answers ...answer) *service {
	t.Helper()
	s := &service{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		text, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(text, &body); err != nil {
			t.Errorf("the request is no JSON: %v", err)
		}
		s.bodies, s.headers = append(s.bodies, body), append(s.headers, r.Header)
		a := answers[min(len(s.bodies), len(answers))-1]
		for k, v := range a.header {
			w.Header().Set(k, v)
		}
		w.WriteHeader(max(a.status, 200))
		fmt.Fprint(w, a.body)
		if a.hang {
			http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// open returns a model of the service that counts how long it was told to wait.
func (s *service) open(t *testing.T, provider string) (Model, *[]time.Duration) {
	t.Helper()
	var waits []time.Duration
	client := &http.Client{Transport: &retryTransport{base: http.DefaultTransport, wait: func(_ context.Context, d time.Duration) error {
		waits = append(waits, d)
		return nil
	}}}
	m, err := Open(Settings{Provider: provider, URL: s.URL, Model: "m-1", Key: "sk-secret", HTTP: client})
	if err != nil {
		t.Fatal(err)
	}
	return m, &waits
}

// heard is a whole answer.
type heard struct {
	Text, Reasoning string
	Calls           []Call
	Usage           Usage
	Stop            Stop
}

func listen(ctx context.Context, m Model, r Request) (h heard, err error) {
	for d, err := range m.Stream(ctx, r) {
		if err != nil {
			return h, err
		}
		h.Text += d.Text
		h.Reasoning += d.Reasoning
		if d.Call != nil {
			h.Calls = append(h.Calls, *d.Call)
		}
		if d.Usage != nil {
			h.Usage = *d.Usage
		}
		h.Stop = d.Stop
	}
	return h, nil
}

// conversation has one of everything.
var conversation = Request{
	System: "Be short.",
	Messages: []Message{
		{Role: User, Text: "Add 1 and 2, and 3 and 4."},
		{Role: Assistant, Text: "Adding.", Calls: []Call{{ID: "a", Name: "math__add", Arguments: json.RawMessage(`{"n":[1,2]}`)}, {ID: "b", Name: "math__add"}}},
		{Role: ToolRole, CallID: "a", Text: "3"},
		{Role: ToolRole, CallID: "b", Text: "no numbers", IsError: true},
	},
	Tools:     []Tool{{Name: "math__add", Description: "Adds.", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"array"}}}`)}, {Name: "clock__now"}},
	MaxTokens: 100,
}

const openaiCalls = `data: {"choices":[{"index":0,"delta":{"role":"assistant","reasoning_content":"Let me "}}]}

: keep-alive

data: {"choices":[{"index":0,"delta":{"reasoning_content":"think."}}]}

data: {"choices":[{"index":0,"delta":{"content":"One "}}]}

data: {"choices":[{"index":0,"delta":{"content":"moment."}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"math__add","arguments":"{\"n\":"}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"c2","type":"function","function":{"name":"clock__now","arguments":""}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"[5,6]}"}}]}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: {"choices":[],"usage":{"prompt_tokens":20,"completion_tokens":9,"total_tokens":29}}

data: [DONE]

`

const anthropicCalls = `event: message_start
data: {"type":"message_start","message":{"id":"m","role":"assistant","content":[],"usage":{"input_tokens":20,"output_tokens":1}}}

event: ping
data: {"type":"ping"}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me think."}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"One moment."}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"c1","name":"math__add","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"n\":"}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"[5,6]}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"c2","name":"clock__now","input":{}}}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}

event: message_stop
data: {"type":"message_stop"}

`

func TestAnswersAreStreamedWhole(t *testing.T) {
	want := heard{
		Text: "One moment.", Reasoning: "Let me think.", Usage: Usage{20, 9}, Stop: StopTools,
		Calls: []Call{{ID: "c1", Name: "math__add", Arguments: json.RawMessage(`{"n":[5,6]}`)}, {ID: "c2", Name: "clock__now", Arguments: json.RawMessage(`{}`)}},
	}
	for provider, body := range map[string]string{OpenAI: openaiCalls, Anthropic: anthropicCalls} {
		t.Run(provider, func(t *testing.T) {
			m, _ := serve(t, answer{body: body, header: map[string]string{"Content-Type": "text/event-stream"}}).open(t, provider)
			got, err := listen(t.Context(), m, conversation)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRequestsSayEverything(t *testing.T) {
	for provider, want := range map[string]string{
		OpenAI: `{"model":"m-1","max_completion_tokens":100,"stream":true,"stream_options":{"include_usage":true},
			"messages":[{"role":"system","content":"Be short."},{"role":"user","content":"Add 1 and 2, and 3 and 4."},
			{"role":"assistant","content":"Adding.","tool_calls":[{"id":"a","type":"function","function":{"name":"math__add","arguments":"{\"n\":[1,2]}"}},
			{"id":"b","type":"function","function":{"name":"math__add","arguments":"{}"}}]},
			{"role":"tool","content":"3","tool_call_id":"a"},{"role":"tool","content":"no numbers","tool_call_id":"b"}],
			"tools":[{"type":"function","function":{"name":"math__add","description":"Adds.","parameters":{"type":"object","properties":{"n":{"type":"array"}}}}},
			{"type":"function","function":{"name":"clock__now","parameters":{"type":"object"}}}]}`,
		Anthropic: `{"model":"m-1","max_tokens":100,"stream":true,"system":"Be short.",
			"messages":[{"role":"user","content":[{"type":"text","text":"Add 1 and 2, and 3 and 4."}]},
			{"role":"assistant","content":[{"type":"text","text":"Adding."},{"type":"tool_use","id":"a","name":"math__add","input":{"n":[1,2]}},{"type":"tool_use","id":"b","name":"math__add","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"3"},{"type":"tool_result","tool_use_id":"b","content":"no numbers","is_error":true}]}],
			"tools":[{"name":"math__add","description":"Adds.","input_schema":{"type":"object","properties":{"n":{"type":"array"}}}},{"name":"clock__now","input_schema":{"type":"object"}}]}`,
	} {
		t.Run(provider, func(t *testing.T) {
			s := serve(t, answer{body: map[string]string{OpenAI: openaiCalls, Anthropic: anthropicCalls}[provider]})
			m, _ := s.open(t, provider)
			if _, err := listen(t.Context(), m, conversation); err != nil {
				t.Fatal(err)
			}
			var expected map[string]any
			if err := json.Unmarshal([]byte(want), &expected); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(expected, s.bodies[0]); diff != "" {
				t.Error(diff)
			}
			key := s.headers[0].Get("Authorization") + s.headers[0].Get("X-Api-Key")
			if !strings.HasSuffix(key, "sk-secret") {
				t.Errorf("the key was sent as %q", key)
			}
		})
	}
}

func TestServicesThatRefuse(t *testing.T) {
	for _, provider := range []string{OpenAI, Anthropic} {
		for status, want := range map[int]beeos.Code{
			401: beeos.AgentServiceUnavailable, 404: beeos.AgentServiceUnavailable, 429: beeos.RateLimited, 500: beeos.AgentServiceUnavailable, 529: beeos.AgentServiceUnavailable,
		} {
			t.Run(fmt.Sprint(provider, status), func(t *testing.T) {
				s := serve(t, answer{status: status, body: `{"type":"error","error":{"type":"x","message":"because sk-…"}}`})
				m, _ := s.open(t, provider)
				_, err := listen(t.Context(), m, conversation)
				if beeos.CodeOf(err) != want {
					t.Errorf("%v, want %s", err, want)
				}
				if err != nil && strings.Contains(err.Error(), "sk-secret") {
					t.Errorf("the key is in the error: %v", err)
				}
			})
		}
		t.Run(provider+"400", func(t *testing.T) {
			m, _ := serve(t, answer{status: 400, body: `{"error":{"message":"too many tools"}}`}).open(t, provider)
			if _, err := listen(t.Context(), m, conversation); err == nil || !strings.Contains(err.Error(), "too many tools") {
				t.Errorf("%v does not say why", err)
			}
		})
	}
}

func TestBusyServicesAreAskedAgain(t *testing.T) {
	busy := answer{status: 429, header: map[string]string{"Retry-After": "2"}, body: `{"error":{"message":"slow down"}}`}
	down := answer{status: 503, body: `{}`}
	for provider, body := range map[string]string{OpenAI: openaiCalls, Anthropic: anthropicCalls} {
		t.Run(provider, func(t *testing.T) {
			s := serve(t, busy, down, answer{body: body})
			m, waits := s.open(t, provider)
			got, err := listen(t.Context(), m, conversation)
			if err != nil || got.Text != "One moment." {
				t.Fatalf("%+v, %v", got, err)
			}
			if diff := cmp.Diff([]time.Duration{2 * time.Second, time.Second}, *waits); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(s.bodies[0], s.bodies[2]); diff != "" {
				t.Errorf("it was asked something else the second time: %s", diff)
			}
		})
		t.Run(provider+" for too long", func(t *testing.T) {
			s := serve(t, answer{status: 429, header: map[string]string{"Retry-After": "3600"}, body: `{}`})
			m, waits := s.open(t, provider)
			if _, err := listen(t.Context(), m, conversation); beeos.CodeOf(err) != beeos.RateLimited || len(*waits) > 0 {
				t.Errorf("%v after %v", err, *waits)
			}
		})
		t.Run(provider+" for ever", func(t *testing.T) {
			s := serve(t, busy)
			m, _ := s.open(t, provider)
			if _, err := listen(t.Context(), m, conversation); beeos.CodeOf(err) != beeos.RateLimited || len(s.bodies) != mostTries {
				t.Errorf("%v after %d tries", err, len(s.bodies))
			}
		})
	}
}

func TestBrokenStreamsAreErrors(t *testing.T) {
	for provider, body := range map[string]string{OpenAI: openaiCalls, Anthropic: anthropicCalls} {
		half, _, _ := strings.Cut(body, "moment.")
		for name, a := range map[string]answer{
			"cut":        {body: half},
			"no JSON":    {body: "data: {nonsense\n\n"},
			"empty":      {},
			"no ending":  {body: strings.NewReplacer(`"finish_reason":"tool_calls"`, `"x":0`, "message_stop", "ping").Replace(body)},
			"said error": {body: half + "\"}}\n\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"overloaded\"}}\n\n"},
		} {
			t.Run(provider+" "+name, func(t *testing.T) {
				m, _ := serve(t, a).open(t, provider)
				if got, err := listen(t.Context(), m, conversation); err == nil {
					t.Errorf("taken for whole: %+v", got)
				}
			})
		}
	}
}

func TestCancelEndsTheRequest(t *testing.T) {
	cause := errors.New("the caller has left")
	for provider, body := range map[string]string{OpenAI: openaiCalls, Anthropic: anthropicCalls} {
		t.Run(provider, func(t *testing.T) {
			half, _, _ := strings.Cut(body, "data: {\"choices\":[{\"index\":0,\"delta\":{},")
			half, _, _ = strings.Cut(half, "event: message_delta")
			m, _ := serve(t, answer{body: half, hang: true}).open(t, provider)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			var last error
			for d, err := range m.Stream(ctx, conversation) {
				if d.Text != "" {
					cancel(cause)
				}
				last = err
			}
			if !errors.Is(last, cause) && !errors.Is(last, context.Canceled) {
				t.Errorf("ended with %v", last)
			}
		})
		t.Run(provider+" by leaving", func(t *testing.T) {
			m, _ := serve(t, answer{body: body, hang: true}).open(t, provider)
			for range m.Stream(t.Context(), conversation) {
				break // the test server's Close would wait for a request that goes on
			}
		})
	}
}

func TestArgumentsThatAreNoObject(t *testing.T) {
	for text, want := range map[string]struct{ arguments, invalid string }{
		"":        {`{}`, ""},
		"null":    {`{}`, ""},
		`{"a":1}`: {`{"a":1}`, ""},
		`[1]`:     {`{}`, "the arguments are not a JSON object: [1]"},
		`{"a":`:   {`{}`, `the arguments are not a JSON object (unexpected end of JSON input): {"a":`},
		`{}{}`:    {`{}`, `the arguments are not a JSON object (invalid character '{' after top-level value): {}{}`},
	} {
		if got := wholeCall("i", "n", text); string(got.Arguments) != want.arguments || got.Invalid != want.invalid {
			t.Errorf("%q became %s, %q; want %+v", text, got.Arguments, got.Invalid, want)
		}
	}
}

// TestCutOffAnswerKeepsItsStop: a call in an answer that ran into the limit of
// tokens does not hide that it did, also when its block never ended.
func TestCutOffAnswerKeepsItsStop(t *testing.T) {
	for provider, body := range map[string]string{
		OpenAI: `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"drive__wipe","arguments":""}}]}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}

data: [DONE]

`,
		Anthropic: `data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c1","name":"drive__wipe","input":{}}}

data: {"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":5}}

data: {"type":"message_stop"}

`,
	} {
		t.Run(provider, func(t *testing.T) {
			m, _ := serve(t, answer{body: body}).open(t, provider)
			got, err := listen(t.Context(), m, conversation)
			if err != nil || got.Stop != StopLength || len(got.Calls) != 1 || got.Calls[0].Name != "drive__wipe" {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestDemoDecides(t *testing.T) {
	tools := []Tool{{Name: "demo__add"}, {Name: "demo__now"}}
	for _, c := range []struct {
		text, call, arguments, says string
		tools                       []Tool
	}{
		{text: "what is 2 + 40.5, and -1?", tools: tools, call: "demo__add", arguments: `{"numbers":[2,40.5,-1]}`},
		{text: "007 and 1", tools: tools, call: "demo__add", arguments: `{"numbers":[0,0,7,1]}`},
		{text: "what time is it", tools: tools, call: "demo__now", arguments: `{}`},
		{text: "what is 2 + 2", says: "I am a script"},
		{text: "hello", tools: tools, says: "I am a script"},
	} {
		got, err := listen(t.Context(), Demo, Request{Messages: []Message{{Role: User, Text: c.text}}, Tools: c.tools})
		if err != nil {
			t.Fatal(err)
		}
		if c.call == "" {
			if !strings.HasPrefix(got.Text, c.says) || len(got.Calls) > 0 || got.Stop != StopEnd {
				t.Errorf("%q: %+v", c.text, got)
			}
			continue
		}
		if len(got.Calls) != 1 || got.Calls[0].Name != c.call || string(got.Calls[0].Arguments) != c.arguments || got.Stop != StopTools || got.Reasoning == "" {
			t.Errorf("%q: %+v", c.text, got)
		}
	}
	after, err := listen(t.Context(), Demo, Request{Messages: []Message{{Role: ToolRole, Text: "42"}}})
	if err != nil || after.Text != "The answer is 42." {
		t.Errorf("%+v, %v", after, err)
	}
}

func TestNoSuchProvider(t *testing.T) {
	if _, err := Open(Settings{Provider: "oracle"}); err == nil {
		t.Error("opened")
	}
}
