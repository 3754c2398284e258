package manage

import (
	"context"
	"strings"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/cli/remote"
	"github.com/beeos/beeos/internal/cli/terminal"
)

// AgentSetCmd changes what the owner decides about an agent.
type AgentSetCmd struct {
	remote.Server
	Agent      string `arg:"" help:"Id, slug or name of the agent."`
	Visibility string `enum:",private,unlisted,public,marketplace" default:"" help:"Who may call it: only you (private), everybody who knows its id (unlisted), everybody, who finds it among what you show (public) or in the marketplace."`
	MCP        string `name:"mcp" enum:",on,off" default:"" help:"Whether it can be reached over MCP: on or off."`
	Rate       *int   `placeholder:"N" help:"Calls a minute from each person, app or key. 0: the server's default."`
	HandOver   string `enum:",on,off" default:"" help:"Whether an MCP call that takes long is answered with where to fetch the result: on or off."`
	WhenLeft   string `enum:",default,stop,go_on" default:"" help:"What becomes of an MCP call whose client has left: the agent is told to stop, or goes on; default: stop, unless its redelivery is never."`
	JSON       bool   `help:"Print JSON."`

	MetadataOnly string `enum:",on,off" default:"" help:"Whether what its callers say and are told is kept from you: on or off. Calls are listed all the same."`
}

// Run changes what was given, and nothing else.
func (c *AgentSetCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client) error {
	update, changes := c.listChanges()
	if len(changes) == 0 {
		return terminal.Hint("nothing to change", "see what there is with: beeos agent set --help")
	}
	a, err := cl.Find(ctx, c.Agent)
	if err != nil {
		return err
	}
	if c.Rate != nil { // the one that the server may refuse comes first
		if _, err := cl.SetAgentLimits(ctx, a.ID, client.AgentLimits{RatePerMinute: *c.Rate}); err != nil {
			return err
		}
	}
	if update != (client.AgentUpdate{}) {
		if a, err = cl.UpdateAgent(ctx, a.ID, update); err != nil {
			return err
		}
	}
	if c.JSON {
		return t.PrintJSON(a)
	}
	t.Note("%s: %s", a.Name, strings.Join(changes, ", "))
	return nil
}

// listChanges returns what to ask for, and all of it in words.
func (c *AgentSetCmd) listChanges() (u client.AgentUpdate, changes []string) {
	note := func(what, value string) { changes = append(changes, what+" "+value) }
	if c.Visibility != "" {
		u.Visibility = &c.Visibility
		note("visibility", c.Visibility)
	}
	if c.MCP != "" {
		on := c.MCP == "on"
		u.MCPEnabled = &on
		note("MCP", c.MCP)
	}
	if c.Rate != nil {
		note("calls a minute", describeRate(*c.Rate))
	}
	if c.HandOver != "" {
		on := c.HandOver == "on"
		u.HandOver = &on
		note("hand-over", c.HandOver)
	}
	if c.WhenLeft != "" {
		left := strings.TrimPrefix(c.WhenLeft, "default")
		u.WhenLeft = &left
		note("when left", c.WhenLeft)
	}
	if c.MetadataOnly != "" {
		on := c.MetadataOnly == "on"
		u.MetadataOnly = &on
		note("metadata only", c.MetadataOnly)
	}
	return u, changes
}
