// Package task shows requests to those who come back for them later: Reader reads
// them off the ledger, one by one or in pages, and states.go is the life of a
// request as a table.
package task

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/ledger"
)

// Task is a request as somebody sees it who comes back for its reply later,
// by whichever surface it was made.
type Task struct {
	Turn     string
	Channel  string
	Offset   int64 // of the request in its channel
	AgentID  string
	Caller   string // a Caller.Principal
	Status   beeos.TaskStatus
	Created  time.Time
	Deadline time.Time         // zero once it is done, unless its caller set it
	Metadata map[string]string // as its caller gave it
	Body     string            // what was asked, in words
	Tool     string            // or which tool was called
	Done     *beeos.Message    // the terminal reply; nil while it is worked on
}

// Reader reads tasks off the ledger.
type Reader struct{ Ledger *ledger.Ledger }

// Task returns the request with that id if it is the principal's, NotFound
// otherwise.
func (r *Reader) Task(ctx context.Context, principal, turn string) (Task, error) {
	found, err := r.Ledger.Request(ctx, principal, turn)
	if err != nil {
		return Task{}, err
	}
	return taskOf(&found), nil
}

// Filter selects tasks of one principal, newest first.
type Filter struct {
	Caller beeos.Caller
	Agent  *beeos.Agent // nil = all agents
	Agents []string     // these agents; nil = all
	Open   bool         // only those under way
	Closed bool         // only those that have ended
	Before string       // only those older than this one
	AtMost int
}

// Tasks lists the principal's requests. What their replies say is left out.
func (r *Reader) Tasks(ctx context.Context, f Filter) ([]Task, error) {
	sel := ledger.RequestFilter{
		Caller: f.Caller.Principal(), AgentIDs: f.Agents, Open: f.Open, Closed: f.Closed, Before: f.Before, Limit: f.AtMost,
	}
	if f.Agent != nil {
		sel.AgentIDs = []string{f.Agent.ID}
	}
	found, err := r.Ledger.Requests(ctx, sel)
	if err != nil {
		return nil, fmt.Errorf("list tasks: %w", err)
	}
	tasks := make([]Task, len(found))
	for i := range found {
		tasks[i] = taskOf(&found[i])
	}
	return tasks, nil
}

func taskOf(r *ledger.Request) Task {
	var call struct {
		Metadata   map[string]string `json:"metadata"`
		DeadlineMS int64             `json:"deadline_ms"`
		Tool       string            `json:"tool"`
	}
	_ = json.Unmarshal(r.Payload, &call) // written by opening; a request without a payload has neither
	t := Task{
		Turn: r.ID, Channel: r.Channel, Offset: r.Offset, AgentID: r.AgentID, Caller: r.Publisher, Status: StatusOf(r),
		Created: r.CreatedAt, Metadata: call.Metadata, Done: r.Done, Body: r.Body, Tool: call.Tool,
	}
	switch {
	case r.Open != nil:
		t.Deadline = r.Open.Deadline
	case call.DeadlineMS > 0:
		t.Deadline = r.CreatedAt.Add(time.Duration(call.DeadlineMS) * time.Millisecond)
	}
	return t
}
