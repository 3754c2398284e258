package a2a

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// encode turns a value of the SDK's types into what the client's dialect
// writes: as it is for 1.0, in the shapes of 0.3 otherwise.
func (x *exchange) encode(v any) any {
	if x.dialect.old() {
		return oldForm(v)
	}
	return v
}

// oldForm is a value as 0.3 writes it: unions by a kind instead of a wrapper,
// words in lower case, a flag on the last status of a stream.
func oldForm(v any) any {
	switch v := v.(type) {
	case a2a.StreamResponse:
		return oldEvent(v.Event)
	case *a2a.Task:
		return oldTask(v)
	case *a2a.ListTasksResponse:
		tasks := make([]object, len(v.Tasks))
		for i, t := range v.Tasks {
			tasks[i] = oldTask(t)
		}
		return object{"tasks": tasks, "totalSize": v.TotalSize, "pageSize": v.PageSize, "nextPageToken": v.NextPageToken}
	case *a2a.PushConfig:
		return oldPush(v)
	case *pushList:
		all := make([]object, len(v.Configs))
		for i, c := range v.Configs {
			all[i] = oldPush(c)
		}
		return all
	case *nothing:
		return json.RawMessage("null") // nil would be no result at all
	}
	return v
}

// object is JSON in the making.
type object = map[string]any

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
		all := make([]object, len(t.Artifacts))
		for i, a := range t.Artifacts {
			all[i] = oldArtifact(a)
		}
		o["artifacts"] = all
	}
	if len(t.History) > 0 {
		all := make([]object, len(t.History))
		for i, m := range t.History {
			all[i] = oldMessage(m)
		}
		o["history"] = all
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
	o := object{"kind": "message", "messageId": m.ID, "role": role, "parts": oldParts(m.Parts)}
	if m.ContextID != "" {
		o["contextId"] = m.ContextID
	}
	if m.TaskID != "" {
		o["taskId"] = m.TaskID
	}
	return o
}

func oldArtifact(a *a2a.Artifact) object {
	o := object{"artifactId": a.ID, "parts": oldParts(a.Parts)}
	if a.Name != "" {
		o["name"] = a.Name
	}
	return o
}

func oldParts(parts a2a.ContentParts) []object {
	all := make([]object, len(parts))
	for i, p := range parts {
		o := object{}
		file := object{}
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
		all[i] = o
	}
	return all
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
	skills := make([]object, len(c.Skills))
	for i, s := range c.Skills {
		skills[i] = object{"id": s.ID, "name": s.Name, "description": s.Description, "tags": s.Tags}
	}
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
