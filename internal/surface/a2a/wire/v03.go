package wire

import (
	"encoding/base64"
	"encoding/json"
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
type object = map[string]any

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
		state := ev.Status.State
		final := state.Terminal() || state == a2a.TaskStateInputRequired || state == a2a.TaskStateAuthRequired
		return object{"kind": "status-update", "taskId": ev.TaskID, "contextId": ev.ContextID, "status": oldStatus(ev.Status), "final": final}
	case *a2a.TaskArtifactUpdateEvent:
		return object{
			"kind": "artifact-update", "taskId": ev.TaskID, "contextId": ev.ContextID, "artifact": oldArtifact(ev.Artifact),
			"append": ev.Append, "lastChunk": ev.LastChunk,
		}
	}
	return nil
}

func oldTask(t *a2a.Task) object {
	o := object{"kind": "task", "id": t.ID, "contextId": t.ContextID, "status": oldStatus(t.Status)}
	if len(t.Artifacts) > 0 {
		o["artifacts"] = each(t.Artifacts, oldArtifact)
	}
	if len(t.History) > 0 {
		o["history"] = each(t.History, oldMessage)
	}
	return o
}

func oldStatus(s a2a.TaskStatus) object {
	o := object{"state": oldState(s.State)}
	if s.Timestamp != nil {
		o["timestamp"] = s.Timestamp
	}
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
	o := object{"kind": "message", "messageId": m.ID, "role": role, "parts": each(m.Parts, oldPart)}
	if m.ContextID != "" {
		o["contextId"] = m.ContextID
	}
	if m.TaskID != "" {
		o["taskId"] = m.TaskID
	}
	return o
}

func oldArtifact(a *a2a.Artifact) object {
	o := object{"artifactId": a.ID, "parts": each(a.Parts, oldPart)}
	if a.Name != "" {
		o["name"] = a.Name
	}
	return o
}

func oldPart(p *a2a.Part) object {
	o, file := object{}, object{}
	if p.MediaType != "" {
		file["mimeType"] = p.MediaType
	}
	if p.Filename != "" {
		file["name"] = p.Filename
	}
	switch c := p.Content.(type) {
	case a2a.Text:
		o = object{"kind": "text", "text": c}
	case a2a.Data:
		o = object{"kind": "data", "data": c.Value}
	case a2a.Raw:
		file["bytes"] = base64.StdEncoding.EncodeToString(c)
		o = object{"kind": "file", "file": file}
	case a2a.URL:
		file["uri"] = c
		o = object{"kind": "file", "file": file}
	}
	if len(p.Metadata) > 0 {
		o["metadata"] = p.Metadata
	}
	return o
}

func oldPush(c *a2a.PushConfig) object {
	conf := object{"id": c.ID, "url": c.URL}
	if c.Auth != nil {
		conf["authentication"] = object{"schemes": []string{c.Auth.Scheme}}
	}
	return object{"taskId": c.TaskID, "pushNotificationConfig": conf}
}

// oldCard is a card for clients that know no list of interfaces.
func oldCard(c *a2a.AgentCard) object {
	skills := each(c.Skills, func(s a2a.AgentSkill) object {
		return object{"id": s.ID, "name": s.Name, "description": s.Description, "tags": s.Tags}
	})
	at := c.SupportedInterfaces[0].URL
	return object{
		"protocolVersion": "0.3.0", "name": c.Name, "description": c.Description, "version": c.Version,
		"url": at, "preferredTransport": a2a.TransportProtocolJSONRPC,
		"additionalInterfaces": []object{{"url": at, "transport": a2a.TransportProtocolJSONRPC}, {"url": at, "transport": a2a.TransportProtocolHTTPJSON}},
		"capabilities":         object{"streaming": true, "pushNotifications": true, "stateTransitionHistory": false},
		"defaultInputModes":    c.DefaultInputModes, "defaultOutputModes": c.DefaultOutputModes, "skills": skills,
		"securitySchemes": object{
			"bearer": object{"type": "http", "scheme": "bearer"},
			"apiKey": object{"type": "apiKey", "in": "header", "name": "X-Agent-API-Key"},
		},
		"security":                          []object{{"bearer": []string{}}, {"apiKey": []string{}}},
		"supportsAuthenticatedExtendedCard": true,
	}
}
