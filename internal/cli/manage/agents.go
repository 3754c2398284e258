package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/beeos/beeos/client"
)

// AgentCmd is about agents.
type AgentCmd struct {
	New      AgentNewCmd      `cmd:"" help:"Write a new agent in Go."`
	Run      AgentRunCmd      `cmd:"" help:"Build and run the agent in a folder, connected to the server."`
	List     AgentListCmd     `cmd:"" help:"List your agents and who is connected."`
	Show     AgentShowCmd     `cmd:"" help:"Show one agent."`
	Token    AgentTokenCmd    `cmd:"" help:"Make a one-time token with which another machine may join."`
	Register AgentRegisterCmd `cmd:"" help:"Register this machine with a join token."`
	Sign     AgentSignCmd     `cmd:"" help:"Sign one request to the agent gateway, for agents made of curl."`
}

// AgentListCmd lists agents.
type AgentListCmd struct {
	server
	JSON bool `help:"Print JSON."`
}

// Run lists agents.
func (c *AgentListCmd) Run(ctx context.Context, t *terminal) error {
	cl, err := c.client()
	if err != nil {
		return err
	}
	agents, err := cl.Agents(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return t.json(append([]client.Agent{}, agents...))
	}
	rows := make([][]string, len(agents))
	for i, a := range agents {
		rows[i] = []string{a.Name, a.ID, presence(&a), a.Visibility, strconv.Itoa(len(a.Skills)), ago(a.UpdatedAt)}
	}
	return t.table([]string{"NAME", "ID", "STATE", "VISIBILITY", "TOOLS", "CHANGED"}, rows)
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
	server
	Agent string `arg:"" help:"Id, slug or name of the agent."`
	JSON  bool   `help:"Print JSON."`
}

// Run shows one agent.
func (c *AgentShowCmd) Run(ctx context.Context, t *terminal) error {
	cl, err := c.client()
	if err != nil {
		return err
	}
	a, err := cl.Find(ctx, c.Agent)
	if err != nil {
		return err
	}
	if c.JSON {
		return t.json(a)
	}
	w := tabwriter.NewWriter(t.out, 0, 8, 2, ' ', 0)
	for _, row := range [][2]string{
		{"Name", a.Name},
		{"Id", a.ID},
		{"Slug", a.Slug},
		{"State", presence(a)},
		{"Description", a.Description},
		{"Version", a.Version},
		{"Model", a.Model},
		{"Delivery", a.DeliveryMode},
		{"Visibility", a.Visibility},
		{"MCP", mcpOf(a)},
		{"Created", ago(a.CreatedAt)},
		{"Changed", ago(a.UpdatedAt)},
	} {
		if row[1] != "" {
			fmt.Fprintf(w, "%s\t%s\n", row[0], printable(row[1])) //nolint:errcheck // Flush reports it
		}
	}
	for i, s := range a.Skills {
		label := ""
		if i == 0 {
			label = "Tools"
		}
		fmt.Fprintf(w, "%s\t%s\n", label, strings.TrimRight(printable(s.Name+"  "+shorten(s.Description, 80)), " ")) //nolint:errcheck // Flush reports it
	}
	return w.Flush()
}

func mcpOf(a *client.Agent) string {
	if !a.MCPEnabled {
		return "off"
	}
	return a.MCPURL
}
