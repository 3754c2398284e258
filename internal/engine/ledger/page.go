package ledger

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
)

// PageFilter selects requests of one caller to one agent, by when they last
// changed.
type PageFilter struct {
	Caller, AgentID string
	Channel         string
	Status          []beeos.TaskStatus
	After           time.Time
	BeforeAt        time.Time // with Before: where the page before ended
	Before          string
	Limit           int
}

// PageRequest is a request and when it last changed.
type PageRequest struct {
	Request
	At time.Time
}

// changed is when a request took the state it is in: with its terminal reply,
// with the question it waits on, or when it was made.
const changed = `COALESCE(t.created_at, CASE WHEN d.paused <> '' THEN (SELECT MAX(q.created_at) FROM messages q
	WHERE q.channel = m.channel AND q.off > m.off AND q.in_reply_to = m.id AND q.type = d.paused) END, m.created_at)`

// standing is how a request stands, in SQL; task.StatusOf is the same in Go.
var standing = map[beeos.TaskStatus]string{
	beeos.TaskQueued:        `t.id IS NULL AND NOT COALESCE(d.leased, FALSE)`,
	beeos.TaskRunning:       `t.id IS NULL AND d.leased AND d.paused = ''`,
	beeos.TaskInputRequired: `t.id IS NULL AND d.leased AND d.paused = 'agent.input_required'`,
	beeos.TaskAuthRequired:  `t.id IS NULL AND d.leased AND d.paused = 'agent.auth_required'`,
	beeos.TaskCanceled:      `t.state = 'cancelled'`,
	beeos.TaskRejected:      `t.type IN ('agent.refuse', 'agent_busy') AND t.state <> 'cancelled'`,
	beeos.TaskCompleted:     `t.type = 'agent_reply' AND t.state <> 'cancelled'`,
	beeos.TaskTimeout:       `t.type = 'agent_reply_error' AND t.state <> 'cancelled' AND t.stop_reason = 'timeout'`,
	beeos.TaskFailed:        `t.type = 'agent_reply_error' AND t.state <> 'cancelled' AND t.stop_reason <> 'timeout'`,
}

const pageTables = ` FROM messages m` + standingTables

// RequestPage returns the requests that f selects, the one that changed last
// first, and how many there are without regard to pages. It sorts all of them:
// what changes cannot be kept in an index of what was written.
func (l *Ledger) RequestPage(ctx context.Context, f PageFilter) (page []PageRequest, total int, err error) {
	q := &clause{}
	q.add(`m.type = 'chat_message'`)
	if f.Channel != "" {
		q.add(`m.publisher = ?`, f.Caller)
		q.add(`m.agent_id = ?`, f.AgentID)
		q.add(`m.channel = ?`, f.Channel)
	} else {
		q.add(`m.route IN (SELECT id FROM routes WHERE caller = ? AND agent_id = ?)`, f.Caller, f.AgentID)
	}
	if len(f.Status) > 0 {
		var either []string
		for _, s := range f.Status {
			either = append(either, `(`+standing[s]+`)`)
		}
		q.add(`(` + strings.Join(either, ` OR `) + `)`)
	}
	if !f.After.IsZero() {
		q.add(changed+` > ?`, database.Micros(f.After))
	}
	if total, err = database.GetValue[int](ctx, l.db, "count requests", `SELECT COUNT(*)`+pageTables+q.text.String(), q.args...); err != nil {
		return nil, 0, err
	}
	if f.Before != "" {
		q.add(`(`+changed+` < ? OR `+changed+` = ? AND m.id < ?)`, database.Micros(f.BeforeAt), database.Micros(f.BeforeAt), f.Before)
	}
	fields := func(r *requestRow) []any { return append(requestFields(r), database.Time(&r.changed)) }
	rows, err := database.List(ctx, l.db, "page requests", fields, `SELECT `+requestMore+`, `+changed+pageTables+q.text.String()+
		fmt.Sprintf(` ORDER BY %s DESC, m.id DESC LIMIT %d`, changed, f.Limit), q.args...)
	for i := range rows {
		page = append(page, PageRequest{rows[i].request(), rows[i].changed})
	}
	return page, total, err
}
