package ledger

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/beeos/beeos/internal/store/calls"
	"github.com/beeos/beeos/internal/store/database"
)

const (
	seenEvery = time.Minute // how often a route that is in use is noted again
	seenMax   = 100_000     // routes remembered here; beyond, some are looked up again
)

// knownRoute is the number of a route, and when it was last noted to be in use.
type knownRoute struct{ id, seen int64 }

// knownRoutes remembers the numbers of routes, so that a call costs no look at
// their table, and a write there once a minute at most.
type knownRoutes struct {
	mu    sync.Mutex
	known map[calls.Route]knownRoute
	names map[int64]calls.Route
}

func (r *knownRoutes) get(route calls.Route) (knownRoute, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k, ok := r.known[route]
	return k, ok
}

func (r *knownRoutes) remember(route calls.Route, k knownRoute) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil || len(r.known) > seenMax {
		r.known, r.names = map[calls.Route]knownRoute{}, map[int64]calls.Route{}
	}
	r.known[route], r.names[k.id] = k, route
}

// named is the route with this number, if it is known.
func (r *knownRoutes) named(id int64) (calls.Route, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	route, ok := r.names[id]
	return route, ok
}

// numberRoutes finds the numbers of the routes that requests take, and adds those
// that are new. It runs before the transaction: what is added there would make
// batches of other nodes wait until this one is committed, and some for each other.
func (b *batch) numberRoutes(ctx context.Context) error {
	for _, open := range b.standingOpenings {
		route := calls.Route{AgentID: open.Channel.AgentID, Caller: open.Message.Publisher, Credential: open.Credential, Surface: open.Surface, Tool: open.Tool}
		k, ok := b.w.l.routes.get(route)
		if !ok {
			var err error
			if k, err = b.w.findRoute(ctx, route, b.now); err != nil {
				return err
			}
		}
		open.route = k.id
		if b.now-k.seen >= seenEvery.Microseconds() {
			k.seen = b.now
			b.inUse = append(b.inUse, k.id)
			ok = false
		}
		if !ok {
			b.w.l.routes.remember(route, k)
		}
	}
	return nil
}

// routeTries bounds how often somebody else may be faster to add a route.
const routeTries = 20

// findRoute looks a route up, and adds it when it is new.
func (w *writer) findRoute(ctx context.Context, route calls.Route, now int64) (k knownRoute, err error) {
	names := []any{route.AgentID, route.Caller, route.Credential, route.Surface, route.Tool}
	for range routeTries {
		found := false
		err := w.query(ctx, calls.FindRoute, names, func(r database.Row) error { found = true; return r.Scan(&k.id, &k.seen) })
		if err != nil || found {
			return k, err
		}
		if err := w.exec(ctx, calls.AddRoute, append(names, now)...); err != nil {
			return k, err
		}
	}
	return k, errors.New("others add routes all the time")
}

// noteRoutes notes which routes are in use. Who finds that somebody else does so at
// this moment leaves it to them: to wait could be to wait for each other.
func (b *batch) noteRoutes(ctx context.Context) error {
	for _, id := range b.inUse {
		if err := b.w.exec(ctx, `UPDATE routes SET seen_at = $2 WHERE id IN (SELECT id FROM routes WHERE id = $1 AND seen_at < $2`+b.skipLocked()+`)`, id, b.now); err != nil {
			return err
		}
	}
	return nil
}
