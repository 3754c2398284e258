package agent

import (
	"context"
	"encoding/json"
)

// Question is a request to the caller in the words of its protocol:
// elicitation/create, sampling/createMessage or roots/list.
type Question struct {
	Method string
	Params any // an object; nil = none
}

// capabilities are what a caller must be able to do to be asked a method.
var capabilities = map[string]string{
	"elicitation/create":     "elicitation",
	"sampling/createMessage": "sampling",
	"roots/list":             "roots",
}

// Ask puts several questions at once and returns the answers by the same
// names. A caller that starts over after a question, as MCP's newest clients
// do, answers by name: keep the names stable.
func (r *Reply) Ask(ctx context.Context, questions map[string]Question) (map[string]json.RawMessage, error) {
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
	return marshal(v)
}
