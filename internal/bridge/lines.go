package bridge

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/beeos/beeos/agent"
)

// maxLine is how long a line of the program's may be.
const maxLine = 4 << 20

// question is one line to the program.
type question struct {
	ID          string             `json:"id"`
	Text        string             `json:"text,omitempty"`
	Tool        string             `json:"tool,omitempty"`
	Arguments   json.RawMessage    `json:"arguments,omitempty"`
	Method      string             `json:"method,omitempty"`
	Params      json.RawMessage    `json:"params,omitempty"`
	Channel     string             `json:"channel,omitempty"`
	From        string             `json:"from,omitempty"`
	Attempt     int                `json:"attempt,omitempty"`
	DeadlineMS  int64              `json:"deadline_ms,omitempty"`
	Metadata    map[string]string  `json:"metadata,omitempty"`
	Attachments []agent.Attachment `json:"attachments,omitempty"`
	Cancel      string             `json:"cancel,omitempty"`
}

func newQuestion(m agent.Message) question {
	q := question{
		ID: m.ID, Text: m.Text, Tool: m.Tool, Arguments: m.Arguments, Method: m.Method, Params: m.Params,
		Channel: m.Channel, From: m.From, Attempt: m.Attempt, Metadata: m.Metadata, Attachments: m.Attachments,
	}
	if !m.Deadline.IsZero() {
		q.DeadlineMS = m.Deadline.UnixMilli()
	}
	return q
}

// line encodes q with its line end.
func (q question) line() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(q)
	return b.Bytes(), err
}

// saying is one line of the program's.
type saying struct {
	ID         string            `json:"id"`
	Delta      string            `json:"delta"`
	Reasoning  string            `json:"reasoning"`
	Progress   *float64          `json:"progress"`
	Total      float64           `json:"total"`
	Message    string            `json:"message"`
	Reply      *string           `json:"reply"`
	Error      *string           `json:"error"`
	Parts      []json.RawMessage `json:"parts"`
	Structured json.RawMessage   `json:"structured"`
}

func parse(line []byte) (s saying, err error) {
	if err := json.Unmarshal(line, &s); err != nil {
		return s, fmt.Errorf("not a JSON line: %w", err)
	}
	if s.ID == "" {
		return s, fmt.Errorf("a line without the id of its message")
	}
	return s, nil
}

// last reports whether s ends the answer.
func (s *saying) last() bool { return s.Reply != nil || s.Error != nil }

// say passes s on to the caller.
func (s *saying) say(r *agent.Reply) error {
	if s.Reasoning != "" {
		_ = r.Reasoning(s.Reasoning) // who gave up is told by the context
	}
	if s.Delta != "" {
		_ = r.Delta(s.Delta)
	}
	if s.Progress != nil {
		_ = r.Progress(*s.Progress, s.Total, s.Message)
	}
	for _, p := range s.Parts {
		if err := r.Part(p); err != nil {
			return fmt.Errorf("the program sent an unusable part: %w", err)
		}
	}
	if len(s.Structured) > 0 {
		if err := r.Structured(s.Structured); err != nil {
			return fmt.Errorf("the program sent an unusable value: %w", err)
		}
	}
	switch {
	case s.Error != nil:
		return r.Fail(*s.Error)
	case s.Reply != nil:
		return r.Send(*s.Reply)
	}
	return nil
}
