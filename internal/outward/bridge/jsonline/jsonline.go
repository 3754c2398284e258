// Package jsonline is the format in which programs and endpoints that become
// agents are talked to: an Input is a JSON line for the program, an Output one
// of its own. A line on the program's stdin is one message:
//
//	{"id":"…","text":"hello","tool":"","arguments":{…},"method":"","params":{…},
//	 "channel":"…","from":"…","attempt":1,"deadline_ms":0,"metadata":{…},"attachments":[…],
//	 "traceparent":"…","tracestate":"…"}
//
// What is empty is left out. deadline_ms is the moment at which nobody waits any
// more, in milliseconds since 1970. A caller who gave up shows as
//
//	{"id":"…","cancel":"why"}
//
// The program answers on its stdout, one line each, in any order and for many
// messages at a time; id says which message is meant:
//
//	{"id":"…","delta":"a piece of the answer"}           any number of times
//	{"id":"…","reasoning":"a piece of thought"}          any number of times
//	{"id":"…","progress":1,"total":3,"message":"…"}      any number of times
//	{"id":"…","reply":"the answer, or the rest of it"}   once, and the end
//	{"id":"…","error":"what went wrong"}                 instead of a reply
//	{"id":"…","approve":{"request":"1","tool":"…","arguments":{…}}}
//
// The last one asks whether a tool may be called with these arguments; the
// answer is a line on its stdin
//
//	{"id":"…","decision":{"request":"1","approved":false,"reason":"…"}}
//
// The answer is everything that was sent as delta, then the reply. A reply may
// carry "parts", an array of content such as images, and "structured", a
// value; any line may "attach" files. A message with a method, such as
// resources/read, is answered with its "result".
//
// What it offers, a program says on a line without an id, at best its first:
//
//	{"declare":{"tools":[…],"resources":[…],"prompts":[…]}}
package jsonline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
)

// Input is one line to the program.
type Input struct {
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
	TraceParent string             `json:"traceparent,omitempty"` // where the message stands in a distributed trace
	TraceState  string             `json:"tracestate,omitempty"`
	Cancel      string             `json:"cancel,omitempty"`
	Decision    *Decision          `json:"decision,omitempty"`
}

// Approval is a program's question whether it may call a tool.
type Approval struct {
	Request   string          `json:"request"` // the program's name for the question
	Skill     string          `json:"skill"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Auto      bool            `json:"auto"`
}

// Decision is the answer to it.
type Decision struct {
	Request  string `json:"request"`
	Approved bool   `json:"approved"`
	Reason   string `json:"reason,omitempty"`
	Expired  bool   `json:"expired,omitempty"`
}

// Decide has the owner of the agent decide, and waits. An error means that
// nobody can, which is not a yes.
func (a Approval) Decide(ctx context.Context, r *agent.Reply) (Decision, error) {
	d := Decision{Request: a.Request}
	if a.Tool == "" {
		d.Reason = "the question names no tool"
		return d, nil
	}
	q := agent.Approval{Skill: a.Skill, Tool: a.Tool, Auto: a.Auto}
	if len(a.Arguments) > 0 {
		q.Arguments = a.Arguments
	}
	err := r.Gate(ctx, q)
	if denied, ok := errors.AsType[*agent.Denied](err); ok {
		d.Reason, d.Expired = denied.Reason, denied.Expired
		return d, nil
	}
	d.Approved = err == nil
	return d, err
}

// NewInput returns the line for a message.
func NewInput(m agent.Message) Input {
	q := Input{
		ID: m.ID, Text: m.Text, Tool: m.Tool, Arguments: m.Arguments, Method: m.Method, Params: m.Params,
		Channel: m.Channel, From: m.From, Attempt: m.Attempt, Metadata: m.Metadata, Attachments: m.Attachments,
		TraceParent: m.Trace.Parent, TraceState: m.Trace.State,
	}
	if !m.Deadline.IsZero() {
		q.DeadlineMS = m.Deadline.UnixMilli()
	}
	return q
}

// Encode returns the line with its end.
func (q Input) Encode() ([]byte, error) {
	line, err := beeos.EncodeJSON(q)
	return append(line, '\n'), err
}

// Output is one line from the program.
type Output struct {
	ID         string            `json:"id"`
	Delta      string            `json:"delta"`
	Reasoning  string            `json:"reasoning"`
	Progress   *float64          `json:"progress"`
	Total      float64           `json:"total"`
	Message    string            `json:"message"`
	Reply      *string           `json:"reply"`
	Error      *string           `json:"error"`
	Approve    *Approval         `json:"approve"`
	Parts      []json.RawMessage `json:"parts"`
	Structured json.RawMessage   `json:"structured"`
	Result     json.RawMessage   `json:"result"` // of a method, such as resources/read
	Attach     []FileOutput      `json:"attach"`
	Declare    *Declaration      `json:"declare"` // on a line of its own, without an id
}

// ParseOutput reads a line that has to say which message it is about.
func ParseOutput(line []byte) (s Output, err error) {
	if err := json.Unmarshal(line, &s); err != nil {
		return s, fmt.Errorf("not a JSON line: %w", err)
	}
	if s.ID == "" && s.Declare == nil {
		return s, fmt.Errorf("a line without the id of its message")
	}
	return s, nil
}

// IsFinal reports whether s ends the answer.
func (s *Output) IsFinal() bool { return s.Reply != nil || s.Error != nil || len(s.Result) > 0 }

// Forward passes s on to the caller.
func (s *Output) Forward(r *agent.Reply) error {
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
	if len(s.Result) > 0 {
		if err := r.Result(s.Result); err != nil {
			return fmt.Errorf("the program sent an unusable result: %w", err)
		}
	}
	switch {
	case s.Error != nil:
		return r.Fail(*s.Error)
	case s.Reply == nil && len(s.Result) > 0:
		return r.Send("")
	case s.Reply != nil:
		return r.Send(*s.Reply)
	}
	return nil
}
