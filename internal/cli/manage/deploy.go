package manage

import (
	"context"
	"errors"
	"fmt"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/cli/remote"
	"github.com/beeos/beeos/internal/cli/terminal"
	"github.com/beeos/beeos/internal/outward/bridge"
)

// DeployCmd makes built-in agents.
type DeployCmd struct {
	remote.Server
	File   string `short:"f" default:"beeos.yaml" placeholder:"FILE" help:"File with agents; those that have a prompt are deployed."`
	DryRun bool   `help:"Only print what would be done."`
	JSON   bool   `help:"Print JSON."`
}

// Run looks at all of them before it changes one: what the server refuses
// leaves everything as it is.
func (c *DeployCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client) error {
	list, others, err := bridge.ReadBuiltins(c.File)
	if err != nil {
		return err
	}
	done := make([]client.Deployed, len(list))
	for _, dry := range []bool{true, false} {
		if !dry && c.DryRun {
			break
		}
		for i, b := range list {
			got, err := cl.Deploy(ctx, newDeployment(b), dry)
			if said, ok := errors.AsType[*beeos.Error](err); ok {
				return beeos.Wrap(said.Code, err, fmt.Sprintf("agent %s: %s", b.Name, said.Message))
			}
			if err != nil {
				return err
			}
			done[i] = *got
		}
	}
	for _, name := range others {
		t.Note("%s has no prompt, so it runs where you start it: beeos connect --file %s", name, c.File)
	}
	return terminal.PrintList(t, c.JSON, done, "NAME OUTCOME INSTANCE", func(d *client.Deployed) []string {
		outcome := d.Outcome
		if c.DryRun && outcome != "unchanged" {
			outcome = "would be " + outcome
		}
		return []string{d.Name, outcome, d.ID}
	})
}

// newDeployment returns an agent of a file as REST wants it.
func newDeployment(b bridge.BuiltinAgent) client.Deployment {
	return client.Deployment{
		Name: b.Name, Model: b.Model, Models: b.Models, Prompt: b.Prompt, Servers: b.Skills,
		Config: &client.DeploymentConfig{
			DisplayName: b.DisplayName, Description: b.Description, Fallbacks: b.Fallbacks,
			Limits: client.DeploymentLimits{Turns: b.Limits.Turns, Calls: b.Limits.Calls, Tokens: b.Limits.Tokens, Seconds: b.Limits.Seconds},
		},
	}
}
