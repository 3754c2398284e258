package bridge

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
	stateInput     = "input-required"
	stateAuth      = "auth-required"
	stateCompleted = "completed"
	stateFailed    = "failed"
	stateCanceled  = "canceled"
	stateRejected  = "rejected"
)

type peerPart struct {
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

// modern puts what 0.3 says about a file where 1.0 has it.
func (p peerPart) modern() peerPart {
	if f := p.File; f != nil {
		p.URL, p.Raw, p.Filename, p.MediaType = f.URI, f.Bytes, f.Name, f.MIMEType
	}
	return p
}

// bytes are those of a file that came in place.
func (p peerPart) bytes() ([]byte, error) {
	text := strings.NewReplacer("-", "+", "_", "/", "=", "").Replace(p.Raw)
	return base64.RawStdEncoding.DecodeString(text)
}

type peerMessage struct {
	ID      string     `json:"messageId"`
	Context string     `json:"contextId"`
	Task    string     `json:"taskId"`
	Parts   []peerPart `json:"parts"`
}

type peerStatus struct {
	State   string       `json:"state"`
	Message *peerMessage `json:"message"`
}

type peerArtifact struct {
	ID    string     `json:"artifactId"`
	Parts []peerPart `json:"parts"`
}

// peerEvent is anything that a peer tells about a message: the task that it
// became, a change of that, a piece of the answer, or the answer itself.
type peerEvent struct {
	Task, Context string
	Whole         bool           // it is the task: nothing that it does not say is so
	Status        *peerStatus    // of the task
	Artifacts     []peerArtifact // of the task, or one that changed
	Append        bool           // to the artifact of that id
	Message       *peerMessage   // no task, just an answer
}

var errNotA2A = errors.New("the agent behind this one answered with something that is not A2A")

// readEvent reads an answer of SendMessage or GetTask, or an event of a stream.
func readEvent(raw []byte) (ev peerEvent, err error) {
	var head struct {
		Kind           string          `json:"kind"`
		ID             string          `json:"id"`
		Task           json.RawMessage `json:"task"`
		Message        json.RawMessage `json:"message"`
		StatusUpdate   json.RawMessage `json:"statusUpdate"`
		ArtifactUpdate json.RawMessage `json:"artifactUpdate"`
	}
	if json.Unmarshal(raw, &head) != nil {
		return ev, errNotA2A
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
		return readAnswer(raw)
	case head.Message != nil:
		return readAnswer(head.Message)
	case head.Kind == "" && head.ID != "":
		return readTask(raw)
	}
	return ev, errNotA2A
}

func readTask(raw []byte) (ev peerEvent, err error) {
	var t struct {
		ID        string         `json:"id"`
		Context   string         `json:"contextId"`
		Status    *peerStatus    `json:"status"`
		Artifacts []peerArtifact `json:"artifacts"`
	}
	if json.Unmarshal(raw, &t) != nil || t.ID == "" || t.Status == nil {
		return ev, errNotA2A
	}
	t.Status.State = stateOf(t.Status.State)
	return peerEvent{Task: t.ID, Context: t.Context, Whole: true, Status: t.Status, Artifacts: t.Artifacts}, nil
}

func readUpdate(raw []byte) (ev peerEvent, err error) {
	var u struct {
		Task     string        `json:"taskId"`
		Context  string        `json:"contextId"`
		Status   *peerStatus   `json:"status"`
		Artifact *peerArtifact `json:"artifact"`
		Append   bool          `json:"append"`
	}
	if json.Unmarshal(raw, &u) != nil || u.Status == nil && u.Artifact == nil {
		return ev, errNotA2A
	}
	ev = peerEvent{Task: u.Task, Context: u.Context, Status: u.Status, Append: u.Append}
	if u.Status != nil {
		u.Status.State = stateOf(u.Status.State)
	}
	if u.Artifact != nil {
		ev.Artifacts = []peerArtifact{*u.Artifact}
	}
	return ev, nil
}

func readAnswer(raw []byte) (ev peerEvent, err error) {
	var m peerMessage
	if json.Unmarshal(raw, &m) != nil || m.Parts == nil {
		return ev, errNotA2A
	}
	return peerEvent{Task: m.Task, Context: m.Context, Message: &m}, nil
}

// stateOf: TASK_STATE_INPUT_REQUIRED is input-required.
func stateOf(s string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(s, "TASK_STATE_")), "_", "-")
}

// given is a part of a message to the peer: text, a file by bytes or by
// address, or a value.
type given struct {
	text      string
	raw       []byte
	url       string
	data      json.RawMessage
	name      string
	mediaType string
}

// saidTo is a message to the peer.
type saidTo struct {
	id, task, context string
	parts             []given
	metadata          map[string]string
}

// write is the message in the peer's dialect.
func (m saidTo) write(old bool) map[string]any {
	parts := make([]map[string]any, len(m.parts))
	for i, p := range m.parts {
		if parts[i] = p.modern(); old {
			parts[i] = p.old()
		}
	}
	out := map[string]any{"messageId": m.id, "role": "ROLE_USER", "parts": parts}
	if old {
		out["kind"], out["role"] = "message", "user"
	}
	for name, value := range map[string]string{"taskId": m.task, "contextId": m.context} {
		if value != "" {
			out[name] = value
		}
	}
	if len(m.metadata) > 0 {
		out["metadata"] = m.metadata
	}
	return out
}

func (p given) modern() map[string]any {
	out := map[string]any{}
	switch {
	case p.raw != nil:
		out["raw"] = base64.StdEncoding.EncodeToString(p.raw)
	case p.url != "":
		out["url"] = p.url
	case p.data != nil:
		out["data"] = p.data
	default:
		out["text"] = p.text
	}
	for name, value := range map[string]string{"filename": p.name, "mediaType": p.mediaType} {
		if value != "" {
			out[name] = value
		}
	}
	return out
}

func (p given) old() map[string]any {
	file := map[string]any{}
	for name, value := range map[string]string{"name": p.name, "mimeType": p.mediaType} {
		if value != "" {
			file[name] = value
		}
	}
	switch {
	case p.raw != nil:
		file["bytes"] = base64.StdEncoding.EncodeToString(p.raw)
	case p.url != "":
		file["uri"] = p.url
	case p.data != nil:
		return map[string]any{"kind": "data", "data": p.data}
	default:
		return map[string]any{"kind": "text", "text": p.text}
	}
	return map[string]any{"kind": "file", "file": file}
}
