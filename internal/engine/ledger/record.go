package ledger

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/calls"
)

var insertCalls = newStatement(`INSERT INTO calls (`+calls.Columns+`) VALUES `, `(?,?,?,?,?,?)`, ` ON CONFLICT (n) DO NOTHING`)

// ending is a delivery that ends in this batch.
type ending struct {
	route         calls.Route
	lane, trail   string
	off, cancelAt int64
	began         int64 // when the request was stored
	attempt       int64 // the last one
	trace         string
}

// knownRoute is the number of a route, and when it was last noted to be in use.
type knownRoute struct{ id, seen int64 }

// routes remembers the numbers of routes, so that a call costs no look at their
// table, and a write there once a minute at most.
type routes struct {
	mu    sync.Mutex
	known map[calls.Route]knownRoute
}

func (r *routes) get(route calls.Route) (knownRoute, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k, ok := r.known[route]
	return k, ok
}

// remember keeps what a batch has found, once that is committed.
func (r *routes) remember(found map[calls.Route]knownRoute) {
	if len(found) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil || len(r.known) > seenMax {
		r.known = map[calls.Route]knownRoute{}
	}
	for route, k := range found {
		r.known[route] = k
	}
}

// recordCalls notes the calls that have ended.
func (b *batch) recordCalls(ctx context.Context) error {
	var values []any
	steps := map[int][]byte{} // by where the row of their call begins
	for _, o := range b.ops {
		m := o.message
		if m == nil || o.err != nil || !m.Type.Terminal() {
			continue
		}
		if e, ok := b.endings[m.InReplyTo]; ok {
			row, err := b.callRow(ctx, m, &e)
			if err != nil {
				return err
			}
			if o.attempt != nil && len(o.attempt.Steps) > 0 {
				steps[len(values)] = o.attempt.Steps
			}
			values = append(values, row...)
		}
	}
	for o, open := range b.standingOpenings {
		if o.busy == nil {
			continue
		}
		d := open.Delivery
		row, err := b.callRow(ctx, o.busy, &ending{
			route: calls.Route{AgentID: d.AgentID, Caller: open.Message.Publisher, Surface: d.Surface, Tool: d.Tool},
			off:   open.Message.Offset, began: b.now,
		})
		if err != nil {
			return err
		}
		values = append(values, row...)
	}
	changed, err := b.w.execRows(ctx, insertCalls, values)
	if n := insertCalls.columns(); err == nil && changed < int64(len(values)/n) {
		for row := range slices.Chunk(values, n) {
			if err := b.moveCall(ctx, row); err != nil {
				return err
			}
		}
	}
	for at, list := range steps {
		if err := b.w.exec(ctx, calls.AddSteps, values[at], string(list)); err != nil {
			return err
		}
	}
	return err
}

func (b *batch) callRow(ctx context.Context, end *beeos.Message, e *ending) ([]any, error) {
	route, err := b.routeNumber(ctx, e.route)
	if err != nil {
		return nil, fmt.Errorf("number a route: %w", err)
	}
	return calls.Values(end.InReplyTo, e.off, route, calls.OutcomeOf(end), b.now-e.began), nil
}

// moveCall puts a call into the place after its own, when somebody else has that:
// another node has made an id at the same moment.
func (b *batch) moveCall(ctx context.Context, row []any) error {
	mine := false
	err := b.w.query(ctx, calls.Occupant, row[:1], func(r *sql.Rows) error {
		var turn []byte
		err := r.Scan(&turn)
		mine = bytes.Equal(turn, row[1].([]byte))
		return err
	})
	if err != nil || mine {
		return err
	}
	row[0] = row[0].(int64) + 1
	_, err = b.w.execRows(ctx, insertCalls, row)
	return err
}

// routeTries bounds how often somebody else may be faster to add a route.
const routeTries = 20

// routeNumber is the number of a route, which is added when it is new, and noted
// to be in use when that is due.
func (b *batch) routeNumber(ctx context.Context, route calls.Route) (int64, error) {
	k, ok := b.routes[route]
	if !ok {
		k, ok = b.w.l.routes.get(route)
	}
	names := []any{route.AgentID, route.Caller, route.Surface, route.Tool}
	for try := 0; !ok; try++ {
		err := b.w.query(ctx, calls.FindRoute, names, func(r *sql.Rows) error { ok = true; return r.Scan(&k.id, &k.seen) })
		if err == nil && try == routeTries {
			err = errors.New("others add routes all the time")
		}
		if err != nil {
			return 0, err
		}
		if !ok {
			if err := b.w.exec(ctx, calls.AddRoute, append(names, b.now)...); err != nil {
				return 0, err
			}
		}
	}
	if b.now-k.seen >= seenEvery.Microseconds() {
		k.seen = b.now
		if err := b.w.exec(ctx, calls.SeeRoute, k.id, b.now); err != nil {
			return 0, err
		}
	}
	if b.routes == nil {
		b.routes = map[calls.Route]knownRoute{}
	}
	b.routes[route] = k
	return k.id, nil
}

// forgetCalls removes what is recorded of requests.
func (b *batch) forgetCalls(ctx context.Context, turns []string) error {
	for some := range slices.Chunk(turns, maxRows) {
		var places, ids []any
		for _, turn := range some {
			places = append(places, calls.Places(turn)...)
			ids = append(ids, calls.Request(turn))
		}
		which := ` WHERE n IN (` + listOf.from(len(places), 1) + `) AND turn IN (` + listOf.from(len(ids), len(places)+1) + `)`
		for _, text := range []string{`DELETE FROM call_steps WHERE n IN (SELECT n FROM calls` + which + `)`, `DELETE FROM calls` + which} {
			if err := b.execOnce(ctx, text, slices.Concat(places, ids)); err != nil {
				return err
			}
		}
	}
	return nil
}
