// Package health is the part of the console that shows how an agent does: which
// processes of it are connected, what waits for it, what went wrong last, and what
// it logged (lines.go).
package health

import (
	"cmp"
	"context"
	"embed"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

//go:embed templates
var templates embed.FS

// Options is what the room stands on.
type Options struct {
	Pages *page.Server
	Acts  *act.Acts

	// What other rooms of the console know.
	FindAgent     func(r *page.Request) (*beeos.Agent, error)
	DescribeAgent func(ctx context.Context, a *beeos.Agent) (page.AgentRow, error)
}

// Health serves the page.
type Health struct{ Options }

// Mount adds the template and routes to the console.
func Mount(opt Options) error {
	h := &Health{opt}
	show := page.With(h.FindAgent, h.show)
	h.Pages.Handle("GET /agents/{agent}/health", page.SignedIn, show)
	h.Pages.Handle("GET /agents/{agent}/health/live", page.SignedIn, page.Live(show))
	return h.Pages.AddTemplates(templates)
}

// data is how an agent does.
type data struct {
	Row         page.AgentRow
	Queues      bool // requests wait for it when it is busy or away
	Connections []connection
	Last        string    // the instance that declared it last
	LastSeen    time.Time // zero = never
	Opened      int       // times that it connected
	Since       time.Time // to one of the servers since then
	Nodes       int       // that know it
	Waiting     int
	Oldest      time.Time
	Working     int // requests that its processes have in hand
	Error       *lastError
	Lines       []line
}

// connection is a process of the agent that is connected.
type connection struct {
	ID, Name, Address, Program, Node string
	Since                            time.Time
	Working                          int
}

// lastError is the last call that went wrong.
type lastError struct {
	ID, What, Outcome, Said string
	At                      time.Time
}

func (h *Health) show(r *page.Request, a *beeos.Agent) (page.Answer, error) {
	row, err := h.DescribeAgent(r.Context(), a)
	if err != nil {
		return nil, err
	}
	found, err := h.Acts.AgentHealth(r.Context(), r.Caller(), a.ID)
	if err != nil {
		return nil, err
	}
	path := "/agents/" + a.ID + "/health"
	return page.View{Page: "health", Title: "Health of " + row.Title, Room: "agents", Live: path + "/live", Here: path, Data: newData(row, a, &found)}, nil
}

func newData(row page.AgentRow, a *beeos.Agent, found *act.Health) data {
	last := found.Instances[a.InstanceID]
	d := data{
		Row: row, Queues: a.Definition.DeliveryMode == beeos.DeliverQueue, Last: safetext.Line(last.Name, 60), LastSeen: last.LastSeen,
		Nodes: len(found.Nodes), Waiting: found.Waiting, Oldest: found.Oldest, Lines: linesOf(found.Nodes),
	}
	for _, node := range found.Nodes {
		d.Opened += node.Opened
		if d.Since.IsZero() || node.Since.Before(d.Since) {
			d.Since = node.Since
		}
		for _, c := range node.Connections {
			inst := found.Instances[c.Instance]
			d.Working += c.Working
			d.Connections = append(d.Connections, connection{
				ID: c.Instance, Name: cmp.Or(safetext.Line(inst.Name, 60), "without a name"), Address: safetext.Line(c.Address, 60), Program: safetext.Line(c.Program, 60),
				Node: node.Node, Since: c.Since, Working: c.Working,
			})
		}
	}
	if c := found.LastError; c != nil {
		d.Error = &lastError{
			ID: c.Turn, What: safetext.Line(cmp.Or(c.Route.Tool, "message"), 60), Outcome: strings.ReplaceAll(c.Outcome.String(), "_", " "), Said: safetext.Line(found.LastReply, 300), At: c.Began,
		}
	}
	return d
}
