package calls

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/beeos/beeos/internal/store/database"
)

// search is a filter at work. Its statements ask each index that serves the filter,
// and only put together what these say: an index gives what is newest without
// looking at the rest, all of them together would not.
type search struct {
	*Filter
	db        *database.DB
	low, high int64
}

// places returns where the newest calls stand that the filter may pick.
//
// Where a filter leaves out routes, the newest calls of all are looked through
// first: who has most of them has a page at once. Whoever has few is found by
// their routes.
func (s *search) places(ctx context.Context, limit int) ([]Place, error) {
	if !s.byRoute() {
		list, err := s.union(ctx, s.indexes(), nil, func(index string) string {
			return fmt.Sprintf(`SELECT n, route FROM messages WHERE %s%s AND n >= $1 AND n < $2 ORDER BY n DESC LIMIT %d`, index, s.rest(), limit)
		})
		return list[:min(len(list), limit)], err
	}
	list, enough, err := s.glance(ctx, limit)
	if err != nil || enough {
		return list, err
	}
	return s.newestByRoute(ctx, limit)
}

// union asks each index and returns all that they give, newest first. The
// statements have the span of keys as $1 and $2, and more after these.
func (s *search) union(ctx context.Context, indexes []string, more []any, statement func(index string) string) ([]Place, error) {
	parts := make([]string, len(indexes))
	for i, index := range indexes {
		parts[i] = fmt.Sprintf(`SELECT * FROM (%s) AS p%d`, statement(index), i)
	}
	list, err := database.List(ctx, s.db, "find calls", placeFields, strings.Join(parts, ` UNION ALL `), append([]any{s.low, s.high}, more...)...)
	slices.SortFunc(list, newestFirst)
	return list, err
}

// glance looks through the newest calls of all routes for those that the filter
// picks. It is enough if there are as many as wanted, or no others.
func (s *search) glance(ctx context.Context, limit int) (list []Place, enough bool, err error) {
	indexes, where := s.indexes(), s.routesPicked()
	deep := max(1, 2*glance/(1+len(indexes))) // the look is to stay short, however many indexes there are
	columns := `n, route`
	if s.rest() != "" {
		columns += `, outcome, slow, created_at`
	}
	list, err = s.union(ctx, indexes, where.Args[2:], func(index string) string {
		return fmt.Sprintf(`SELECT n, route FROM (SELECT %s FROM messages WHERE %s AND n >= $1 AND n < $2 ORDER BY n DESC LIMIT %d) AS g
			WHERE EXISTS (SELECT 1 FROM routes r%s AND r.id = g.route)%s ORDER BY n DESC LIMIT %d`, columns, index, deep, where.SQL(), s.rest(), limit)
	})
	if err != nil || len(indexes) == 1 && len(list) == limit {
		return list, true, err
	}
	edges, err := s.union(ctx, indexes, nil, func(index string) string {
		return fmt.Sprintf(`SELECT n, route FROM messages WHERE %s AND n >= $1 AND n < $2 ORDER BY n DESC LIMIT 1 OFFSET %d`, index, deep-1)
	})
	if len(edges) > 0 { // what is older was not looked through in each index
		list = slices.DeleteFunc(list, func(p Place) bool { return p.N < edges[0].N })
	}
	return list[:min(len(list), limit)], len(edges) == 0 || len(list) >= limit, err
}

// newestByRoute asks the routes that the filter picks, first for the newest call of
// each: a page is made of calls of those that come first by it. The rest of the
// filter is left to whoever reads them: the index has nothing to say about it, and
// SQLite would look for another one.
func (s *search) newestByRoute(ctx context.Context, limit int) (list []Place, err error) {
	where := s.routesPicked()
	var last []lastCall
	for _, index := range s.indexes() {
		found, err := database.List(ctx, s.db, "find routes", placeFields, fmt.Sprintf(`SELECT COALESCE((SELECT n FROM messages WHERE %s AND route = r.id AND n >= $1 AND n < $2
			ORDER BY n DESC LIMIT 1), 0), r.id FROM routes r%s ORDER BY 1 DESC LIMIT %d`, index, where.SQL(), limit), where.Args...)
		if err != nil {
			return nil, err
		}
		for _, p := range found {
			if p.N > 0 {
				last = append(last, lastCall{p, index})
			}
		}
	}
	slices.SortFunc(last, func(a, b lastCall) int { return newestFirst(a.Place, b.Place) })
	for some := range slices.Chunk(last[:min(len(last), limit)], atOnce) {
		if len(list) == limit && some[0].N < list[limit-1].N {
			break
		}
		found, err := s.newestOf(ctx, some, limit)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
		slices.SortFunc(list, newestFirst)
		list = list[:min(len(list), limit)]
	}
	return list, nil
}

// lastCall is the newest call of a route in one of the indexes.
type lastCall struct {
	Place
	index string
}

// newestOf returns the newest places of some routes, each in its index.
func (s *search) newestOf(ctx context.Context, of []lastCall, limit int) ([]Place, error) {
	var indexes []string
	var routes []any
	for _, c := range of {
		routes = append(routes, c.Route)
		indexes = append(indexes, fmt.Sprintf(`%s AND route = $%d`, c.index, 2+len(routes)))
	}
	return s.union(ctx, indexes, routes, func(index string) string {
		return fmt.Sprintf(`SELECT n, route FROM messages WHERE %s AND n >= $1 AND n < $2 ORDER BY n DESC LIMIT %d`, index, limit)
	})
}

// routesPicked are the conditions of the routes r that the filter picks. Their
// arguments are counted from $3 on.
func (s *search) routesPicked() (where database.Conditions) {
	where.Args = []any{s.low, s.high}
	if s.AgentIDs != nil {
		where.AddList("r.agent_id", database.Args(s.AgentIDs))
	}
	if s.Callers != nil {
		where.AddList("r.caller", database.Args(s.Callers))
	}
	where.AddUnlessEmpty("r.surface = ?", s.Surface)
	where.AddUnlessEmpty("r.tool = ?", s.Tool)
	return where
}

// indexes are conditions, each of which one index serves. Where an index has only
// some of the calls, its own condition has to be said in its words.
func (s *search) indexes() (list []string) {
	switch {
	case s.byOutcome():
		for _, o := range s.Outcomes {
			list = append(list, fmt.Sprintf(`outcome <> 0 AND outcome = %d`, o))
		}
	case s.slowness() > 0:
		for class := s.slowness(); class < int64(len(slowness)); class++ {
			list = append(list, fmt.Sprintf(`slow <> 0 AND slow = %d`, class))
		}
	default:
		list = append(list, `type = 'chat_message'`)
	}
	return list
}

// byOutcome reports whether the index by outcome serves the filter best. It has no
// calls that went well; and fewer calls take minutes than go wrong.
func (s *search) byOutcome() bool {
	return len(s.Outcomes) > 0 && !slices.Contains(s.Outcomes, OK) && s.slowness() < classOfMinutes
}

// others are the outcomes that the filter leaves out and that an index has; none
// where the index that serves the filter leaves them out by itself.
func (s *search) others() (list []Outcome) {
	if len(s.Outcomes) == 0 || s.byOutcome() || s.slowness() > 0 {
		return nil
	}
	for _, o := range Ended() {
		if o != OK && !slices.Contains(s.Outcomes, o) {
			list = append(list, o)
		}
	}
	return list
}

// placesWithoutOthers is places without those that have one of the other outcomes.
// It looks at each call of the routes that the filter picks, in indexes alone: where
// hardly any is picked, that takes less than to read some again and again. (Of two
// calls of one route in one place one would leave the other out.)
func (s *search) placesWithoutOthers(ctx context.Context, limit int) ([]Place, error) {
	var outcomes []string
	for _, o := range s.others() {
		outcomes = append(outcomes, fmt.Sprint(int(o)))
	}
	where, from := s.routesPicked(), `messages m`
	if s.byRoute() {
		from = `routes r JOIN messages m ON m.route = r.id`
	}
	where.Text(`m.type = 'chat_message' AND m.n >= $1 AND m.n < $2 AND NOT EXISTS (SELECT 1 FROM messages o
		WHERE o.outcome <> 0 AND o.outcome IN (` + strings.Join(outcomes, `, `) + `) AND o.route = m.route AND o.n = m.n)`)
	return database.List(ctx, s.db, "find calls", placeFields, `SELECT m.n, m.route FROM `+from+where.SQL()+fmt.Sprintf(` ORDER BY m.n DESC, m.route DESC LIMIT %d`, limit), where.Args...)
}

func (s *search) slowness() int64 { return Slowness(s.Slower.Microseconds()) }

// idEarlier is how much before its request an id may have been made, and more.
const idEarlier = time.Second

// rest is what the filter wants of the terminal replies in an index besides: what
// they cannot be is not read. Requests do not say how they ended.
func (s *search) rest() (sql string) {
	if !s.byOutcome() && s.slowness() == 0 {
		return ""
	}
	if s.byOutcome() && s.slowness() > 0 {
		sql += fmt.Sprintf(` AND slow >= %d`, s.slowness())
	}
	if !s.byOutcome() && len(s.Outcomes) > 0 {
		var list []string
		for _, o := range s.Outcomes {
			list = append(list, fmt.Sprint(int(o)))
		}
		sql += ` AND outcome IN (` + strings.Join(list, `, `) + `)`
	}
	if least := s.Slower - idEarlier; s.slowness() > 0 && least.Microseconds() > slowness[s.slowness()] {
		sql += fmt.Sprintf(` AND created_at - n * 125 / 512 >= %d`, least.Microseconds()) // of a key in microseconds
	}
	return sql
}
