package page

import (
	"net/url"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

// Choice is an entry of a list to pick from; the template "pick" shows such a list.
type Choice struct {
	Value, Text string
	Picked      bool
}

// Address is a path with a query of names and values; those without a value are
// left out.
func Address(path string, query ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(query); i += 2 {
		if query[i+1] != "" {
			q.Set(query[i], query[i+1])
		}
	}
	return path + "?" + q.Encode()
}

// NameAgents returns what names agents by their ids, for lists: each is looked up
// once. Of one that is not found, since it is deleted, the id is shown.
func NameAgents(find func(id string) (*beeos.Agent, error)) func(id string) string {
	known := map[string]string{}
	return func(id string) string {
		title, ok := known[id]
		if !ok {
			title = safetext.Line(id, 60)
			if a, err := find(id); err == nil {
				title = AgentTitle(a)
			}
			known[id] = title
		}
		return title
	}
}
