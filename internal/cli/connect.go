package cli

import (
	"context"
	"strings"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/internal/bridge"
	"github.com/beeos/beeos/internal/config"
)

// ConnectCmd makes an agent of a program that is none.
type ConnectCmd struct {
	agentEnv
	Name        string   `required:"" help:"Name of the agent."`
	Description string   `help:"What it does, for callers and their models."`
	Token       string   `env:"BEEOS_JOIN_TOKEN" placeholder:"TOKEN" help:"One-time token to join with, from: beeos agent token."`
	Identity    string   `placeholder:"FILE" help:"File of its identity. Empty: one per agent in the user's configuration folder."`
	Exec        string   `required:"" placeholder:"CMD" help:"Program that answers: a JSON line on stdin per message, JSON lines on stdout. More than one word is run by the shell."`
	Args        []string `arg:"" optional:"" passthrough:"" help:"Arguments of the program, after --."`
}

// Run serves the program until the context ends.
func (c *ConnectCmd) Run(ctx context.Context, t *terminal) error {
	c.fill()
	connected := func(id string) {
		t.note("%s is connected as %s; try: beeos call %s \"hello\"", c.Name, id, c.Name)
	}
	return bridge.Exec(ctx, bridge.ExecOptions{
		Name: c.Name, Description: c.Description, Command: c.command(),
		Log: app.Logger(t.err, config.Config{LogLevel: "warn"}),
		Agent: agent.Options{
			Gateway: c.Gateway, Key: c.Key, JoinToken: c.Token, Identity: c.Identity, Connected: connected,
		},
	})
}

// command is the program with its arguments. What is not a plain word is a
// line for the shell, as people who put it in quotes expect.
func (c *ConnectCmd) command() []string {
	args := c.Args
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 && strings.ContainsAny(c.Exec, " \t\n|&;<>()$`\"'") {
		return []string{"sh", "-c", c.Exec}
	}
	return append([]string{c.Exec}, args...)
}
