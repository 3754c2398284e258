package calls

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/beeos/beeos/internal/store/database"
)

// Call is a call as a list shows it.
type Call struct {
	Turn    string
	Route   Route
	Outcome Outcome
	Began   time.Time
	Took    time.Duration // 0 while it is under way
}

// Filter picks calls; an empty field picks all.
type Filter struct {
	AgentIDs []string // of these agents; nil = of all
	Callers  []string // of these; nil = of everybody
	Surface  string
	Tool     string
	Outcomes []Outcome     // without these, also calls that are under way
	Slower   time.Duration // that took at least so long
	Since    time.Time     // that began then or later
	Until    time.Time     // that began before
	Before   string        // whose id stands before this one
	Limit    int
}

// byRoute reports whether the filter leaves out any route.
func (f *Filter) byRoute() bool {
	return f.AgentIDs != nil || f.Callers != nil || f.Surface != "" || f.Tool != ""
}

// Picks reports whether the filter, but for its outcomes, picks a call.
func (f *Filter) Picks(of Route, began time.Time, took time.Duration) bool {
	return (f.AgentIDs == nil || slices.Contains(f.AgentIDs, of.AgentID)) && (f.Callers == nil || slices.Contains(f.Callers, of.Caller)) &&
		(f.Surface == "" || f.Surface == of.Surface) && (f.Tool == "" || f.Tool == of.Tool) &&
		took >= f.Slower && !began.Before(f.Since) && (f.Until.IsZero() || began.Before(f.Until))
}

// picksEnd reports whether the filter picks a call for its id and for how it ended.
func (f *Filter) picksEnd(r *row) bool {
	return (f.Before == "" || r.turn < f.Before) && (len(f.Outcomes) == 0 || slices.Contains(f.Outcomes, Outcome(r.outcome))) &&
		r.took >= f.Slower.Microseconds()
}

// span is which keys the filter picks, from low to below high.
func (f *Filter) span() (low, high int64) {
	low, high = 1, 1<<62 // what is no request of its own has none
	if !f.Since.IsZero() {
		low = max(low, KeyOf(f.Since))
	}
	if !f.Until.IsZero() {
		high = KeyOf(f.Until)
	}
	if f.Before != "" {
		high = min(high, LastKey(f.Before)+1)
	}
	return low, high
}

const (
	maxLook    = 4000 // calls that are read at once to see how they ended
	atOnce     = 50   // routes that one statement asks
	readAtOnce = 100  // calls that one statement reads
)

// glance is how many calls are looked through before routes are asked one by one.
var glance = 2000

// Place is where a call stands in the indexes: its Key and the number of its route.
type Place struct{ N, Route int64 }

func placeFields(p *Place) []any { return []any{&p.N, &p.Route} }

func newestFirst(a, b Place) int { return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(b.Route, a.Route)) }

// route is a route as it is stored.
type route struct {
	Route
	id int64
}

func routeFields(r *route) []any {
	return []any{&r.id, &r.AgentID, &r.Caller, &r.Credential, &r.Surface, &r.Tool}
}

const routeColumns = `id, agent_id, caller, credential, surface, tool`

// Find returns the newest calls that the filter picks, newest first.
func (t *Table) Find(ctx context.Context, f Filter) ([]Call, error) {
	rows, err := t.find(ctx, &f)
	if err != nil {
		return nil, err
	}
	return t.callsOf(ctx, rows)
}

// Places returns where the calls stand that Find would return.
func (t *Table) Places(ctx context.Context, f Filter) ([]Place, error) {
	rows, err := t.find(ctx, &f)
	list := make([]Place, len(rows))
	for i := range rows {
		list[i] = rows[i].Place
	}
	return slices.Compact(list), err
}

// find returns the newest calls that the filter picks.
//
// Calls are found by indexes of small numbers alone, and only those that seem to be
// picked are read. How a call ended that went well and was quick stands in no
// index: who asks for such calls is given what is read and fits, and more is read,
// each time twice as much, until a page is full. Where hardly any fit, the indexes
// say which do not, and the rest is read.
func (t *Table) find(ctx context.Context, f *Filter) ([]row, error) {
	if f.AgentIDs != nil && len(f.AgentIDs) == 0 || f.Callers != nil && len(f.Callers) == 0 {
		return nil, nil
	}
	s := search{Filter: f, db: t.db}
	s.low, s.high = f.span()
	var page []row
	hardlyAny := false
	for look := f.Limit; len(page) < f.Limit; look = min(2*look, maxLook) {
		ask := s.places
		if hardlyAny {
			ask = s.placesWithoutOthers
		}
		places, err := ask(ctx, look)
		if err != nil {
			return nil, err
		}
		rows, err := s.read(ctx, places)
		if err != nil {
			return nil, err
		}
		was := len(page)
		for i := range rows {
			if f.picksEnd(&rows[i]) {
				page = append(page, rows[i])
			}
		}
		if len(places) < look {
			break
		}
		s.high = places[len(places)-1].N
		hardlyAny = hardlyAny || len(s.others()) > 0 && 2*(len(page)-was) < len(places)
	}
	return page[:min(len(page), f.Limit)], nil
}

// row is a call as it is stored.
type row struct {
	Place
	turn          string
	outcome, took int64
}

func rowFields(r *row) []any { return []any{&r.N, &r.Route, &r.turn, &r.outcome, &r.took} }

// read reads the calls in some places, newest first.
func (s *search) read(ctx context.Context, places []Place) (rows []row, err error) {
	for some := range slices.Chunk(slices.Compact(places), readAtOnce) {
		from, args := FromPlaces(some)
		found, err := database.List(ctx, s.db, "read calls", rowFields, `SELECT m.n, m.route, m.id, COALESCE(t.outcome, -1), COALESCE(t.created_at - m.created_at, 0)`+
			from+` LEFT JOIN messages t ON t.terminal AND t.in_reply_to = m.id`, args...)
		if err != nil {
			return nil, err
		}
		slices.SortFunc(found, func(a, b row) int { return cmp.Or(cmp.Compare(b.N, a.N), strings.Compare(b.turn, a.turn)) })
		rows = append(rows, found...)
	}
	return rows, nil
}

// FromPlaces is SQL for the requests m in some places.
func FromPlaces(places []Place) (from string, args []any) {
	var values []string
	for _, p := range places {
		args = append(args, p.N, p.Route)
		values = append(values, fmt.Sprintf(`(CAST($%d AS BIGINT), CAST($%d AS BIGINT))`, len(args)-1, len(args)))
	}
	return ` FROM (VALUES ` + strings.Join(values, `, `) + `) AS p JOIN messages m ON m.type = 'chat_message' AND m.n = p.column1 AND m.route = p.column2`, args
}

// callsOf adds to rows what their routes are.
func (t *Table) callsOf(ctx context.Context, rows []row) ([]Call, error) {
	var ids []any
	for _, r := range rows {
		if !slices.Contains(ids, any(r.Route)) {
			ids = append(ids, r.Route)
		}
	}
	known := map[int64]Route{}
	for some := range slices.Chunk(ids, database.InsertBatch) {
		found, err := database.List(ctx, t.db, "read routes", routeFields,
			`SELECT `+routeColumns+` FROM routes WHERE id IN (`+database.Placeholders(1, len(some))+`)`, some...)
		if err != nil {
			return nil, err
		}
		for _, r := range found {
			known[r.id] = r.Route
		}
	}
	list := make([]Call, len(rows))
	for i, r := range rows {
		list[i] = Call{Turn: r.turn, Route: known[r.Route], Outcome: Outcome(r.outcome), Began: began(r.N), Took: time.Duration(r.took) * time.Microsecond}
	}
	return list, nil
}
