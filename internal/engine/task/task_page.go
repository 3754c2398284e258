package task

import (
	"context"
	"fmt"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/ledger"
)

// historyMost is how many messages of one task are shown at once.
const historyMost = 500

// TaskMessages returns what belongs to a task, the request first.
func (r *Reader) TaskMessages(ctx context.Context, t *Task) ([]beeos.Message, error) {
	return r.Ledger.RequestMessages(ctx, t.Channel, t.Turn, t.Offset-1, historyMost)
}

// PageFilter selects tasks of one principal with one agent, the one that
// changed last first.
type PageFilter struct {
	Caller   beeos.Caller
	Agent    *beeos.Agent
	Channel  string             // only of this one
	Status   []beeos.TaskStatus // only those; nil = all
	After    time.Time          // only those that changed after that
	BeforeAt time.Time          // only those that changed before this one
	Before   string
	AtMost   int
	Replies  bool // with what their replies say
}

// PageTask is a task of a page.
type PageTask struct {
	Task
	At time.Time // when it changed last
}

// TaskPage returns tasks by when they last changed, and how many there are on
// all pages.
func (r *Reader) TaskPage(ctx context.Context, f PageFilter) (page []PageTask, total int, err error) {
	found, total, err := r.Ledger.RequestPage(ctx, ledger.PageFilter{
		Caller: f.Caller.Principal(), AgentID: f.Agent.ID, Channel: f.Channel, Status: f.Status,
		After: f.After, BeforeAt: f.BeforeAt, Before: f.Before, Limit: f.AtMost,
	})
	if err != nil {
		return nil, 0, fmt.Errorf("list tasks: %w", err)
	}
	page = make([]PageTask, len(found))
	var ended []string
	for i := range found {
		page[i] = PageTask{taskOf(&found[i].Request), found[i].At}
		if page[i].Done != nil {
			ended = append(ended, page[i].Turn)
		}
	}
	if !f.Replies || len(ended) == 0 {
		return page, total, nil
	}
	replies, err := r.Ledger.Terminals(ctx, ended)
	if err != nil {
		return nil, 0, err
	}
	byTurn := map[string]*beeos.Message{}
	for i := range replies {
		byTurn[replies[i].InReplyTo] = &replies[i]
	}
	for i := range page {
		if m := byTurn[page[i].Turn]; m != nil {
			page[i].Done = m
		}
	}
	return page, total, nil
}
