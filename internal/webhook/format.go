package webhook

import (
	"context"
	"encoding/json"
	"time"

	"github.com/beeos/beeos"
)

// Event is one change of a task.
type Event struct {
	Turn    string
	Channel string
	Owner   string // a Caller.Principal
	Status  beeos.TaskStatus
	At      time.Time
}

// Format is a form in which events are sent.
type Format struct {
	ContentType string
	Render      func(context.Context, Event) ([]byte, error)
}

// OpenAPI is the form of the REST surface.
const OpenAPI = "openapi"

var openAPI = Format{ContentType: "application/json", Render: func(_ context.Context, e Event) ([]byte, error) {
	return json.Marshal(struct {
		Type      string           `json:"type"`
		TaskID    string           `json:"task_id"`
		ContextID string           `json:"context_id"`
		Status    beeos.TaskStatus `json:"status"`
		Final     bool             `json:"final"`
		Timestamp time.Time        `json:"timestamp"`
	}{"task_status", e.Turn, e.Channel, e.Status, e.Status.Terminal(), e.At.UTC()})
}}
