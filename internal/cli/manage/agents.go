package manage

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/cli/terminal"
)

// AgentListCmd lists agents.
type AgentListCmd struct {
	Server
	JSON bool `help:"Print JSON."`
}

// Run lists agents.
func (c *AgentListCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client) error {
	agents, err := cl.Agents(ctx)
	if err != nil {
		return err
	}
	return terminal.PrintList(t, c.JSON, agents, "NAME ID STATE VISIBILITY TOOLS CHANGED", func(a *client.Agent) []string {
		return []string{a.Name, a.ID, presence(a), a.Visibility, strconv.Itoa(len(a.Skills)), terminal.Ago(a.UpdatedAt)}
	})
}

func presence(a *client.Agent) string {
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
	Server
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
	fields := [][]string{
		{"Name", a.Name},
		{"Id", a.ID},
		{"Slug", a.Slug},
		{"State", presence(a)},
		{"Description", a.Description},
		{"Version", a.Version},
		{"Model", a.Model},
		{"Delivery", a.DeliveryMode},
		{"Visibility", a.Visibility},
		{"MCP", mcp},
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

// AgentTokenCmd makes a join token.
type AgentTokenCmd struct {
	Server
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
