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
	glance     = 2000            // calls that are looked through before routes are asked one by one
	maxLook    = 4000            // calls that are read at once to see how they ended
	atOnce     = 25              // routes that one statement asks
	readAtOnce = 100             // calls that one statement reads
	seenEvery  = 2 * time.Minute // how late a route may be noted to be in use
)

// Place is where a call stands in the indexes: its Key and the number of its route.
type Place struct{ N, Route int64 }

func placeFields(p *Place) []any { return []any{&p.N, &p.Route} }

func newestFirst(a, b Place) int { return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(b.Route, a.Route)) }

// route is a route as it is stored.
type route struct {
	Route
	id     int64
	seenAt time.Time
}

func routeFields(r *route) []any {
	return []any{&r.id, &r.AgentID, &r.Caller, &r.Credential, &r.Surface, &r.Tool, database.Time(&r.seenAt)}
}

const routeColumns = `id, agent_id, caller, credential, surface, tool, seen_at`

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
// each time twice as much, until a page is full.
func (t *Table) find(ctx context.Context, f *Filter) ([]row, error) {
	if f.AgentIDs != nil && len(f.AgentIDs) == 0 || f.Callers != nil && len(f.Callers) == 0 {
		return nil, nil
	}
	s := search{Filter: f, db: t.db}
	if f.byRoute() {
		var err error
		if s.routes, err = t.routes(ctx, f); err != nil || len(s.routes) == 0 {
			return nil, err
		}
	}
	s.low, s.high = f.span()
	var page []row
	for look := f.Limit; len(page) < f.Limit; look = min(2*look, maxLook) {
		places, err := s.places(ctx, look)
		if err != nil {
			return nil, err
		}
		rows, err := s.read(ctx, places)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			if f.picksEnd(&rows[i]) {
				page = append(page, rows[i])
			}
		}
		if len(places) < look {
			break
		}
		s.high = places[len(places)-1].N
	}
	return page[:min(len(page), f.Limit)], nil
}

// search is a filter at work.
type search struct {
	*Filter
	db        *database.DB
	routes    []route // that the filter picks, the one in use last first; nil = all
	low, high int64
}

// places returns where the newest calls stand that the filter may pick.
//
// Where a filter leaves out routes, the newest calls of all are looked through
// first: who has most of them has a page at once. Whoever has few is found by
// its routes, each by index; those that were not in use since are left out.
func (s *search) places(ctx context.Context, limit int) ([]Place, error) {
	if s.routes == nil {
		return s.newest(ctx, nil, limit)
	}
	picked := make(map[int64]bool, len(s.routes))
	for _, r := range s.routes {
		picked[r.id] = true
	}
	all, err := s.newest(ctx, nil, glance)
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(slices.Clone(all), func(p Place) bool { return !picked[p.Route] })
	if len(list) >= limit || len(all) < glance {
		return list[:min(len(list), limit)], nil
	}
	return s.newestByRoute(ctx, limit)
}

// newestByRoute asks the routes one by one, until those that are left were not in
// use since the last place that was found.
func (s *search) newestByRoute(ctx context.Context, limit int) (list []Place, err error) {
	for some := range slices.Chunk(s.routes, atOnce) {
		if len(list) == limit && some[0].seenAt.Add(seenEvery).Before(began(list[limit-1].N)) {
			break
		}
		found, err := s.newest(ctx, some, limit)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
		slices.SortFunc(list, newestFirst)
		list = list[:min(len(list), limit)]
	}
	return list, nil
}

// newest returns the newest places in the indexes that serve the filter best; of
// these routes, if any are given.
func (s *search) newest(ctx context.Context, of []route, limit int) ([]Place, error) {
	args := []any{s.low, s.high}
	var parts []string
	for _, index := range s.indexes() {
		pick := func(route string) {
			parts = append(parts, fmt.Sprintf(`SELECT * FROM (SELECT n, route FROM messages WHERE %s%s AND n >= $1 AND n < $2 ORDER BY n DESC LIMIT %d) AS p%d`, index, route, limit, len(parts)))
		}
		if of == nil {
			pick(``)
		}
		for _, r := range of {
			args = append(args, r.id)
			pick(fmt.Sprintf(` AND route = $%d`, len(args)))
		}
	}
	list, err := database.List(ctx, s.db, "find calls", placeFields, strings.Join(parts, ` UNION ALL `), args...)
	slices.SortFunc(list, newestFirst)
	return list[:min(len(list), limit)], err
}

// indexes are conditions, each of which one index serves. Where an index has only
// some of the calls, its own condition has to be said in its words.
func (s *search) indexes() (list []string) {
	switch {
	case len(s.Outcomes) > 0 && !slices.Contains(s.Outcomes, OK):
		for _, o := range s.Outcomes {
			list = append(list, fmt.Sprintf(`outcome <> 0 AND outcome = %d`, o))
		}
	case Slowness(s.Slower.Microseconds()) > 0:
		for class := Slowness(s.Slower.Microseconds()); class < int64(len(slowness)); class++ {
			list = append(list, fmt.Sprintf(`slow <> 0 AND slow = %d`, class))
		}
	default:
		list = append(list, `type = 'chat_message'`)
	}
	return list
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

// routes are those that a filter picks, the one in use last first.
func (t *Table) routes(ctx context.Context, f *Filter) ([]route, error) {
	var where database.Conditions
	if f.AgentIDs != nil {
		where.AddList("agent_id", database.Args(f.AgentIDs))
	}
	if f.Callers != nil {
		where.AddList("caller", database.Args(f.Callers))
	}
	where.AddUnlessEmpty("surface = ?", f.Surface)
	where.AddUnlessEmpty("tool = ?", f.Tool)
	return database.List(ctx, t.db, "find routes", routeFields, `SELECT `+routeColumns+` FROM routes`+where.SQL()+` ORDER BY seen_at DESC`, where.Args...)
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

// Names are what calls to some agents can be filtered by.
type Names struct{ Callers, Surfaces, Tools []string }

// Names returns those of all calls to these agents; nil = to all.
func (t *Table) Names(ctx context.Context, agentIDs []string) (n Names, err error) {
	routes, err := t.routes(ctx, &Filter{AgentIDs: agentIDs})
	if err != nil {
		return n, err
	}
	add := func(list *[]string, name string) {
		if name != "" && !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	for _, r := range routes {
		add(&n.Callers, r.Caller)
		add(&n.Surfaces, r.Surface)
		add(&n.Tools, r.Tool)
	}
	slices.Sort(n.Surfaces)
	slices.Sort(n.Tools)
	return n, nil
}
