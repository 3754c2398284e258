package connect

import (
	"regexp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/web/page"
)

// byProtocol is the way without anything of ours.
const byProtocol = "protocol"

// way is how an agent can be connected.
type way struct {
	Bridge
	To       string // the page that it is on
	commands func(*data, access) []command
	writes   bool // `beeos agent new` writes a program
}

// projectName is what `beeos agent new` takes.
var projectName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)

// listWays returns all ways, those that need the least first.
func (c *Connect) listWays() []way {
	var list []way
	for _, s := range sdks {
		list = append(list, way{Bridge: Bridge{Name: s.Name, Title: s.Title, About: s.About}, commands: s.commands, writes: true})
	}
	for _, b := range c.Bridges {
		list = append(list, way{Bridge: b, commands: bridgeCommands})
	}
	list = append(list,
		way{Bridge: Bridge{Name: byProtocol, Title: "By the protocol", About: "From any language that has HTTP: signed requests and frames of JSON. With a whole agent in the shell."}, commands: protocolCommands},
		way{Bridge: Bridge{Name: "builtin", Title: "A built-in agent", About: "No program at all: a model, a prompt and skill servers. BeeOS runs it."}, To: "/agents/new"},
	)
	for i := range list {
		if list[i].To == "" {
			list[i].To = "/connect/" + list[i].Name
		}
	}
	return list
}

// findWay returns the way of the path.
func (c *Connect) findWay(r *page.Request) (way, error) {
	for _, w := range c.listWays() {
		if w.Name == r.PathValue("way") && w.commands != nil {
			return w, nil
		}
	}
	return way{}, beeos.Errorf(beeos.NotFound, "there is no such way to connect an agent; see under Connect an agent which there are")
}

func (c *Connect) showWays(*page.Request) (page.Answer, error) {
	return page.View{Page: "connect_ways", Title: "Connect an agent", Room: "agents", Data: c.listWays()}, nil
}
