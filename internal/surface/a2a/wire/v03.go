package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// oldForm is a value as 0.3 writes it: unions by a kind instead of a wrapper,
// words in lower case, a flag on the last status of a stream.
func oldForm(v any) any {
	switch v := v.(type) {
	case a2a.StreamResponse:
		return oldEvent(v.Event)
	case *a2a.Task:
		return oldTask(v)
	case *a2a.ListTasksResponse:
		return object{"tasks": each(v.Tasks, oldTask), "totalSize": v.TotalSize, "pageSize": v.PageSize, "nextPageToken": v.NextPageToken}
	case *a2a.PushConfig:
		return oldPush(v)
	case *a2a.AgentCard:
		return oldCard(v)
	case *PushList:
		return each(v.Configs, oldPush)
	case *Nothing:
		return json.RawMessage("null") // nil would be no result at all
	}
	return v
}

// object is JSON in the making.
type object map[string]any

// with adds the members that are not empty.
func (o object) with(optional object) object {
	for name, value := range optional {
		v := reflect.ValueOf(value)
		if k := v.Kind(); v.IsZero() || (k == reflect.Slice || k == reflect.Map) && v.Len() == 0 {
			continue
		}
		o[name] = value
	}
	return o
}

func each[T any](all []T, form func(T) object) []object {
	objects := make([]object, len(all))
	for i, one := range all {
		objects[i] = form(one)
	}
	return objects
}

func oldEvent(ev a2a.Event) any {
	switch ev := ev.(type) {
	case *a2a.Task:
		return oldTask(ev)
	case *a2a.Message:
		return oldMessage(ev)
	case *a2a.TaskStatusUpdateEvent:
		return object{
			"kind": "status-update", "taskId": ev.TaskID, "contextId": ev.ContextID, "status": oldStatus(ev.Status), "final": endsStream(ev.Status.State),
		}
	case *a2a.TaskArtifactUpdateEvent:
		return object{
			"kind": "artifact-update", "taskId": ev.TaskID, "contextId": ev.ContextID, "artifact": oldArtifact(ev.Artifact),
			"append": ev.Append, "lastChunk": ev.LastChunk,
		}
	}
	return nil
}

// endsStream: 0.3 marks the status after which nothing follows for now.
func endsStream(s a2a.TaskState) bool {
	return s.Terminal() || s == a2a.TaskStateInputRequired || s == a2a.TaskStateAuthRequired
}

func oldTask(t *a2a.Task) object {
	return object{"kind": "task", "id": t.ID, "contextId": t.ContextID, "status": oldStatus(t.Status)}.
		with(object{"artifacts": each(t.Artifacts, oldArtifact), "history": each(t.History, oldMessage)})
}

func oldStatus(s a2a.TaskStatus) object {
	o := object{"state": oldState(s.State)}.with(object{"timestamp": s.Timestamp})
	if s.Message != nil {
		o["message"] = oldMessage(s.Message)
	}
	return o
}

// oldState: TASK_STATE_INPUT_REQUIRED was input-required.
func oldState(s a2a.TaskState) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(string(s), "TASK_STATE_")), "_", "-")
}

func oldMessage(m *a2a.Message) object {
	role := "agent"
	if m.Role == a2a.MessageRoleUser {
		role = "user"
	}
	return object{"kind": "message", "messageId": m.ID, "role": role, "parts": each(m.Parts, oldPart)}.
		with(object{"contextId": m.ContextID, "taskId": m.TaskID})
}

func oldArtifact(a *a2a.Artifact) object {
	return object{"artifactId": a.ID, "parts": each(a.Parts, oldPart)}.with(object{"name": a.Name})
}

func oldPart(p *a2a.Part) object {
	o := object{}.with(object{"metadata": p.Metadata})
	file := object{}.with(object{"mimeType": p.MediaType, "name": p.Filename})
	switch c := p.Content.(type) {
	case a2a.Text:
		o["kind"], o["text"] = "text", c
	case a2a.Data:
		o["kind"], o["data"] = "data", oldData(c)
	case a2a.Raw:
		file["bytes"] = base64.StdEncoding.EncodeToString(c)
		o["kind"], o["file"] = "file", file
	case a2a.URL:
		file["uri"] = c
		o["kind"], o["file"] = "file", file
	}
	return o
}

// oldData: 0.3 knows objects alone, so anything else becomes the value of one.
func oldData(d a2a.Data) any {
	raw, ok := d.Value.(json.RawMessage)
	if ok && !bytes.HasPrefix(raw, []byte("{")) {
		return object{"value": raw}
	}
	return d.Value
}

func oldPush(c *a2a.PushConfig) object {
	conf := object{"id": c.ID, "url": c.URL}
	if c.Auth != nil {
		conf["authentication"] = object{"schemes": []string{c.Auth.Scheme}}
	}
	return object{"taskId": c.TaskID, "pushNotificationConfig": conf}
}
