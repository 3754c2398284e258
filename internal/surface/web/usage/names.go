package usage

import (
	"cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

// names says who is who on the page; each is looked up once.
type names struct {
	agent  func(id string) string
	people func(principal string) string
	keys   map[string]string
}

func (room *Room) newNames(r *page.Request) *names {
	ctx, c := r.Context(), r.Caller()
	return &names{
		agent:  page.NameAgents(func(id string) (*beeos.Agent, error) { return room.Acts.OwnAgent(ctx, c, id) }),
		people: room.Acts.NamePrincipals(ctx, c), keys: room.Acts.KeyNames(ctx, c),
	}
}

func (n *names) caller(principal string) string { return safetext.Line(n.people(principal), 60) }

func (n *names) model(model string) string { return safetext.Line(cmp.Or(model, "not named"), 60) }

// credential names a key of the visitor's; of others only the id is known.
func (n *names) credential(id string) string {
	if id == "" {
		return "signed in"
	}
	return safetext.Line(cmp.Or(n.keys[id], id), 60)
}
