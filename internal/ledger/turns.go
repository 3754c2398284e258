package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/beeos/beeos"
)

// Request is a chat_message together with what became of it. Either Open or
// Done is there, never both: one transaction swaps them.
type Request struct {
	beeos.Message
	AgentID string
	Open    *Delivery      // while it has no terminal reply
	Done    *beeos.Message // the terminal reply; without its contents in a list
}

// RequestFilter selects requests. Caller or AgentIDs must be there: they are
// what requests can be found by.
type RequestFilter struct {
	Caller   string   // who made them
	AgentIDs []string // whom they are for
	Open     bool     // only those without a terminal reply
	Closed   bool     // only those with one
	Before   string   // only those older than this one
	Limit    int
	ByAgent  bool // with both: look through the agent's requests, because few are anybody else's
}

const requestColumns = `m.channel, m.off, m.id, m.type, m.in_reply_to, m.state, m.stop_reason, m.publisher, m.body, m.parts, m.payload, m.created_at, m.agent_id`

// requestMore adds what became of a request: its delivery d, its reply t.
const requestMore = requestColumns + `, COALESCE(d.turn, ''), COALESCE(d.leased, FALSE), COALESCE(d.attempt, 0), COALESCE(d.deadline, 0),
	COALESCE(d.paused, ''), COALESCE(d.cancel_at, 0), COALESCE(t.type, ''), COALESCE(t.state, ''), COALESCE(t.stop_reason, ''), COALESCE(t.created_at, 0)`

// Request returns the caller's own request with that id.
func (l *Ledger) Request(ctx context.Context, caller, turn string) (Request, error) {
	var r Request
	var err error
	// The delivery first: a reply that comes in between is then found, too.
	open, unknown := l.Turn(ctx, turn)
	if unknown != nil && beeos.CodeOf(unknown) != beeos.NotFound {
		return r, unknown
	}
	row := l.db.QueryRowContext(ctx, `SELECT `+requestColumns+` FROM messages m WHERE m.type = 'chat_message' AND m.publisher = $1 AND m.id = $2`, caller, turn)
	r.Message, err = scanMessage(scanMore{row, []any{&r.AgentID}})
	if errors.Is(err, sql.ErrNoRows) {
		return r, beeos.Errorf(beeos.NotFound, "there is no request %s", turn)
	}
	if err != nil {
		return r, fmt.Errorf("read request: %w", err)
	}
	if r.Done, err = l.Terminal(ctx, turn); err != nil {
		return r, err
	}
	if r.Done == nil {
		if unknown != nil { // made between the two looks
			if open, err = l.Turn(ctx, turn); err != nil {
				return r, err
			}
		}
		r.Open = &open
	}
	return r, nil
}

// scanMore scans the columns that follow the message's.
type scanMore struct {
	row  interface{ Scan(...any) error }
	more []any
}

func (s scanMore) Scan(to ...any) error { return s.row.Scan(append(to, s.more...)...) }

// Requests returns the newest requests that f selects, newest first.
func (l *Ledger) Requests(ctx context.Context, f RequestFilter) ([]Request, error) {
	if len(f.AgentIDs) < 2 {
		return l.requests(ctx, f)
	}
	// Agent by agent: each is a few steps in an index, however many there are
	// of other agents' requests in between.
	var all []Request
	for _, id := range f.AgentIDs {
		one := f
		one.AgentIDs = []string{id}
		found, err := l.requests(ctx, one)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	slices.SortFunc(all, func(a, b Request) int { return strings.Compare(b.ID, a.ID) })
	return all[:min(len(all), f.Limit)], nil
}

func (l *Ledger) requests(ctx context.Context, f RequestFilter) ([]Request, error) {
	text, args := f.query()
	rows, err := l.db.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, fmt.Errorf("list requests: %w", err)
	}
	defer rows.Close()
	var all []Request
	for rows.Next() {
		r, err := scanRequest(rows)
		if err != nil {
			return nil, fmt.Errorf("list requests: %w", err)
		}
		all = append(all, r)
	}
	return all, rows.Err()
}

// query writes the selection so that one index yields it in order. A column
// that is only to be compared is hidden from the planner in an expression.
func (f *RequestFilter) query() (string, []any) {
	q := &clause{}
	from := ` FROM messages m LEFT JOIN deliveries d ON d.turn = m.id`
	caller, agent, id := `m.publisher`, `m.agent_id`, `m.id`
	switch {
	case f.Open:
		from = ` FROM deliveries d JOIN messages m ON m.channel = d.channel AND m.off = d.off`
		caller, agent, id = `d.owner`, `d.agent_id`, `d.turn`
		q.add(`m.type = 'chat_message'`)
	case f.Closed:
		q.add(`m.type = 'chat_message' AND d.turn IS NULL`)
	default:
		q.add(`m.type = 'chat_message'`)
	}
	if f.Caller != "" {
		if f.ByAgent && len(f.AgentIDs) > 0 {
			caller += ` || ''`
		}
		q.add(caller+` = ?`, f.Caller)
	}
	if len(f.AgentIDs) > 0 {
		if f.Caller != "" && !f.ByAgent {
			agent += ` || ''`
		}
		q.add(agent+` = ?`, f.AgentIDs[0])
	}
	if f.Before != "" {
		q.add(id+` < ?`, f.Before)
	}
	return `SELECT ` + requestMore + from + ` LEFT JOIN messages t ON t.terminal AND t.in_reply_to = m.id` +
		q.text.String() + fmt.Sprintf(` ORDER BY %s DESC LIMIT %d`, id, f.Limit), q.args
}

// clause collects conditions.
type clause struct {
	text strings.Builder
	args []any
}

func (c *clause) add(condition string, args ...any) {
	word := ` AND `
	if c.text.Len() == 0 {
		word = ` WHERE `
	}
	for _, arg := range args {
		c.args = append(c.args, arg)
		condition = strings.Replace(condition, `?`, fmt.Sprintf(`$%d`, len(c.args)), 1)
	}
	c.text.WriteString(word + condition)
}

func scanRequest(rows *sql.Rows, more ...any) (r Request, err error) {
	var d Delivery
	var t beeos.Message
	var deadline, cancel, ended int64
	r.Message, err = scanMessage(scanMore{rows, append([]any{
		&r.AgentID, &d.Turn, &d.Leased, &d.Attempt, &deadline, &d.Paused, &cancel, &t.Type, &t.State, &t.StopReason, &ended,
	}, more...)})
	if d.Turn != "" {
		d.AgentID, d.Channel, d.Offset = r.AgentID, r.Channel, r.Offset
		d.Deadline, d.CancelAt = fromMicros(deadline), fromMicros(cancel)
		r.Open = &d
	}
	if t.Type != "" {
		t.Channel, t.InReplyTo, t.CreatedAt = r.Channel, r.ID, fromMicros(ended)
		r.Done = &t
	}
	return r, err
}
