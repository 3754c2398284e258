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

// maxNamed bounds how many routes, and how many calls, are read for names.
const maxNamed = 1000

// Names returns those of the calls to these agents; nil = to all. Callers who called
// last come first. Where there are very many routes, they are those of the newest
// calls, and of some others.
func (t *Table) Names(ctx context.Context, agentIDs []string) (n Names, err error) {
	if agentIDs != nil && len(agentIDs) == 0 {
		return n, nil
	}
	var where database.Conditions
	if agentIDs != nil {
		where.AddList("r.agent_id", database.Args(agentIDs))
	}
	list, err := t.listNames(ctx, `routes r`, where)
	if err != nil {
		return n, err
	}
	slices.SortStableFunc(list, func(a, b namedRoute) int { return cmp.Compare(b.seen, a.seen) })
	if len(list) == maxNamed {
		recent, err := t.listNames(ctx, fmt.Sprintf(`(SELECT route FROM messages WHERE type = 'chat_message' ORDER BY n DESC LIMIT %d) AS g JOIN routes r ON r.id = g.route`, maxNamed), where)
		if err != nil {
			return n, err
		}
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

func (t *Table) listNames(ctx context.Context, from string, where database.Conditions) ([]namedRoute, error) {
	return database.List(ctx, t.db, "list names", func(r *namedRoute) []any { return []any{&r.caller, &r.surface, &r.tool, &r.seen} },
		`SELECT r.caller, r.surface, r.tool, r.seen_at FROM `+from+where.SQL()+fmt.Sprintf(` LIMIT %d`, maxNamed), where.Args...)
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
