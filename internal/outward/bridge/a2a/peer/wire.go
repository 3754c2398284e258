package peer

import (
	"encoding/base64"
	"encoding/json"
	"errors"
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

type Part struct {
	Text      *string         `json:"text"`
	Raw       string          `json:"raw"`
	URL       string          `json:"url"`
	Data      json.RawMessage `json:"data"`
	Filename  string          `json:"filename"`
	MediaType string          `json:"mediaType"`
	File      *struct {       // 0.3
		URI      string `json:"uri"`
		Bytes    string `json:"bytes"`
		Name     string `json:"name"`
		MIMEType string `json:"mimeType"`
	} `json:"file"`
}

// Modern puts what 0.3 says about a file where 1.0 has it.
func (p Part) Modern() Part {
	if f := p.File; f != nil {
		p.URL, p.Raw, p.Filename, p.MediaType = f.URI, f.Bytes, f.Name, f.MIMEType
	}
	return p
}

// Bytes are those of a file that came in place.
func (p Part) Bytes() ([]byte, error) {
	text := strings.NewReplacer("-", "+", "_", "/", "=", "").Replace(p.Raw)
	return base64.RawStdEncoding.DecodeString(text)
}

type Message struct {
	ID      string `json:"messageId"`
	Context string `json:"contextId"`
	Task    string `json:"taskId"`
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
	switch {
	case head.Kind == "task":
		return readTask(raw)
	case head.Task != nil:
		return readTask(head.Task)
	case head.Kind == "status-update":
		return readUpdate(raw)
	case head.StatusUpdate != nil:
		return readUpdate(head.StatusUpdate)
	case head.Kind == "artifact-update":
		return readUpdate(raw)
	case head.ArtifactUpdate != nil:
		return readUpdate(head.ArtifactUpdate)
	case head.Kind == "message":
		return readMessage(raw)
	case head.Message != nil:
		return readMessage(head.Message)
	case head.Kind == "" && head.ID != "":
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

// OutPart is a part of a message to the peer: text, a file by bytes or by
// address, or a value.
type OutPart struct {
	Text      string
	Raw       []byte
	URL       string
	Data      json.RawMessage
	Name      string
	MediaType string
}

// OutMessage is a message to the peer.
type OutMessage struct {
	ID, Task, Context string
	Parts             []OutPart
	Metadata          map[string]string
}

// encode is the message in the peer's dialect.
func (m OutMessage) encode(old bool) map[string]any {
	parts := make([]map[string]any, len(m.Parts))
	for i, p := range m.Parts {
		if parts[i] = p.encode(); old {
			parts[i] = p.encodeLegacy()
		}
	}
	out := map[string]any{"messageId": m.ID, "role": "ROLE_USER", "parts": parts}
	if old {
		out["kind"], out["role"] = "message", "user"
	}
	for name, value := range map[string]string{"taskId": m.Task, "contextId": m.Context} {
		if value != "" {
			out[name] = value
		}
	}
	if len(m.Metadata) > 0 {
		out["metadata"] = m.Metadata
	}
	return out
}

func (p OutPart) encode() map[string]any {
	out := map[string]any{}
	switch {
	case p.Raw != nil:
		out["raw"] = base64.StdEncoding.EncodeToString(p.Raw)
	case p.URL != "":
		out["url"] = p.URL
	case p.Data != nil:
		out["data"] = p.Data
	default:
		out["text"] = p.Text
	}
	for name, value := range map[string]string{"filename": p.Name, "mediaType": p.MediaType} {
		if value != "" {
			out[name] = value
		}
	}
	return out
}

func (p OutPart) encodeLegacy() map[string]any {
	file := map[string]any{}
	for name, value := range map[string]string{"name": p.Name, "mimeType": p.MediaType} {
		if value != "" {
			file[name] = value
		}
	}
	switch {
	case p.Raw != nil:
		file["bytes"] = base64.StdEncoding.EncodeToString(p.Raw)
	case p.URL != "":
		file["uri"] = p.URL
	case p.Data != nil:
		return map[string]any{"kind": "data", "data": p.Data}
	default:
		return map[string]any{"kind": "text", "text": p.Text}
	}
	return map[string]any{"kind": "file", "file": file}
}
