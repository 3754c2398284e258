package agent

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/beeos/beeos"
)

// Question is a request to the caller in the words of its protocol:
// elicitation/create, sampling/createMessage or roots/list.
type Question struct {
	Method string `json:"method"`
	Params any    `json:"params,omitempty"` // an object; nil = none
}

// capabilities are what a caller must be able to do to be asked a method.
var capabilities = map[string]string{
	"elicitation/create":     "elicitation",
	"sampling/createMessage": "sampling",
	"roots/list":             "roots",
}

// Ask puts one question and waits for the answer. A caller that starts over
// after a question, as MCP's newest clients do, answers by key: it should be
// the same every time.
func (r *Reply) Ask(ctx context.Context, key, method string, params any) (json.RawMessage, error) {
	answers, err := r.AskAll(ctx, map[string]Question{key: {Method: method, Params: params}})
	return answers[key], err
}

// AskAll puts several questions at once and returns the answers by the same
// keys.
func (r *Reply) AskAll(ctx context.Context, questions map[string]Question) (map[string]json.RawMessage, error) {
	type answer struct {
		key    string
		result json.RawMessage
		err    error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan answer, len(questions))
	for key, q := range questions {
		go func() { // awaited below
			raw, err := rawParams(q.Params)
			if err == nil {
				raw, err = r.ask(ctx, ask{key: key, together: len(questions), method: q.Method, params: raw})
			}
			answers <- answer{key, raw, err}
		}()
	}
	results := make(map[string]json.RawMessage, len(questions))
	var failed error
	for range questions {
		a := <-answers
		if a.err != nil && failed == nil {
			failed = a.err
			cancel()
		}
		results[a.key] = a.result
	}
	if failed != nil {
		return nil, failed
	}
	return results, nil
}

func rawParams(v any) (json.RawMessage, error) {
	if v == nil {
		return nil, nil
	}
	return beeos.EncodeJSON(v)
}

// NeedInput ends the answer: the caller is to ask again and bring the answers
// along. What it brings is a new message with Input and State, to whichever
// instance of the agent; nothing of this one needs to be kept.
func (r *Reply) NeedInput(questions map[string]Question, state string) error {
	err := r.carry("input_required", map[string]any{"requests": questions, "state": state})
	if err != nil {
		return err
	}
	keys := slices.Sorted(maps.Keys(questions))
	return r.end(beeos.Frame{Type: beeos.FrameReply, Body: "input required: " + strings.Join(keys, ", ")})
}
