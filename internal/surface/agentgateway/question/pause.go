package question

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/agentgateway/turn"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// An agent that needs something from the person before it can go on pauses. That
// is stored, because it must outlive this process: a conversation shows it, and
// whoever says more there continues it. A caller who is on the line can be asked
// at once, so the pause is a question to the caller as well, in the form of one
// that callers know.

// anyAnswer is the form for an agent that does not say what it wants to know.
const anyAnswer = `{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`

// NewPause returns the message that a frame asks to store: the agent's question
// to the person. It keeps nothing of the frame's memory.
func NewPause(t *turn.Turn, f *beeos.Frame) beeos.Message {
	m := beeos.Message{
		Channel: t.Channel, InReplyTo: t.ID, Publisher: "agent:" + t.Agent, Type: beeos.AgentInputRequired,
		State: beeos.StateCompleted, Body: f.Body, Parts: bytes.Clone(f.Parts), Payload: bytes.Clone(f.Payload),
	}
	if f.Type == beeos.FrameAuthRequired {
		m.Type = beeos.AgentAuthRequired
	}
	return m
}

// Pause stores an agent's question to the person and puts it to the caller.
func (q *Questions) Pause(t *turn.Turn, m *beeos.Message, send Send) error {
	if err := q.countPause(t); err != nil { // before it is stored
		return err
	}
	t.PublishGathered()
	if _, err := q.Ledger.Append(context.Background(), *m); err != nil {
		q.Log.Error("an agent's question was not stored", "turn", t.ID, "err", err)
		return err
	}
	return q.ask(t, question{send: send, pause: m.Type}, beeos.Event{
		AskID: beeos.PauseAsk + beeos.NewID(), Method: "elicitation/create", Data: pauseForm(m),
	})
}

// countPause refuses a pause of a turn that has had its share: a caller who
// cannot be asked says so at once, and an agent may ask again and again.
func (q *Questions) countPause(t *turn.Turn) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	a := q.askerOf(t)
	if a == nil {
		return nil // it has ended meanwhile
	}
	if a.pauses++; a.pauses > maxPauses {
		return beeos.Errorf(beeos.RateLimited, "this message has asked for input %d times, which is the limit; end it", maxPauses)
	}
	return nil
}

// pauseForm is a pause as an elicitation: by an address, if the agent gives
// one, else by a form, its own or any.
func pauseForm(m *beeos.Message) json.RawMessage {
	params := struct {
		Mode    string          `json:"mode,omitempty"`
		Message string          `json:"message"`
		Schema  json.RawMessage `json:"requestedSchema,omitempty"`
		URL     string          `json:"url,omitempty"`
		ID      string          `json:"elicitationId,omitempty"`
	}{Message: m.Body, Schema: strictjson.Field(m.Payload, "requestedSchema")}
	if url, ok := strictjson.StringValue(strictjson.Field(m.Payload, "url")); ok {
		params.Mode, params.URL, params.ID, params.Schema = "url", url, m.InReplyTo, nil
	} else if len(params.Schema) == 0 || params.Schema[0] != '{' {
		params.Schema = json.RawMessage(anyAnswer)
	}
	raw, _ := json.Marshal(params) // strings, and JSON that was checked when it came in
	return raw
}
