package calls

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/beeos/beeos/internal/store/database"
)

// Call is a call that has ended.
type Call struct {
	Turn    string
	Offset  int64 // of the request in its channel
	Route   Route
	Outcome Outcome
	Began   time.Time
	Took    time.Duration
}

// Filter picks calls; an empty field picks all.
type Filter struct {
	AgentIDs []string // of these agents; nil = of all
	Callers  []string // of these; nil = of everybody
	Surface  string
	Tool     string
	Outcomes []Outcome
	Slower   time.Duration // that took at least so long
	Since    time.Time     // that began then or later
	Until    time.Time     // that began before
	Before   string        // that began before this one
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

const (
	glance    = 2000             // calls that are looked through before routes are asked one by one
	atOnce    = 25               // routes that one statement asks
	seenEvery = 2 * time.Minute  // how late a route may be noted to be in use
	slow      = time.Second      // for which there is an index
	verySlow  = 10 * time.Second // for which there is another
)

// row is a call as it is stored.
type row struct {
	n, off, route, outcome, took int64
	turn                         []byte
}

func rowFields(r *row) []any { return []any{&r.n, &r.turn, &r.off, &r.route, &r.outcome, &r.took} }

// route is a route as it is stored.
type route struct {
	Route
	id     int64
	seenAt time.Time
}

func routeFields(r *route) []any {
	return []any{&r.id, &r.AgentID, &r.Caller, &r.Surface, &r.Tool, database.Time(&r.seenAt)}
}

const routeColumns = `id, agent_id, caller, surface, tool, seen_at`

// Find returns the newest calls that the filter picks, newest first.
//
// Where a filter leaves out routes, the newest calls of all are looked through
// first: who has most of them has a page at once. Whoever has few is found by
// its routes, each by index; those that were not in use since are left out.
func (t *Table) Find(ctx context.Context, f Filter) ([]Call, error) {
	if f.AgentIDs != nil && len(f.AgentIDs) == 0 || f.Callers != nil && len(f.Callers) == 0 {
		return nil, nil
	}
	if !f.byRoute() {
		rows, err := t.rows(ctx, &f, nil, f.Limit)
		if err != nil {
			return nil, err
		}
		return t.callsOf(ctx, rows)
	}
	routes, err := t.routes(ctx, &f)
	if err != nil || len(routes) == 0 {
		return nil, err
	}
	picked := make(map[int64]Route, len(routes))
	for _, r := range routes {
		picked[r.id] = r.Route
	}
	rows, err := t.rows(ctx, &f, nil, glance)
	if err != nil {
		return nil, err
	}
	whole := len(rows) < glance
	rows = slices.DeleteFunc(rows, func(r row) bool { _, ok := picked[r.route]; return !ok })
	if len(rows) < f.Limit && !whole {
		if rows, err = t.rowsByRoute(ctx, &f, routes); err != nil {
			return nil, err
		}
	}
	list := make([]Call, 0, f.Limit)
	for _, r := range rows[:min(len(rows), f.Limit)] {
		list = append(list, r.call(picked[r.route]))
	}
	return list, nil
}

func (r *row) call(of Route) Call {
	return Call{
		Turn: decodeID(r.turn), Offset: r.off, Route: of, Outcome: Outcome(r.outcome), Began: began(r.n),
		Took: time.Duration(r.took) * time.Microsecond,
	}
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

// rows are the newest rows that a filter picks, without regard to what is known
// of their routes; of those that are given, if any are.
func (t *Table) rows(ctx context.Context, f *Filter, of []route, limit int) ([]row, error) {
	var args []any
	arg := func(v any) string {
		args = append(args, v)
		return fmt.Sprintf("$%d", len(args))
	}
	conditions := f.conditions(arg)
	pick := func(route string) string {
		return `SELECT ` + Columns + ` FROM calls WHERE ` + route + conditions + ` ORDER BY n DESC LIMIT ` + fmt.Sprint(limit)
	}
	text := pick(``)
	if of != nil {
		var parts []string
		for _, r := range of {
			parts = append(parts, `SELECT * FROM (`+pick(`route = `+arg(r.id)+` AND `)+`) AS r`+fmt.Sprint(r.id))
		}
		text = strings.Join(parts, ` UNION ALL `)
	}
	return database.List(ctx, t.db, "find calls", rowFields, text, args...)
}

// conditions are those on the call itself. Where an index has only some of the
// calls, its own condition has to be said in its words.
func (f *Filter) conditions(arg func(any) string) string {
	var parts []string
	low, high := int64(0), int64(1)<<62
	if !f.Since.IsZero() {
		low = KeyOf(f.Since)
	}
	if !f.Until.IsZero() {
		high = KeyOf(f.Until)
	}
	if f.Before != "" {
		high = min(high, Key(f.Before))
	}
	parts = append(parts, `n >= `+arg(low), `n < `+arg(high))
	if len(f.Outcomes) > 0 {
		var list []string
		for _, o := range f.Outcomes {
			list = append(list, fmt.Sprint(int(o)))
		}
		if !slices.Contains(f.Outcomes, OK) {
			parts = append(parts, `outcome <> 0`)
		}
		parts = append(parts, `outcome IN (`+strings.Join(list, `, `)+`)`)
	}
	switch {
	case f.Slower >= verySlow:
		parts = append(parts, `took >= 1000000`, `took >= 10000000`)
	case f.Slower >= slow:
		parts = append(parts, `took >= 1000000`)
	}
	if f.Slower > 0 {
		parts = append(parts, `took >= `+arg(f.Slower.Microseconds()))
	}
	return strings.Join(parts, ` AND `)
}

// rowsByRoute asks the routes one by one, until those that are left were not in
// use since the last call of the page.
func (t *Table) rowsByRoute(ctx context.Context, f *Filter, routes []route) (page []row, err error) {
	for some := range slices.Chunk(routes, atOnce) {
		if len(page) == f.Limit && some[0].seenAt.Add(seenEvery).Before(began(page[f.Limit-1].n)) {
			break
		}
		found, err := t.rows(ctx, f, some, f.Limit)
		if err != nil {
			return nil, err
		}
		page = append(page, found...)
		slices.SortFunc(page, func(a, b row) int { return int(min(1, max(-1, b.n-a.n))) })
		page = page[:min(len(page), f.Limit)]
	}
	return page, nil
}

// callsOf adds to rows what their routes are.
func (t *Table) callsOf(ctx context.Context, rows []row) ([]Call, error) {
	var ids []any
	for _, r := range rows {
		if !slices.Contains(ids, any(r.route)) {
			ids = append(ids, r.route)
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
		list[i] = r.call(known[r.route])
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
