package manage

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/cli/remote"
	"github.com/beeos/beeos/internal/cli/terminal"
)

// AgentListCmd lists agents.
type AgentListCmd struct {
	remote.Server
	JSON bool `help:"Print JSON."`
}

// Run lists agents.
func (c *AgentListCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client) error {
	agents, err := cl.Agents(ctx)
	if err != nil {
		return err
	}
	return terminal.PrintList(t, c.JSON, agents, "NAME ID STATE VISIBILITY TOOLS CHANGED", func(a *client.Agent) []string {
		return []string{describeName(a), a.ID, describePresence(a), a.Visibility, strconv.Itoa(len(a.Skills)), terminal.Ago(a.UpdatedAt)}
	})
}

// describeName is by which names an agent can be called: its own, and that which
// its owner gave it.
func describeName(a *client.Agent) string {
	if a.DisplayName == "" || strings.EqualFold(a.DisplayName, a.Name) {
		return a.Name
	}
	return a.Name + " (" + a.DisplayName + ")"
}

func describePresence(a *client.Agent) string {
	switch {
	case a.Online:
		return "online"
	case a.Status == "active":
		return "offline"
	}
	return a.Status
}

// AgentShowCmd shows one agent.
type AgentShowCmd struct {
	remote.Server
	Agent string `arg:"" help:"Id, slug or name of the agent."`
	JSON  bool   `help:"Print JSON."`
}

// Run shows one agent.
func (c *AgentShowCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client) error {
	a, err := cl.Find(ctx, c.Agent)
	if err != nil {
		return err
	}
	if c.JSON {
		return t.PrintJSON(a)
	}
	mcp := "off"
	if a.MCPEnabled {
		mcp = a.MCPURL
	}
	rate, err := readRate(ctx, cl, a.ID)
	if err != nil {
		return err
	}
	fields := [][]string{
		{"Name", a.Name},
		{"Shown as", a.DisplayName},
		{"Id", a.ID},
		{"Slug", a.Slug},
		{"State", describePresence(a)},
		{"Description", a.Description},
		{"Version", a.Version},
		{"Model", a.Model},
		{"Delivery", a.DeliveryMode},
		{"Visibility", a.Visibility},
		{"MCP", mcp},
		{"Calls/min", rate},
		{"Hand-over", describeSwitch(a.HandOver)},
		{"When left", cmp.Or(a.WhenLeft, "default")},
		{"Metadata only", describeSwitch(a.MetadataOnly)},
		{"Created", terminal.Ago(a.CreatedAt)},
		{"Changed", terminal.Ago(a.UpdatedAt)},
	}
	label := "Tools"
	for _, s := range a.Skills {
		fields = append(fields, []string{label, strings.TrimRight(s.Name+"  "+terminal.Shorten(s.Description, 80), " ")})
		label = ""
	}
	return t.PrintFields(fields)
}

// readRate describes how often each credential may call an agent; only its owner
// is told.
func readRate(ctx context.Context, cl *client.Client, agentID string) (string, error) {
	l, err := cl.AgentLimits(ctx, agentID)
	switch code := beeos.CodeOf(err); {
	case err == nil:
		return describeRate(l.RatePerMinute), nil
	case code == beeos.Forbidden, code == beeos.AgentNotFound, code == beeos.NotFound:
		return "", nil
	}
	return "", err
}

func describeSwitch(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// AgentRenameCmd renames an agent.
type AgentRenameCmd struct {
	remote.Server
	Agent string `arg:"" help:"Id, slug or name of the agent."`
	Name  string `arg:"" help:"What people see from now on; \"\" is what the agent calls itself."`
	JSON  bool   `help:"Print JSON."`
}

// Run renames an agent. The program behind it goes on declaring it by its own
// name, and commands go on taking that.
func (c *AgentRenameCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client) error {
	a, err := cl.Find(ctx, c.Agent)
	if err != nil {
		return err
	}
	name := strings.TrimSpace(c.Name)
	if a, err = cl.UpdateAgent(ctx, a.ID, client.AgentUpdate{DisplayName: &name}); err != nil {
		return err
	}
	if c.JSON {
		return t.PrintJSON(a)
	}
	t.Note("%s is shown as %q now", a.Name, cmp.Or(a.DisplayName, a.Name))
	return nil
}

// AgentDeleteCmd deletes an agent.
type AgentDeleteCmd struct {
	remote.Server
	Agent string `arg:"" help:"Id, slug or name of the agent."`
}

// Run deletes an agent.
func (c *AgentDeleteCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client) error {
	a, err := cl.Find(ctx, c.Agent)
	if err != nil {
		return err
	}
	if err := cl.DeleteAgent(ctx, a.ID); err != nil {
		return err
	}
	t.Note("%s (%s) is deleted, with its keys; a program that declares it again makes a new one", a.Name, a.ID)
	return nil
}

// AgentTokenCmd makes a join token.
type AgentTokenCmd struct {
	remote.Server
	TTL  time.Duration `default:"1h" help:"How long it can be used."`
	JSON bool          `help:"Print JSON."`
}

// Run prints the token.
func (c *AgentTokenCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client) error {
	token, err := cl.CreateJoinToken(ctx, c.TTL)
	if err != nil {
		return err
	}
	if !c.JSON {
		t.Note("works once, until %s; on the other machine set BEEOS_JOIN_TOKEN to it", token.ExpiresAt.Local().Format("15:04 on 2006-01-02"))
	}
	return t.PrintEither(c.JSON, token, token.Token)
}
