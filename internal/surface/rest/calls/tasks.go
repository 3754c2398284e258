package calls

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/engine/task"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/surface/rest/route"
)

// A task is a request of the ledger. Whatever surface made it, it is in the
// list of who made it.

// taskView is what every answer about a task has.
type taskView struct {
	TaskID     string            `json:"task_id"`
	AgentID    string            `json:"agent_id"`
	ContextID  string            `json:"context_id"`
	CallerID   string            `json:"caller_id,omitempty"`
	Status     beeos.TaskStatus  `json:"status"`
	Metadata   map[string]string `json:"metadata,omitempty"`
	CreatedAt  time.Time         `json:"created_at"`
	DeadlineAt time.Time         `json:"deadline_at,omitzero"`
}

// taskDetail is the contract's TaskResponse, with a few members of ours.
type taskDetail struct {
	taskView
	Question    *questionView `json:"question,omitempty"` // while it is input_required or auth_required
	Result      *resultView   `json:"result,omitempty"`
	Error       string        `json:"error,omitempty"`
	CompletedAt time.Time     `json:"completed_at,omitzero"`
}

// questionView is what the agent waits to be told.
type questionView struct {
	MessageID string            `json:"message_id"`
	Type      beeos.MessageType `json:"type"`
	Text      string            `json:"text"`
	Parts     json.RawMessage   `json:"parts,omitempty"`
	Payload   json.RawMessage   `json:"payload,omitempty"`
	AskedAt   time.Time         `json:"asked_at"`
}

// resultView is what the agent replied.
type resultView struct {
	Text    string          `json:"text"`
	Parts   json.RawMessage `json:"parts,omitempty"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// taskSummary is the contract's, with the words of ours that a list is read for.
type taskSummary struct {
	taskView
	State       string `json:"state"` // active or closed
	CloseReason string `json:"close_reason,omitempty"`
}

func viewTask(t *task.Task) taskView {
	return taskView{t.Turn, t.AgentID, t.Channel, t.Caller, t.Status, t.Metadata, t.Created, t.Deadline}
}

func describeTask(t *task.Task) taskDetail {
	v := taskDetail{taskView: viewTask(t)}
	if m := t.Done; m != nil {
		v.CompletedAt = m.CreatedAt
		if t.Status == beeos.TaskCompleted {
			v.Result = &resultView{m.Body, viewParts(m.Parts), m.Payload}
		} else {
			v.Error = cmp.Or(m.Body, "the agent gave no reason")
		}
	}
	return v
}

func summarizeTask(t *task.Task) taskSummary {
	if t.Status.Terminal() {
		return taskSummary{viewTask(t), "closed", string(t.Status)}
	}
	return taskSummary{taskView: viewTask(t), State: "active"}
}

// createTask stores a request and answers before the agent does.
func (h *Handlers) createTask(r *route.Request) (any, error) {
	var deadline int64
	req, err := h.readCall(r, route.Shape{"deadline_ms": &deadline})
	if err != nil {
		return nil, err
	}
	if most := maxDeadline.Milliseconds(); deadline < 0 || deadline > most {
		return nil, beeos.Errorf(beeos.InvalidParam, "deadline_ms must be from 0 (%s) to %d (7 days)", taskLife, most)
	}
	life := cmp.Or(time.Duration(deadline)*time.Millisecond, taskLife)
	req.Kind, req.Deadline, req.Call.DeadlineMS = beeos.KindTask, h.opt.Now().Add(life), deadline
	sent, err := h.opt.Calls.Submit(r.Context(), req)
	if err != nil {
		return nil, err
	}
	r.MarkReplay(sent.Replayed)
	m := &sent.Message
	return route.Accepted(taskView{TaskID: m.ID, AgentID: req.Agent.ID, ContextID: m.Channel, Status: initialStatus(&sent), CreatedAt: m.CreatedAt}), nil
}

// initialStatus returns queued, unless the request found its end at once, or
// before.
func initialStatus(sent *invoke.Sent) beeos.TaskStatus {
	if sent.Done == nil {
		return beeos.TaskQueued
	}
	return task.StatusOf(&ledger.Request{Done: sent.Done})
}

// pathTask returns the task of the path if it is the caller's own and the
// agent's. The contract has one code for what is not there, whatever is missing.
func (h *Handlers) pathTask(r *route.Request) (*task.Task, error) {
	a, err := h.pathAgent(r)
	if err != nil {
		return nil, err
	}
	return h.findTask(r, a, r.Caller.Principal())
}

// visibleTask is pathTask for those who look at a task or end it, as the owner
// of an agent may with what was called with a key of the agent.
func (h *Handlers) visibleTask(r *route.Request) (*task.Task, error) {
	a, err := h.pathAgent(r)
	if err != nil {
		return nil, err
	}
	principal, err := h.opt.Acts.TaskPrincipal(r.Context(), r.Caller, a, r.PathValue("taskId"))
	if err != nil {
		return nil, err
	}
	return h.findTask(r, a, principal)
}

// findTask returns the task of the path if it is the principal's and the agent's.
func (h *Handlers) findTask(r *route.Request, a *beeos.Agent, principal string) (*task.Task, error) {
	id := r.PathValue("taskId")
	t, err := h.opt.Calls.Task(r.Context(), principal, id)
	if err != nil && beeos.CodeOf(err) != beeos.NotFound {
		return nil, err
	}
	if err != nil || t.AgentID != a.ID {
		return nil, beeos.Errorf(beeos.AgentNotFound, "you have no task %q with this agent; GET /api/v1/tasks lists those you have", id)
	}
	return &t, nil
}

func (h *Handlers) getTask(r *route.Request) (any, error) {
	t, err := h.visibleTask(r)
	if err != nil {
		return nil, err
	}
	v := describeTask(t)
	v.Question, err = h.openQuestion(r, t)
	return v, err
}

// openQuestion returns what the agent of a task asked last, while it waits for
// the answer.
func (h *Handlers) openQuestion(r *route.Request, t *task.Task) (*questionView, error) {
	if t.Status != beeos.TaskInputRequired && t.Status != beeos.TaskAuthRequired {
		return nil, nil
	}
	const page = 200
	var asked *questionView
	for since := t.Offset - 1; ; {
		ms, err := h.opt.Ledger.RequestMessages(r.Context(), t.Channel, t.Turn, since, page)
		if err != nil {
			return nil, err
		}
		for i := range ms {
			if m := &ms[i]; m.Type == beeos.AgentInputRequired || m.Type == beeos.AgentAuthRequired {
				asked = &questionView{m.ID, m.Type, m.Body, viewParts(m.Parts), m.Payload, m.CreatedAt}
			}
		}
		if len(ms) < page {
			return asked, nil
		}
		since = ms[len(ms)-1].Offset
	}
}

// listAgentTasks lists the caller's tasks with one agent, or for its owner those
// that were made with one of the agent's keys.
func (h *Handlers) listAgentTasks(r *route.Request, a *beeos.Agent) (any, error) {
	f := task.Filter{Caller: r.Caller, Agent: a}
	if key := r.URL.Query().Get("key_id"); key != "" {
		by, err := h.opt.Acts.KeyCaller(r.Context(), r.Caller, a, key)
		if err != nil {
			return nil, err
		}
		f.Caller = by
	}
	return h.listTasks(r, f)
}

// listUserTasks lists the caller's tasks with all agents, or some. A filter
// that matches nothing is no error.
func (h *Handlers) listUserTasks(r *route.Request) (any, error) {
	f := task.Filter{Caller: r.Caller}
	q := r.URL.Query()
	if id := q.Get("agent_id"); id != "" {
		a, err := h.currentAgent(r, id)
		if beeos.CodeOf(err) == beeos.AgentNotFound {
			return noTasks, nil
		}
		if err != nil {
			return nil, err
		}
		f.Agent = a
	}
	if id := q.Get("instance_id"); id != "" {
		ids, err := h.agentsOfInstance(r, id)
		if err != nil {
			return nil, err
		}
		if len(ids) == 0 || f.Agent != nil && !slices.Contains(ids, f.Agent.ID) {
			return noTasks, nil
		}
		if f.Agent == nil {
			f.Agents = ids
		}
	}
	return h.listTasks(r, f)
}

// agentsOfInstance returns the caller's agents that an instance declares.
func (h *Handlers) agentsOfInstance(r *route.Request, instance string) ([]string, error) {
	declared, _, err := h.opt.Agents.List(r.Context(), agents.Filter{OwnerID: r.Caller.UserID, InstanceID: instance, Limit: 1000})
	return route.Views(declared, func(a **beeos.Agent) string { return (*a).ID }), err
}

var noTasks = map[string][]taskSummary{"tasks": {}}

// listTasks answers with the contract's ListTasksResponse.
func (h *Handlers) listTasks(r *route.Request, f task.Filter) (any, error) {
	p, err := r.ReadStatePage(100)
	if err != nil {
		return nil, err
	}
	f.Open, f.Closed, f.Before, f.AtMost = p.Open, p.Closed, p.Before, p.AtMost()
	tasks, err := h.opt.Calls.Tasks(r.Context(), f)
	return route.PageOf("tasks", p, tasks, summarizeTask, func(t *task.Task) string { return t.Turn }), err
}
