package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"

	"github.com/beeos/beeos"
)

// InvokeRequest is one question to an agent.
type InvokeRequest struct {
	Message        string            `json:"message"`
	ContextID      string            `json:"context_id,omitempty"` // continue the conversation that an earlier answer named
	TimeoutMS      int64             `json:"timeout_ms,omitempty"` // 0 = the agent's own; at most 115000
	IdempotencyKey string            `json:"idempotency_key,omitempty"`
	Metadata       map[string]string `json:"metadata,omitempty"`
	Attachments    []Attachment      `json:"attachments,omitempty"` // files of yours; Upload makes them
}

// Answer is what an agent answered. IsError says that the agent itself
// failed; Text is then its explanation.
type Answer struct {
	Text      string `json:"text"`
	ContextID string `json:"context_id"`
	IsError   bool   `json:"is_error"`

	Parts json.RawMessage `json:"parts,omitempty"` // what the agent said besides text, files for one
}

// Files are those parts of the answer that are files.
func (a *Answer) Files() []beeos.FilePart {
	var parts, files []beeos.FilePart
	if json.Unmarshal(a.Parts, &parts) != nil {
		return nil
	}
	for _, p := range parts {
		if p.Type == beeos.PartFile {
			files = append(files, p)
		}
	}
	return files
}

// Event is one piece of a streamed answer.
type Event struct {
	Delta     string  // a piece of text
	Reasoning string  // a piece of what the agent thinks
	Done      *Answer // the whole answer; the last event
}

// Invoke asks an agent and waits for the whole answer.
func (c *Client) Invoke(ctx context.Context, agentID string, r InvokeRequest) (*Answer, error) {
	return call[Answer](ctx, c, http.MethodPost, apiPath("agents", agentID, "invoke"), r)
}

// Stream asks an agent and yields its answer as it comes: deltas, then
// exactly one event with Done, or one error.
func (c *Client) Stream(ctx context.Context, agentID string, r InvokeRequest) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		resp, err := c.send(ctx, http.MethodPost, apiPath("agents", agentID, "invoke"), "text/event-stream", r)
		streamAnswer(resp, err, yield, invokeFrame.event)
	}
}

// invokeFrame is one data: line of an invoke stream.
type invokeFrame struct {
	Type      string     `json:"type"`
	Text      string     `json:"text"`
	Code      beeos.Code `json:"code"`
	Message   string     `json:"message"`
	ContextID string     `json:"context_id"`
	IsError   bool       `json:"is_error"`

	Parts json.RawMessage `json:"parts"`
}

// event translates a frame; last says that nothing of interest follows.
func (f invokeFrame) event() (ev Event, last bool, err error) {
	switch f.Type {
	case "delta":
		return Event{Delta: f.Text}, false, nil
	case "reasoning":
		return Event{Reasoning: f.Text}, false, nil
	case "error":
		return Event{}, true, &beeos.Error{Code: f.Code, Message: f.Message}
	case "done":
		return Event{Done: &Answer{Text: f.Text, ContextID: f.ContextID, IsError: f.IsError, Parts: f.Parts}}, true, nil
	}
	return Event{}, false, nil // a newer server may send more; it cannot matter to us
}
