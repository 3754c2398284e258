package calls

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/beeos/beeos/internal/store/database"
)

// Names are what calls to some agents can be filtered by.
type Names struct{ Callers, Surfaces, Tools []string }

const (
	maxNamed  = 500  // routes that are read for names, of whatever age
	newNamed  = 1000 // calls whose routes are read besides, where there are more routes
	namedRows = `r.caller, r.surface, r.tool, r.seen_at`
)

// Names returns those of the calls to these agents; nil = to all. Callers who called
// last come first. Where there are very many routes, they are those of the newest
// calls, and of some others: a page that offers them must not wait for all.
func (t *Table) Names(ctx context.Context, agentIDs []string) (n Names, err error) {
	if agentIDs != nil && len(agentIDs) == 0 {
		return n, nil
	}
	var where database.Conditions
	if agentIDs != nil {
		where.AddList("r.agent_id", database.Args(agentIDs))
	}
	list, err := t.listNames(ctx, `SELECT `+namedRows+` FROM routes r`+where.SQL()+fmt.Sprintf(` LIMIT %d`, maxNamed), where.Args)
	if err != nil {
		return n, err
	}
	slices.SortStableFunc(list, seenLast)
	if len(list) == maxNamed {
		// Each route once: those who call much have most of the newest calls.
		recent, err := t.listNames(ctx, fmt.Sprintf(`SELECT `+namedRows+` FROM (SELECT DISTINCT route FROM (
			SELECT route FROM messages WHERE type = 'chat_message' ORDER BY n DESC LIMIT %d) AS g) AS d JOIN routes r ON r.id = d.route`, newNamed)+where.SQL(), where.Args)
		if err != nil {
			return n, err
		}
		slices.SortStableFunc(recent, seenLast)
		list = append(recent, list...)
	}
	n.Callers = distinct(list, func(r namedRoute) string { return r.caller })
	n.Surfaces = slices.Sorted(slices.Values(distinct(list, func(r namedRoute) string { return r.surface })))
	n.Tools = slices.Sorted(slices.Values(distinct(list, func(r namedRoute) string { return r.tool })))
	return n, nil
}

// namedRoute is what a route is called by.
type namedRoute struct {
	caller, surface, tool string
	seen                  int64
}

func seenLast(a, b namedRoute) int { return cmp.Compare(b.seen, a.seen) }

func (t *Table) listNames(ctx context.Context, query string, args []any) ([]namedRoute, error) {
	return database.List(ctx, t.db, "list names", func(r *namedRoute) []any { return []any{&r.caller, &r.surface, &r.tool, &r.seen} }, query, args...)
}

// distinct are the names of routes, each once, in the order in which they first
// come.
func distinct(routes []namedRoute, name func(namedRoute) string) (names []string) {
	seen := map[string]bool{"": true} // the agent itself, or not known
	for _, r := range routes {
		if s := name(r); !seen[s] {
			seen[s] = true
			names = append(names, s)
		}
	}
	return names
}
