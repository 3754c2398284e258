package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/beeos/beeos"
)

// TaskRequest is work for an agent that its caller comes back for.
type TaskRequest struct {
	Message        string            `json:"message"`
	ContextID      string            `json:"context_id,omitempty"`
	DeadlineMS     int64             `json:"deadline_ms,omitempty"` // 0 = a day; at most 7
	IdempotencyKey string            `json:"idempotency_key,omitempty"`
	Metadata       map[string]string `json:"metadata,omitempty"`
	Attachments    []Attachment      `json:"attachments,omitempty"` // files of yours; Upload makes them
}

// Task is one request to an agent, by whichever surface it was made. A list
// leaves Question, Result and Error out.
type Task struct {
	ID          string            `json:"task_id"`
	AgentID     string            `json:"agent_id"`
	ContextID   string            `json:"context_id"`
	CallerID    string            `json:"caller_id,omitempty"`
	Status      beeos.TaskStatus  `json:"status"`
	Question    *Question         `json:"question,omitempty"` // while it is input_required or auth_required
	Result      *TaskResult       `json:"result,omitempty"`
	Error       string            `json:"error,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	CreatedAt   time.Time         `json:"created_at"`
	CompletedAt time.Time         `json:"completed_at,omitzero"`
	DeadlineAt  time.Time         `json:"deadline_at,omitzero"`
}

// Question is what the agent of a paused task waits to be told. ContinueTask
// answers one of type agent.input_required, GrantTask one of type
// agent.auth_required.
type Question struct {
	MessageID string            `json:"message_id"`
	Type      beeos.MessageType `json:"type"`
	Text      string            `json:"text"`
	Parts     json.RawMessage   `json:"parts,omitempty"`
	Payload   json.RawMessage   `json:"payload,omitempty"`
	AskedAt   time.Time         `json:"asked_at"`
}

// TaskResult is what the agent replied.
type TaskResult struct {
	Text    string          `json:"text"`
	Parts   json.RawMessage `json:"parts,omitempty"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

func taskPath(agentID, taskID string, rest ...string) string {
	return apiPath(append([]string{"agents", agentID, "tasks", taskID}, rest...)...)
}

// CreateTask gives an agent work and returns as soon as it is stored.
func (c *Client) CreateTask(ctx context.Context, agentID string, r TaskRequest) (*Task, error) {
	return call[Task](ctx, c, http.MethodPost, apiPath("agents", agentID, "tasks"), r)
}

// Task returns a task as it is now.
func (c *Client) Task(ctx context.Context, agentID, taskID string) (*Task, error) {
	return call[Task](ctx, c, http.MethodGet, taskPath(agentID, taskID), nil)
}

// TaskFilter selects tasks; the zero value selects all.
type TaskFilter struct {
	AgentID string
	State   string // active, closed or all
}

// Tasks yields the tasks of the key's user, newest first, page by page.
func (c *Client) Tasks(ctx context.Context, f TaskFilter) iter.Seq2[Task, error] {
	q := url.Values{"limit": {strconv.Itoa(pageSize)}}
	if f.AgentID != "" {
		q.Set("agent_id", f.AgentID)
	}
	if f.State != "" {
		q.Set("state", f.State)
	}
	return listPages[Task](ctx, c, "/api/v1/tasks", q)
}

// FindTask returns the task with that id, whichever agent has it.
func (c *Client) FindTask(ctx context.Context, taskID string) (*Task, error) {
	none := beeos.Errorf(beeos.AgentNotFound, "you have no task %q", taskID)
	if beeos.IDTime(taskID).IsZero() {
		return nil, none
	}
	// Tasks are listed by their ids downwards, and no digit comes after f.
	after := taskID[:len(taskID)-1] + "g"
	for t, err := range listPages[Task](ctx, c, "/api/v1/tasks", url.Values{"since": {after}, "limit": {"1"}}) {
		if err != nil {
			return nil, err
		}
		if t.ID == taskID {
			return c.Task(ctx, t.AgentID, t.ID)
		}
		if t.ID < taskID {
			break
		}
	}
	return nil, none
}

// CancelTask ends a task and returns it as it is then: the agent may have
// finished it first.
func (c *Client) CancelTask(ctx context.Context, agentID, taskID, reason string) (*Task, error) {
	return call[Task](ctx, c, http.MethodPost, taskPath(agentID, taskID, "cancel"), map[string]string{"reason": reason})
}

// ContinueTask gives an agent that paused what it asked for: a string, or
// anything that can be encoded as JSON.
func (c *Client) ContinueTask(ctx context.Context, agentID, taskID string, input any) (*Task, error) {
	return call[Task](ctx, c, http.MethodPost, taskPath(agentID, taskID, "continue"), map[string]any{"input": input})
}

// GrantTask consents to what an agent asked consent for, or denies it.
func (c *Client) GrantTask(ctx context.Context, agentID, taskID string, granted bool) (*Task, error) {
	return call[Task](ctx, c, http.MethodPost, taskPath(agentID, taskID, "continue"), map[string]bool{"auth_grant": granted})
}

// WatchTask yields the messages of a task from the beginning to its terminal
// reply, and the pieces of that as they come. When the connection breaks it
// comes back for the rest, until ctx ends.
func (c *Client) WatchTask(ctx context.Context, agentID, taskID string) iter.Seq2[Update, error] {
	return c.followEvents(ctx, taskPath(agentID, taskID, "events"), 0)
}
