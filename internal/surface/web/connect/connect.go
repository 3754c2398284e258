// Package connect is the part of the console that leads somebody to a connected
// agent: the ways to get there (ways.go), and for each a page on which they name
// the agent, get the commands that connect it (commands.go, sdks.go), see it come, and go
// on to try it. Kinds of bridges are handed in, so a new one has a page at once.
package connect

import (
	"context"
	"embed"
	"net/url"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/surface/web/page"
)

//go:embed templates
var templates embed.FS

// Options is what the room stands on.
type Options struct {
	Pages   *page.Server
	Agents  *agents.Table
	Acts    *act.Acts
	Bridges []Bridge
	Gateway string // where agents connect; empty = this server does not know

	// What other rooms of the console know.
	DescribeAgent func(ctx context.Context, a *beeos.Agent) (page.AgentRow, error)
	ListSnippets  func(a *beeos.Agent) []page.Snippet
}

// Bridge is a kind of program that `beeos connect` turns into an agent.
type Bridge struct {
	Name    string // of the flag that chooses it
	Title   string
	About   string
	Options []Option
	Sample  string // a whole program of this kind; empty = there is nothing to write
}

// Option is a flag of a bridge.
type Option struct {
	Flag    string
	Help    string
	Example string // empty = it can be left out
	Switch  bool   // it has no value: it is there or not
}

// Connect serves the pages.
type Connect struct{ Options }

// Mount adds the templates and routes to the console.
func Mount(opt Options) error {
	c := &Connect{opt}
	if err := c.Pages.AddTemplates(templates); err != nil {
		return err
	}
	show := page.With(c.findWay, c.showWay)
	c.Pages.Handle("GET /connect", page.SignedIn, c.showWays)
	c.Pages.Handle("GET /connect/{way}", page.SignedIn, show)
	c.Pages.Handle("POST /connect/{way}", page.SignedIn, page.Form(page.With(c.findWay, c.prepare), show))
	c.Pages.Handle("GET /connect/{way}/live", page.SignedIn, page.Live(show))
	return nil
}

// data is the page of one way.
type data struct {
	Way         way
	Name        string // of the agent
	Description string
	Fields      []field
	Steps       []command // with a token in them; none = it has not been made, or was shown before
	Await       bool      // somebody has been told how to connect the agent
	Found       *found    // nil = it is not there
}

// field is an option of a bridge, as it is asked for.
type field struct {
	Option
	Value string
}

// found is the agent, connected.
type found struct {
	Row      page.AgentRow
	Snippets []page.Snippet
}

// showWay shows what to do, with what was filled in. The address may name an agent
// that somebody is waiting for.
func (c *Connect) showWay(r *page.Request, w way) (page.Answer, error) {
	d := readForm(r, w)
	if name := r.URL.Query().Get("name"); name != "" && agents.ValidateDefinition(beeos.Definition{Name: name}) == nil {
		d.Name, d.Await = name, true
	}
	return c.view(r, d)
}

// view shows the page, with the agent if it is there.
func (c *Connect) view(r *page.Request, d data) (page.Answer, error) {
	v := page.View{Page: "connect", Title: d.Way.Title, Room: "agents", Here: "/connect/" + d.Way.Name}
	if d.Await {
		a, row, err := c.findAgent(r, d.Name)
		if err != nil {
			return nil, err
		}
		if a != nil && row.Online {
			d.Found = &found{row, c.ListSnippets(a)}
		}
		v.Live = v.Here + "/live?name=" + url.QueryEscape(d.Name)
	}
	v.Data = d
	return v, nil
}

// findAgent returns the visitor's agent of a name; nil = there is none.
func (c *Connect) findAgent(r *page.Request, name string) (*beeos.Agent, page.AgentRow, error) {
	a, err := c.Agents.GetByName(r.Context(), r.User.ID, name)
	if beeos.CodeOf(err) == beeos.AgentNotFound {
		return nil, page.AgentRow{}, nil
	}
	if err != nil {
		return nil, page.AgentRow{}, err
	}
	row, err := c.DescribeAgent(r.Context(), a)
	return a, row, err
}

// readForm reads what was filled in.
func readForm(r *page.Request, w way) data {
	d := data{Way: w, Name: strings.TrimSpace(r.PostForm.Get("name")), Description: strings.TrimSpace(r.PostForm.Get("description"))}
	for _, o := range w.Options {
		d.Fields = append(d.Fields, field{o, strings.TrimSpace(r.PostForm.Get("o." + o.Flag))})
	}
	return d
}

// maxValue bounds a field, in bytes.
const maxValue = 2000

// check says what is wrong with what was filled in.
func (d *data) check() error {
	if err := agents.ValidateDefinition(beeos.Definition{Name: d.Name}); err != nil {
		return err
	}
	if d.Way.writes && !projectName.MatchString(d.Name) {
		return beeos.Errorf(beeos.InvalidParam, "for a program that you write the name is one of a folder, too: use lower-case letters, digits and -, beginning with a letter")
	}
	for _, f := range append([]field{{Option{Flag: "description"}, d.Description}}, d.Fields...) {
		switch {
		case f.Example != "" && f.Value == "":
			return beeos.Errorf(beeos.MissingParam, "fill in --%s; for example %s", f.Flag, f.Example)
		case len(f.Value) > maxValue:
			return beeos.Errorf(beeos.InvalidParam, "what you gave for --%s is longer than %d bytes; shorten it", f.Flag, maxValue)
		case beeos.Visible(f.Value) != f.Value || strings.ContainsAny(f.Value, "\r\n\t"):
			return beeos.Errorf(beeos.InvalidParam, "what you gave for --%s has characters in it that cannot be seen, or more than one line; type it anew", f.Flag)
		}
	}
	return nil
}

// prepare makes a join token and shows the commands with it, this once.
func (c *Connect) prepare(r *page.Request, w way) (page.Answer, error) {
	d := readForm(r, w)
	if err := d.check(); err != nil {
		return nil, err
	}
	if c.Gateway == "" {
		return nil, beeos.Errorf(beeos.Conflict, "this server does not know where agents connect; set AGENT_GATEWAY_URL and start it again")
	}
	switch a, row, err := c.findAgent(r, d.Name); {
	case err != nil:
		return nil, err
	case a != nil && row.Builtin:
		return nil, beeos.Errorf(beeos.Conflict, "%q is a built-in agent of yours; choose another name", d.Name)
	case a != nil && row.Online:
		return nil, beeos.Errorf(beeos.Conflict, "you have an agent %q already, and it is connected; choose another name", d.Name)
	}
	token, _, err := c.Acts.CreateJoinToken(r.Context(), r.Caller(), act.JoinTokenTTL)
	if err != nil {
		return nil, err
	}
	d.Steps, d.Await = w.commands(&d, access{c.Gateway, token}), true
	return c.view(r, d)
}
