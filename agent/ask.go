package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/beeos/beeos"
)

// ErrCannotAsk says that the caller's program cannot be asked this. Message.Can
// tells beforehand.
var ErrCannotAsk = errors.New("the caller cannot be asked this")

// errDisconnected fails the questions that were open on a lost connection.
var errDisconnected = errors.New("the connection to the gateway was lost before the answer came")

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
	var e Elicitation
	params, err := beeos.EncodeJSON(map[string]any{"message": message, "requestedSchema": schema})
	if err != nil {
		return e, fmt.Errorf("elicit: %w", err)
	}
	result, err := r.ask(ctx, ask{method: "elicitation/create", params: params})
	if err != nil {
		return e, err
	}
	if err := json.Unmarshal(result, &e); err != nil {
		return e, fmt.Errorf("elicit: the caller answered something else: %w", err)
	}
	return e, nil
}

// Sample asks the caller's model. params and the result are those of MCP's
// sampling/createMessage.
func (r *Reply) Sample(ctx context.Context, params any) (json.RawMessage, error) {
	raw, err := beeos.EncodeJSON(params)
	if err != nil {
		return nil, fmt.Errorf("sample: %w", err)
	}
	return r.ask(ctx, ask{method: "sampling/createMessage", params: raw})
}

// Root is a folder that the caller lets the agent know of.
type Root struct {
	URI  string `json:"uri"`
	Name string `json:"name"`
}

// Roots asks which folders the caller works in.
func (r *Reply) Roots(ctx context.Context) ([]Root, error) {
	result, err := r.ask(ctx, ask{method: "roots/list"})
	if err != nil {
		return nil, err
	}
	var list struct {
		Roots []Root `json:"roots"`
	}
	if err := json.Unmarshal(result, &list); err != nil {
		return nil, fmt.Errorf("roots: the caller answered something else: %w", err)
	}
	return list.Roots, nil
}

// Continued is what the person said after InputRequired or AuthRequired.
type Continued struct {
	Text        string
	Payload     json.RawMessage
	Parts       json.RawMessage // what came besides the text, as in Message
	Attachments []Attachment
}

func continued(f *beeos.Frame) (Continued, error) {
	c := Continued{Text: f.Body, Payload: f.Payload, Parts: f.Parts}
	var p struct {
		Attachments []Attachment `json:"attachments"`
	}
	if len(f.Payload) > 0 && f.Payload[0] == '{' {
		if err := json.Unmarshal(f.Payload, &p); err != nil {
			return c, fmt.Errorf("read the attachments of an answer: %w", err)
		}
	}
	c.Attachments = p.Attachments
	return c, nil
}

// InputRequired pauses the answer until the person says more, or ctx ends.
// The pause is part of the conversation: it outlives a lost connection.
func (r *Reply) InputRequired(ctx context.Context, text string, payload any) (Continued, error) {
	return r.pause(ctx, beeos.FrameInputRequired, text, payload)
}

// AuthRequired pauses the answer until the person has granted access.
func (r *Reply) AuthRequired(ctx context.Context, text string, payload any) (Continued, error) {
	return r.pause(ctx, beeos.FrameAuthRequired, text, payload)
}

func (r *Reply) pause(ctx context.Context, kind beeos.FrameType, text string, payload any) (Continued, error) {
	f := beeos.Frame{Type: kind, MessageID: r.m.ID, RequestID: beeos.NewID(), Body: text}
	if payload != nil {
		raw, err := beeos.EncodeJSON(payload)
		if err != nil {
			return Continued{}, fmt.Errorf("%s: %w", kind, err)
		}
		f.Payload = raw
	}
	g, err := r.openGate(f)
	if err != nil {
		return Continued{}, err
	}
	defer r.closeGate(f.RequestID)
	select {
	case got := <-r.more:
		return continued(got)
	case refused := <-g.answer:
		return Continued{}, fmt.Errorf("%s: %w", kind, faultIn(refused))
	case <-ctx.Done():
		return Continued{}, context.Cause(ctx)
	case <-r.ctx.Done():
		return Continued{}, context.Cause(r.ctx)
	}
}

// faultIn is what a frame says went wrong; nil = nothing did.
func faultIn(f beeos.Frame) error {
	if f.Error == nil {
		return nil
	}
	return &beeos.Error{Code: beeos.Code(f.Error.Code), Message: f.Error.Message}
}

// ask is one question. Without a key it is named after what it asks for and
// how often that was asked before.
type ask struct {
	key      string
	together int // questions that are put at once
	method   string
	params   json.RawMessage
}

// ask sends a request towards the caller and waits for its answer.
func (r *Reply) ask(ctx context.Context, q ask) (json.RawMessage, error) {
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
	return r.put(ctx, q)
}

// put sends a request and waits for its answer.
func (r *Reply) put(ctx context.Context, q ask) (json.RawMessage, error) {
	id, answer := r.a.openAsk()
	defer r.a.closeAsk(id)
	if err := r.stream(beeos.Frame{Type: beeos.FrameRequest, RequestID: id, Key: q.key, Total: float64(q.together), Method: q.method, Params: q.params}); err != nil {
		return nil, fmt.Errorf("%s: %w", q.method, err)
	}
	select {
	case f, ok := <-answer:
		switch {
		case !ok:
			return nil, fmt.Errorf("%s: %w", q.method, errDisconnected)
		case f.Error != nil:
			return nil, fmt.Errorf("%s: %w", q.method, faultIn(f))
		}
		return f.Result, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-r.ctx.Done():
		return nil, context.Cause(r.ctx)
	}
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

func (a *Agent) openAsk() (string, chan beeos.Frame) {
	id, answer := beeos.NewID(), make(chan beeos.Frame, 1)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.link == nil {
		close(answer)
	} else {
		a.asks[id] = answer
	}
	return id, answer
}

func (a *Agent) closeAsk(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.asks, id)
}

// answered hands an answer to whoever asked.
func (a *Agent) answered(f beeos.Frame) {
	a.mu.Lock()
	answer := a.asks[f.RequestID]
	delete(a.asks, f.RequestID)
	a.mu.Unlock()
	if answer != nil {
		answer <- f // it has room for one
	}
}

// dropAsks fails every open question. a.mu is held.
func (a *Agent) dropAsks() {
	for id, answer := range a.asks {
		delete(a.asks, id)
		close(answer)
	}
}
