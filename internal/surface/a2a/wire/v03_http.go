package wire

import (
	"encoding/base64"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// httpForm is a value as the HTTP+JSON of 0.3 writes it: the protocol's buffers
// as JSON. That is nearer to 1.0 than to 0.3's own JSON-RPC. Its clients refuse
// members that they do not know.
func httpForm(v any) any {
	switch v := v.(type) {
	case a2a.StreamResponse:
		return httpEvent(v.Event)
	case *a2a.Task:
		return httpTask(v)
	case *a2a.ListTasksResponse:
		return object{"tasks": each(v.Tasks, httpTask), "totalSize": v.TotalSize, "pageSize": v.PageSize, "nextPageToken": v.NextPageToken}
	case *a2a.PushConfig:
		return httpPush(v)
	case *PushList:
		return object{"configs": each(v.Configs, httpPush)}
	case *Nothing:
		return object{}
	}
	return v
}

func httpEvent(ev a2a.Event) any {
	switch ev := ev.(type) {
	case *a2a.Task:
		return object{"task": httpTask(ev)}
	case *a2a.Message:
		return object{"message": httpMessage(ev)}
	case *a2a.TaskStatusUpdateEvent:
		return object{"statusUpdate": object{"taskId": ev.TaskID, "contextId": ev.ContextID, "status": httpStatus(ev.Status), "final": endsStream(ev.Status.State)}}
	case *a2a.TaskArtifactUpdateEvent:
		return object{"artifactUpdate": object{
			"taskId": ev.TaskID, "contextId": ev.ContextID, "artifact": httpArtifact(ev.Artifact), "append": ev.Append, "lastChunk": ev.LastChunk,
		}}
	}
	return nil
}

func httpTask(t *a2a.Task) object {
	return object{"id": t.ID, "contextId": t.ContextID, "status": httpStatus(t.Status)}.
		with(object{"artifacts": each(t.Artifacts, httpArtifact), "history": each(t.History, httpMessage)})
}

// httpStatus: the state has the name of 1.0, but for one letter.
func httpStatus(s a2a.TaskStatus) object {
	state := string(s.State)
	if s.State == a2a.TaskStateCanceled {
		state = "TASK_STATE_CANCELLED"
	}
	o := object{"state": state}.with(object{"timestamp": s.Timestamp})
	if s.Message != nil {
		o["message"] = httpMessage(s.Message)
	}
	return o
}

func httpMessage(m *a2a.Message) object {
	return object{"messageId": m.ID, "role": m.Role, "content": each(m.Parts, httpPart)}.
		with(object{"contextId": m.ContextID, "taskId": m.TaskID})
}

func httpArtifact(a *a2a.Artifact) object {
	return object{"artifactId": a.ID, "parts": each(a.Parts, httpPart)}.with(object{"name": a.Name})
}

func httpPart(p *a2a.Part) object {
	o := object{}.with(object{"metadata": p.Metadata})
	file := object{}.with(object{"mimeType": p.MediaType, "name": p.Filename})
	switch c := p.Content.(type) {
	case a2a.Text:
		o["text"] = c
	case a2a.Data:
		o["data"] = object{"data": oldData(c)}
	case a2a.Raw:
		file["fileWithBytes"] = base64.StdEncoding.EncodeToString(c)
		o["file"] = file
	case a2a.URL:
		file["fileWithUri"] = c
		o["file"] = file
	}
	return o
}

func httpPush(c *a2a.PushConfig) object {
	return object{
		"name":                   "tasks/" + string(c.TaskID) + "/pushNotificationConfigs/" + c.ID,
		"pushNotificationConfig": oldPush(c)["pushNotificationConfig"],
	}
}
