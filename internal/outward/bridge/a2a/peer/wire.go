package peer

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// What A2A says, in the two dialects that are spoken: 1.0 tells what a value is
// by the name of a member, 0.3 by a kind. One reader takes both; what is
// written is the peer's. JSON values stay as they were written.

// States of a task, in the words of 0.3.
const (
	stateSubmitted = "submitted"
	stateWorking   = "working"
	StateInput     = "input-required"
	StateAuth      = "auth-required"
	StateCompleted = "completed"
	StateFailed    = "failed"
	StateCanceled  = "canceled"
	StateRejected  = "rejected"
)

// Part is a piece of a message or of an artifact: text, a file by its bytes or
// by its address, or a value.
type Part struct {
	Text      *string         `json:"text,omitempty"`
	Raw       Bytes           `json:"raw,omitzero"`
	URL       string          `json:"url,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
	Filename  string          `json:"filename,omitempty"`
	MediaType string          `json:"mediaType,omitempty"`
	Kind      string          `json:"kind,omitempty"` // 0.3, down from here
	File      *File           `json:"file,omitempty"`
}

// File is where 0.3 has a file.
type File struct {
	URI      string `json:"uri,omitempty"`
	Bytes    Bytes  `json:"bytes,omitzero"`
	Name     string `json:"name,omitempty"`
	MIMEType string `json:"mimeType,omitempty"`
}

// TextPart is a part of words.
func TextPart(text string) Part { return Part{Text: &text} }

// Modern puts what 0.3 says about a file where 1.0 has it.
func (p Part) Modern() Part {
	if f := p.File; f != nil {
		p.URL, p.Raw, p.Filename, p.MediaType = f.URI, f.Bytes, f.Name, f.MIMEType
	}
	return p
}

// legacy is the opposite of Modern.
func (p Part) legacy() Part {
	switch {
	case p.Text != nil:
		return Part{Kind: "text", Text: p.Text}
	case p.Data != nil:
		return Part{Kind: "data", Data: p.Data}
	}
	return Part{Kind: "file", File: &File{p.URL, p.Raw, p.Filename, p.MediaType}}
}

// Bytes are those of a file that comes in place. They are read in each of the
// alphabets of base64, with padding or without.
type Bytes []byte

func (b *Bytes) UnmarshalJSON(raw []byte) (err error) {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return err
	}
	text = strings.NewReplacer("-", "+", "_", "/", "=", "").Replace(text)
	*b, err = base64.RawStdEncoding.DecodeString(text)
	return err
}

type Message struct {
	ID      string `json:"messageId"`
	Context string `json:"contextId,omitempty"`
	Task    string `json:"taskId,omitempty"`
	Parts   []Part `json:"parts"`
}

type Status struct {
	State   string   `json:"state"`
	Message *Message `json:"message"`
}

type Artifact struct {
	ID    string `json:"artifactId"`
	Parts []Part `json:"parts"`
}

// Event is anything that a peer tells about a message: the task that it
// became, a change of that, a piece of the answer, or the answer itself.
type Event struct {
	Task, Context string
	Whole         bool       // it is the task: nothing that it does not say is so
	Status        *Status    // of the task
	Artifacts     []Artifact // of the task, or one that changed
	Append        bool       // to the artifact of that id
	Message       *Message   // no task, just an answer
}

var ErrNotA2A = errors.New("the agent behind this one answered with something that is not A2A")

// readEvent reads an answer of SendMessage or GetTask, or an event of a stream.
func readEvent(raw []byte) (ev Event, err error) {
	var head struct {
		Kind           string          `json:"kind"`
		ID             string          `json:"id"`
		Task           json.RawMessage `json:"task"`
		Message        json.RawMessage `json:"message"`
		StatusUpdate   json.RawMessage `json:"statusUpdate"`
		ArtifactUpdate json.RawMessage `json:"artifactUpdate"`
	}
	if json.Unmarshal(raw, &head) != nil {
		return ev, ErrNotA2A
	}
	for _, one := range []struct {
		kind   string          // 0.3
		member json.RawMessage // 1.0
		read   func([]byte) (Event, error)
	}{
		{"task", head.Task, readTask},
		{"status-update", head.StatusUpdate, readUpdate},
		{"artifact-update", head.ArtifactUpdate, readUpdate},
		{"message", head.Message, readMessage},
	} {
		switch {
		case head.Kind == one.kind:
			return one.read(raw)
		case one.member != nil:
			return one.read(one.member)
		}
	}
	if head.Kind == "" && head.ID != "" {
		return readTask(raw)
	}
	return ev, ErrNotA2A
}

func readTask(raw []byte) (ev Event, err error) {
	var t struct {
		ID        string     `json:"id"`
		Context   string     `json:"contextId"`
		Status    *Status    `json:"status"`
		Artifacts []Artifact `json:"artifacts"`
	}
	if json.Unmarshal(raw, &t) != nil || t.ID == "" || t.Status == nil {
		return ev, ErrNotA2A
	}
	t.Status.State = parseState(t.Status.State)
	return Event{Task: t.ID, Context: t.Context, Whole: true, Status: t.Status, Artifacts: t.Artifacts}, nil
}

func readUpdate(raw []byte) (ev Event, err error) {
	var u struct {
		Task     string    `json:"taskId"`
		Context  string    `json:"contextId"`
		Status   *Status   `json:"status"`
		Artifact *Artifact `json:"artifact"`
		Append   bool      `json:"append"`
	}
	if json.Unmarshal(raw, &u) != nil || u.Status == nil && u.Artifact == nil {
		return ev, ErrNotA2A
	}
	ev = Event{Task: u.Task, Context: u.Context, Status: u.Status, Append: u.Append}
	if u.Status != nil {
		u.Status.State = parseState(u.Status.State)
	}
	if u.Artifact != nil {
		ev.Artifacts = []Artifact{*u.Artifact}
	}
	return ev, nil
}

func readMessage(raw []byte) (ev Event, err error) {
	var m Message
	if json.Unmarshal(raw, &m) != nil || m.Parts == nil {
		return ev, ErrNotA2A
	}
	return Event{Task: m.Task, Context: m.Context, Message: &m}, nil
}

// parseState turns TASK_STATE_INPUT_REQUIRED into input-required.
func parseState(s string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(s, "TASK_STATE_")), "_", "-")
}

// OutMessage is a message to the peer.
type OutMessage struct {
	Message
	Metadata map[string]string `json:"metadata,omitempty"`
	Role     string            `json:"role"`
	Kind     string            `json:"kind,omitempty"` // 0.3
}

// inDialect is the message as the peer reads it.
func (m OutMessage) inDialect(legacy bool) OutMessage {
	if m.Role = "ROLE_USER"; len(m.Parts) == 0 {
		m.Parts = []Part{TextPart("")}
	}
	if legacy {
		m.Kind, m.Role, m.Parts = "message", "user", slices.Clone(m.Parts)
		for i, p := range m.Parts {
			m.Parts[i] = p.legacy()
		}
	}
	return m
}
