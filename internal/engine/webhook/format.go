package webhook

import (
	"context"
	"encoding/json"
	"time"

	"github.com/beeos/beeos"
)

// Event is one change of a task.
type Event struct {
	Turn     string
	Channel  string
	Owner    string // a Caller.Principal
	Status   beeos.TaskStatus
	At       time.Time
	Approval string // what a person has to decide about before it goes on
}

// Format is a form in which events are sent.
type Format struct {
	ContentType string
	Render      func(context.Context, Event) ([]byte, error)

	// Link puts the address at which an approval can be decided into a body that
	// is about one, just before it is sent; nil = the form has no place for it.
	Link func(body []byte, link func(approval string) (string, error)) ([]byte, error)
}

// OpenAPI is the form of the REST surface.
const OpenAPI = "openapi"

// taskEventBody is a body of OpenAPI.
type taskEventBody struct {
	Type      string             `json:"type"`
	TaskID    string             `json:"task_id"`
	ContextID string             `json:"context_id"`
	Status    beeos.TaskStatus   `json:"status"`
	Final     bool               `json:"final"`
	Timestamp time.Time          `json:"timestamp"`
	Approval  *taskEventApproval `json:"approval,omitempty"`
}

type taskEventApproval struct {
	ID  string `json:"id"`
	URL string `json:"url,omitempty"` // never in what is kept
}

var openAPI = Format{
	ContentType: "application/json",
	Render: func(_ context.Context, e Event) ([]byte, error) {
		body := taskEventBody{"task_status", e.Turn, e.Channel, e.Status, e.Status.Terminal(), e.At.UTC(), nil}
		if e.Approval != "" {
			body.Approval = &taskEventApproval{ID: e.Approval}
		}
		return json.Marshal(body)
	},
	Link: func(raw []byte, link func(approval string) (string, error)) ([]byte, error) {
		var body taskEventBody
		if err := json.Unmarshal(raw, &body); err != nil || body.Approval == nil {
			return raw, err
		}
		var err error
		if body.Approval.URL, err = link(body.Approval.ID); err != nil || body.Approval.URL == "" {
			return raw, err
		}
		return json.Marshal(body)
	},
}
