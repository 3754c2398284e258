package ledger

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/calls"
	"github.com/beeos/beeos/internal/store/database"
)

// Request is a chat_message together with what became of it. Either Open or
// Done is there, never both: one transaction swaps them.
type Request struct {
	beeos.Message
	AgentID string
	Surface string         // by which it came
	Tool    string         // of the agent's; empty = the agent itself
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
}

const requestColumns = `m.channel, m.off, m.id, m.type, m.in_reply_to, m.state, m.stop_reason, m.publisher, m.body, m.parts, m.payload, m.created_at, m.agent_id, COALESCE(r.surface, ''), COALESCE(r.tool, '')`

func requestHead(m *beeos.Message, agent, surface, tool *string) []any {
	return append(messageFields(m), agent, surface, tool)
}

// requestMore adds what became of a request: its delivery d, its reply t.
const requestMore = requestColumns + `, COALESCE(d.turn, ''), COALESCE(d.leased, FALSE), COALESCE(d.attempt, 0), COALESCE(d.deadline, 0),
	COALESCE(d.paused, ''), COALESCE(d.cancel_at, 0), COALESCE(t.type, ''), COALESCE(t.state, ''), COALESCE(t.stop_reason, ''), COALESCE(t.created_at, 0)`

// Request returns the caller's own request with that id.
func (l *Ledger) Request(ctx context.Context, caller, turn string) (Request, error) {
	r, err := l.FindRequest(ctx, turn)
	if err == nil && r.Publisher != caller {
		return Request{}, requestNotFound(turn)
	}
	return r, err
}

// FindRequest returns the request with that id, whosever it is.
func (l *Ledger) FindRequest(ctx context.Context, turn string) (Request, error) {
	// The delivery first: a reply that comes in between is then found, too.
	open, unknown := l.OpenDelivery(ctx, turn)
	if unknown != nil && beeos.CodeOf(unknown) != beeos.NotFound {
		return Request{}, unknown
	}
	done, err := l.Terminal(ctx, turn)
	if err != nil {
		return Request{}, err
	}
	where, at := `m.channel = $1 AND m.off = $2`, []any{open.Channel, open.Offset}
	if unknown != nil {
		if done == nil {
			return Request{}, requestNotFound(turn)
		}
		where, at = `m.channel = $1 AND m.id = $2`, []any{done.Channel, turn}
	}
	fields := func(r *Request) []any { return requestHead(&r.Message, &r.AgentID, &r.Surface, &r.Tool) }
	r, err := database.Get(ctx, l.db, "read request", requestNotFound(turn), fields, `SELECT `+requestColumns+` FROM messages m LEFT JOIN routes r ON r.id = m.route WHERE `+where, at...)
	if err != nil {
		return Request{}, err
	}
	if r.Done = done; done == nil {
		r.Open = &open
	}
	return r, nil
}

// Attempts returns who was given a request, first to last, as far as is known.
func (l *Ledger) Attempts(ctx context.Context, r *Request) ([]Attempt, error) {
	if r.Open != nil {
		list := parseTrail(r.Open.Trail, r.CreatedAt)
		if r.Open.Attempt > 0 && len(list) == 0 { // it was handed out with the request
			list = append(list, Attempt{Number: 1, Began: r.CreatedAt})
		}
		return list, nil
	}
	trail, err := database.GetValue[string](ctx, l.db, "read a trail", `SELECT trail FROM messages WHERE terminal AND in_reply_to = $1`, r.ID)
	return parseTrail(trail, r.CreatedAt), err
}

func requestNotFound(turn string) error {
	return beeos.Errorf(beeos.NotFound, "there is no request %s", turn)
}

// Requests returns the newest requests that f selects, newest first. Open ones
// are read off the deliveries, by who made them; all of them are found as calls.
func (l *Ledger) Requests(ctx context.Context, f RequestFilter) ([]Request, error) {
	if f.Open {
		return l.requests(ctx, f.openClause())
	}
	places, err := calls.New(l.db).Places(ctx, f.calls())
	if err != nil || len(places) == 0 {
		return nil, err
	}
	q := &clause{}
	q.text.WriteString(requestStanding)
	from, args := calls.FromPlaces(places)
	q.text.WriteString(from + standingTables)
	q.args = args
	list, err := l.requests(ctx, q)
	slices.SortFunc(list, func(a, b Request) int { return strings.Compare(b.ID, a.ID) })
	return list, err
}

// calls is the selection as one of calls.
func (f *RequestFilter) calls() calls.Filter {
	c := calls.Filter{Before: f.Before, Limit: f.Limit}
	if f.Caller != "" {
		c.Callers = []string{f.Caller}
	}
	if len(f.AgentIDs) > 0 {
		c.AgentIDs = f.AgentIDs
	}
	if f.Closed {
		c.Outcomes = calls.Ended()
	}
	return c
}

func (l *Ledger) requests(ctx context.Context, q *clause) ([]Request, error) {
	rows, err := database.List(ctx, l.db, "list requests", requestFields, q.text.String(), q.args...)
	all := make([]Request, len(rows))
	for i := range rows {
		all[i] = rows[i].request()
	}
	return all, err
}

const requestStanding = `SELECT ` + requestMore

// standingTables adds to the requests m what requestStanding needs.
const standingTables = ` LEFT JOIN routes r ON r.id = m.route LEFT JOIN deliveries d ON d.turn = m.id LEFT JOIN messages t ON t.terminal AND t.in_reply_to = m.id`

// openClause is the selection of requests without a terminal reply.
func (f *RequestFilter) openClause() *clause {
	q := &clause{}
	q.text.WriteString(requestStanding + ` FROM deliveries d JOIN messages m ON m.channel = d.channel AND m.off = d.off LEFT JOIN routes r ON r.id = m.route
		LEFT JOIN messages t ON t.terminal AND t.in_reply_to = m.id`)
	if f.Caller != "" {
		q.add(`d.owner = ?`, f.Caller)
	}
	if len(f.AgentIDs) > 0 {
		q.in(`d.agent_id`, f.AgentIDs)
	}
	if f.Before != "" {
		q.add(`d.turn < ?`, f.Before)
	}
	fmt.Fprintf(&q.text, ` ORDER BY d.turn DESC LIMIT %d`, f.Limit)
	return q
}

// clause is a query that gets conditions.
type clause struct {
	text  strings.Builder
	where bool
	args  []any
}

func (c *clause) add(condition string, args ...any) {
	word := ` AND `
	if !c.where {
		word, c.where = ` WHERE `, true
	}
	for _, arg := range args {
		c.args = append(c.args, arg)
		condition = strings.Replace(condition, `?`, fmt.Sprintf(`$%d`, len(c.args)), 1)
	}
	c.text.WriteString(word + condition)
}

func (c *clause) in(column string, values []string) {
	c.add(column+` IN (`+strings.TrimSuffix(strings.Repeat(`?,`, len(values)), `,`)+`)`, database.Args(values)...)
}

// requestRow is a request with its delivery and its reply, which are empty when
// there is none.
type requestRow struct {
	Request
	delivery Delivery
	reply    beeos.Message
	changed  time.Time
}

func requestFields(r *requestRow) []any {
	d, t := &r.delivery, &r.reply
	return append(requestHead(&r.Message, &r.AgentID, &r.Surface, &r.Tool),
		&d.Turn, &d.Leased, &d.Attempt, database.Time(&d.Deadline), &d.Paused, database.Time(&d.CancelAt),
		&t.Type, &t.State, &t.StopReason, database.Time(&t.CreatedAt))
}

func (r *requestRow) request() Request {
	q := r.Request
	if d := &r.delivery; d.Turn != "" {
		d.AgentID, d.Channel, d.Offset = q.AgentID, q.Channel, q.Offset
		q.Open = d
	}
	if t := &r.reply; t.Type != "" {
		t.Channel, t.InReplyTo = q.Channel, q.ID
		q.Done = t
	}
	return q
}
