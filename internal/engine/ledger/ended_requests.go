package ledger

import (
	"context"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/calls"
	"github.com/beeos/beeos/internal/store/database"
)

// Ended is a request that has its terminal reply, for those who count or watch.
type Ended struct {
	Turn    string
	Route   calls.Route
	Outcome calls.Outcome
	Began   time.Time     // when it was stored
	Reply   beeos.Message // which ended it
	Steps   []byte        // JSON: what its agent told of its work; nil = nothing
	Usage   []calls.Usage // what that took of models
	Trace   string        // as its Delivery had it; empty = it is part of none

	trail string
	route int64
}

// Took is how long the request took.
func (e *Ended) Took() time.Duration { return e.Reply.CreatedAt.Sub(e.Began) }

// Attempts are who was given the request, first to last.
func (e *Ended) Attempts() []Attempt { return parseTrail(e.trail, e.Began) }

// noteEnded remembers that an operation has ended a request, and what that took. An
// agent may send its reply again, when it has not heard that it is stored; the same
// words under the same id are stored then, but it was another reply that ended it.
func (b *batch) noteEnded(o *op, r *record) {
	e, ok := b.endings[o.message.InReplyTo]
	if !ok {
		return
	}
	delete(b.endings, o.message.InReplyTo)
	b.addUsage(e.route, o.attempt)
	if b.w.l.opt.Ended == nil {
		return
	}
	done := Ended{Turn: o.message.InReplyTo, Outcome: r.outcome, Began: database.Moment(e.began), Reply: *o.message, Trace: e.trace, trail: r.trail, route: e.route}
	if o.attempt != nil {
		done.Steps, done.Usage = o.attempt.Steps, o.attempt.Usage
	}
	b.ended = append(b.ended, done)
}

// tellEnded tells which requests a batch has ended.
func (w *writer) tellEnded(list []Ended) {
	if len(list) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), commitWithin)
	defer cancel()
	for i := range list {
		e := &list[i]
		var err error
		if e.Route, err = w.routeOf(ctx, e.route); err != nil {
			w.l.opt.Log.Warn("a call is counted as nobody's", "request", e.Turn, "err", err)
		}
	}
	w.l.opt.Ended(list)
}

// routeOf is the route with this number. One that only other nodes have used is
// looked up, once.
func (w *writer) routeOf(ctx context.Context, id int64) (route calls.Route, err error) {
	if route, ok := w.l.routes.named(id); ok {
		return route, nil
	}
	k := knownRoute{id: id}
	err = w.query(ctx, `SELECT agent_id, caller, credential, surface, tool, seen_at FROM routes WHERE id = $1`, []any{id}, func(r database.Row) error {
		return r.Scan(&route.AgentID, &route.Caller, &route.Credential, &route.Surface, &route.Tool, &k.seen)
	})
	if err == nil && k.seen > 0 {
		w.l.routes.remember(route, k)
	}
	return route, err
}
