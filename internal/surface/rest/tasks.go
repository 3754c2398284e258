package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/engine/task"
	agentstore "github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// A task is a request of the ledger. Whatever surface made it, it is in the
// list of who made it.

const taskLife = 24 * time.Hour // of a task that sets no deadline

// taskView is the contract's TaskResponse, with a few members of ours.
type taskView struct {
	TaskID      string            `json:"task_id"`
	AgentID     string            `json:"agent_id"`
	ContextID   string            `json:"context_id"`
	CallerID    string            `json:"caller_id"`
	Status      beeos.TaskStatus  `json:"status"`
	Result      *resultView       `json:"result,omitempty"`
	Error       string            `json:"error,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	CreatedAt   time.Time         `json:"created_at"`
	CompletedAt time.Time         `json:"completed_at,omitzero"`
	DeadlineAt  time.Time         `json:"deadline_at,omitzero"`
}

// resultView is what the agent replied.
type resultView struct {
	Text    string          `json:"text"`
	Parts   json.RawMessage `json:"parts,omitempty"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

func viewTask(t *task.Task) taskView {
	v := taskView{
		TaskID: t.Turn, AgentID: t.AgentID, ContextID: t.Channel, CallerID: t.Caller, Status: t.Status, Metadata: t.Metadata,
		CreatedAt: t.Created, DeadlineAt: t.Deadline,
	}
	if m := t.Done; m != nil {
		v.CompletedAt = m.CreatedAt
		if t.Status == beeos.TaskCompleted {
			v.Result = &resultView{m.Body, m.Parts, m.Payload}
		} else {
			v.Error = orElse(m.Body, "the agent gave no reason")
		}
	}
	return v
}

// createTask stores a request and answers before the agent does.
func (s *Surface) createTask(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	a, err := s.reachable(r, c)
	if err != nil {
		return err
	}
	var deadline int64
	req, err := readRequest(w, r, shape{"deadline_ms": &deadline})
	if err != nil {
		return err
	}
	if most := maxDeadline.Milliseconds(); deadline < 0 || deadline > most {
		return beeos.Errorf(beeos.InvalidParam, "deadline_ms must be from 0 (%s) to %d (7 days)", taskLife, most)
	}
	life := taskLife
	if deadline > 0 {
		life = time.Duration(deadline) * time.Millisecond
	}
	req.Caller, req.Agent, req.Kind, req.Deadline, req.Call.DeadlineMS = c, a, beeos.KindTask, s.now().Add(life), deadline
	sent, err := s.Calls.Submit(r.Context(), req)
	if err != nil {
		return err
	}
	markReplay(w, sent.Replayed)
	httpd.WriteData(w, http.StatusAccepted, struct {
		TaskID    string           `json:"task_id"`
		AgentID   string           `json:"agent_id"`
		ContextID string           `json:"context_id"`
		Status    beeos.TaskStatus `json:"status"`
		CreatedAt time.Time        `json:"created_at"`
	}{sent.Message.ID, a.ID, sent.Message.Channel, firstStatus(&sent), sent.Message.CreatedAt})
	return nil
}

// firstStatus is queued, unless the request found its end at once, or before.
func firstStatus(sent *invoke.Sent) beeos.TaskStatus {
	if sent.Done == nil {
		return beeos.TaskQueued
	}
	return task.StatusOf(&ledger.Request{Done: sent.Done})
}

// task returns the task of the path if it is the caller's own and the agent's.
// The contract has one code for what is not there, whatever is missing.
func (s *Surface) task(r *http.Request, c beeos.Caller) (task.Task, error) {
	a, err := s.reachable(r, c)
	if err != nil {
		return task.Task{}, err
	}
	id := r.PathValue("taskId")
	t, err := s.Calls.Task(r.Context(), c.Principal(), id)
	if err != nil && beeos.CodeOf(err) != beeos.NotFound {
		return t, err
	}
	if err != nil || t.AgentID != a.ID {
		return t, beeos.Errorf(beeos.AgentNotFound, "you have no task %q with this agent; GET /api/v1/tasks lists those you have", id)
	}
	return t, nil
}

func (s *Surface) getTask(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	t, err := s.task(r, c)
	if err != nil {
		return err
	}
	httpd.WriteData(w, http.StatusOK, viewTask(&t))
	return nil
}

// taskSummary is the contract's, with the words of ours that a list is read for.
type taskSummary struct {
	TaskID      string            `json:"task_id"`
	AgentID     string            `json:"agent_id"`
	ContextID   string            `json:"context_id"`
	CallerID    string            `json:"caller_id"`
	State       string            `json:"state"` // active or closed
	Status      beeos.TaskStatus  `json:"status"`
	CloseReason string            `json:"close_reason,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	CreatedAt   time.Time         `json:"created_at"`
	DeadlineAt  time.Time         `json:"deadline_at,omitzero"`
}

func summarize(t *task.Task) taskSummary {
	v := taskSummary{
		TaskID: t.Turn, AgentID: t.AgentID, ContextID: t.Channel, CallerID: t.Caller, State: "active", Status: t.Status,
		Metadata: t.Metadata, CreatedAt: t.Created, DeadlineAt: t.Deadline,
	}
	if t.Status.Terminal() {
		v.State, v.CloseReason = "closed", string(t.Status)
	}
	return v
}

// listAgentTasks lists the caller's tasks with one agent.
func (s *Surface) listAgentTasks(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	a, err := s.reachable(r, c)
	if err != nil {
		return err
	}
	return s.listTasks(w, r, task.Filter{Caller: c, Agent: a})
}

// listUserTasks lists the caller's tasks with all agents, or some.
func (s *Surface) listUserTasks(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	f := task.Filter{Caller: c}
	q := r.URL.Query()
	if id := q.Get("agent_id"); id != "" {
		a, err := s.agentFor(r.Context(), id, c)
		if err != nil {
			return emptyOr(w, err)
		}
		f.Agent = a
	}
	if id := q.Get("instance_id"); id != "" {
		ids, err := s.agentsOf(r.Context(), c, id)
		if err != nil {
			return err
		}
		switch {
		case f.Agent == nil:
			f.Agents = ids
		case !slices.Contains(ids, f.Agent.ID):
			ids = nil
		}
		if len(ids) == 0 {
			return emptyOr(w, nil)
		}
	}
	return s.listTasks(w, r, f)
}

// emptyOr answers with no tasks: a filter that matches nothing is no error.
func emptyOr(w http.ResponseWriter, err error) error {
	if err != nil && beeos.CodeOf(err) != beeos.AgentNotFound {
		return err
	}
	httpd.WriteData(w, http.StatusOK, taskList{Tasks: []taskSummary{}})
	return nil
}

// agentsOf returns the caller's agents that an instance declares.
func (s *Surface) agentsOf(ctx context.Context, c beeos.Caller, instance string) ([]string, error) {
	agents, _, err := s.DB.Agents.List(ctx, agentstore.Filter{OwnerID: c.UserID, InstanceID: instance, Limit: 1000})
	ids := make([]string, len(agents))
	for i, a := range agents {
		ids[i] = a.ID
	}
	return ids, err
}

// taskList is the contract's ListTasksResponse.
type taskList struct {
	Tasks     []taskSummary `json:"tasks"`
	NextSince string        `json:"next_since,omitempty"`
}

func (s *Surface) listTasks(w http.ResponseWriter, r *http.Request, f task.Filter) error {
	p, err := readPage(r)
	if err != nil {
		return err
	}
	f.Open, f.Closed, f.Before, f.AtMost = p.open, p.closed, p.before, p.limit+1
	tasks, err := s.Calls.Tasks(r.Context(), f)
	if err != nil {
		return err
	}
	list := taskList{Tasks: []taskSummary{}}
	for i := range tasks[:min(len(tasks), p.limit)] {
		list.Tasks = append(list.Tasks, summarize(&tasks[i]))
	}
	if len(tasks) > p.limit {
		list.NextSince = tasks[p.limit-1].Turn
	}
	httpd.WriteData(w, http.StatusOK, list)
	return nil
}
