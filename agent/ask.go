package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos"
)

// ErrCannotAsk says that the caller's program cannot be asked this. Message.Can
// tells beforehand.
var ErrCannotAsk = errors.New("the caller cannot be asked this")

// Elicitation is a person's answer to Elicit.
type Elicitation struct {
	Action  string          `json:"action"` // accept, decline or cancel
	Content json.RawMessage `json:"content"`
}

// Accepted reports whether the person gave what was asked for.
func (e Elicitation) Accepted() bool { return e.Action == "accept" }

// Elicit asks the person behind the caller for values that fit the JSON
// schema, and waits.
func (r *Reply) Elicit(ctx context.Context, message string, schema json.RawMessage) (Elicitation, error) {
	return askFor[Elicitation](ctx, r, "elicit", "elicitation/create", map[string]any{"message": message, "requestedSchema": schema})
}

// Sample asks the caller's model. params and the result are those of MCP's
// sampling/createMessage.
func (r *Reply) Sample(ctx context.Context, params any) (json.RawMessage, error) {
	return askFor[json.RawMessage](ctx, r, "sample", "sampling/createMessage", params)
}

// Root is a folder that the caller lets the agent know of.
type Root struct {
	URI  string `json:"uri"`
	Name string `json:"name"`
}

// Roots asks which folders the caller works in.
func (r *Reply) Roots(ctx context.Context) ([]Root, error) {
	list, err := askFor[struct {
		Roots []Root `json:"roots"`
	}](ctx, r, "roots", "roots/list", nil)
	return list.Roots, err
}

// askFor puts a question to the caller and reads the answer.
func askFor[T any](ctx context.Context, r *Reply, what, method string, params any) (answer T, err error) {
	raw, err := encodeParams(params)
	if err != nil {
		return answer, fmt.Errorf("%s: %w", what, err)
	}
	if raw, err = r.ask(ctx, request{method: method, params: raw}); err != nil {
		return answer, err
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return answer, fmt.Errorf("%s: the caller answered something else: %w", what, err)
	}
	return answer, nil
}

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
	var mu sync.Mutex
	answers := make(map[string]json.RawMessage, len(questions))
	group, ctx := errgroup.WithContext(ctx)
	for key, q := range questions {
		group.Go(func() error {
			raw, err := encodeParams(q.Params)
			if err == nil {
				raw, err = r.ask(ctx, request{key: key, together: len(questions), method: q.Method, params: raw})
			}
			mu.Lock()
			defer mu.Unlock()
			answers[key] = raw
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return answers, nil
}

func encodeParams(v any) (json.RawMessage, error) {
	if v == nil {
		return nil, nil
	}
	return beeos.EncodeJSON(v)
}

// NeedInput ends the answer: the caller is to ask again and bring the answers
// along. What it brings is a new message with Input and State, to whichever
// instance of the agent; nothing of this one needs to be kept.
func (r *Reply) NeedInput(questions map[string]Question, state string) error {
	err := r.setPayload("input_required", map[string]any{"requests": questions, "state": state})
	if err != nil {
		return err
	}
	keys := slices.Sorted(maps.Keys(questions))
	return r.end(beeos.Frame{Type: beeos.FrameReply, Body: "input required: " + strings.Join(keys, ", ")})
}

// Call asks another agent, by its id or by the name that it has with the same
// owner, and returns the text of its answer. It reaches what the owner reaches.
// An answer that the other agent calls a failure is an error. Agents that call
// each other in a circle, or too many in a row, are stopped. Calls are made
// once: when this message is given to another instance, the calls that it makes
// in the same order get the answers of the first ones.
func (r *Reply) Call(ctx context.Context, agent, message string) (string, error) {
	return r.CallAgent(ctx, AgentCall{Agent: agent, Message: message})
}

// AgentCall is a call of another agent: a message to it, or one of its tools.
type AgentCall struct {
	Agent     string `json:"agent"` // its id, or the name that it has with the same owner
	Message   string `json:"message,omitempty"`
	Tool      string `json:"tool,omitempty"`      // instead of a message
	Arguments any    `json:"arguments,omitempty"` // of the tool: a struct, a map, or JSON

	// Key names the call among those that are made for the message; empty = its
	// place among them does. Calls that are made at once have no sure place.
	Key string `json:"-"`
}

// CallAgent is Call with all that there is to say about it. Of a tool that answers
// with a value and no text, the value is returned as JSON.
func (r *Reply) CallAgent(ctx context.Context, c AgentCall) (string, error) {
	var answer struct {
		Text    string `json:"text"`
		IsError bool   `json:"is_error"`
	}
	if c.Key == "" {
		c.Key = r.nextKey("call")
	}
	raw, err := encodeParams(c)
	if err == nil {
		raw, err = r.sendRequest(ctx, request{key: c.Key, method: beeos.MethodCallAgent, params: raw})
	}
	if err == nil {
		err = json.Unmarshal(raw, &answer)
	}
	if err != nil {
		return "", fmt.Errorf("call %s: %w", c.Agent, err)
	}
	if answer.IsError {
		return answer.Text, fmt.Errorf("agent %s failed: %s", c.Agent, answer.Text)
	}
	return answer.Text, nil
}

// request is a question to the caller or to another agent.
type request struct {
	key      string // empty = what it asks for, and how often that was asked before
	together int    // questions that are put at once
	method   string
	params   json.RawMessage
}

// ask sends a request towards the caller, if it can be asked that.
func (r *Reply) ask(ctx context.Context, q request) (json.RawMessage, error) {
	capability, ok := capabilities[q.method]
	if !ok {
		return nil, fmt.Errorf("%s: there is no such question", q.method)
	}
	if !r.m.Can(capability) {
		return nil, &cannotAsk{capability, q.method}
	}
	if q.key == "" {
		q.key = r.nextKey(capability)
	}
	return r.sendRequest(ctx, q)
}

// sendRequest sends a request and waits for its answer.
func (r *Reply) sendRequest(ctx context.Context, q request) (json.RawMessage, error) {
	answer, err := r.pose(ctx, q.method, beeos.Frame{
		Type: beeos.FrameRequest, RequestID: beeos.NewID(), Key: q.key, Total: float64(q.together), Method: q.method, Params: q.params,
		TraceParent: beeos.TraceOf(ctx).Parent,
	}, nil)
	return answer.Result, err
}

// nextKey counts the questions of a kind.
func (r *Reply) nextKey(capability string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked == nil {
		r.asked = map[string]int{}
	}
	r.asked[capability]++
	return fmt.Sprintf("%s-%d", capability, r.asked[capability])
}
