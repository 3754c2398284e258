package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/bridge"
)

// DeployCmd makes built-in agents.
type DeployCmd struct {
	server
	File   string `short:"f" default:"beeos.yaml" placeholder:"FILE" help:"File with agents; those that have a prompt are deployed."`
	DryRun bool   `help:"Only print what would be done."`
	JSON   bool   `help:"Print JSON."`
}

// Run looks at all of them before it changes one: what the server refuses
// leaves everything as it is.
func (c *DeployCmd) Run(ctx context.Context, t *terminal) error {
	list, others, err := bridge.ReadBuiltins(c.File)
	if err != nil {
		return err
	}
	cl, err := c.client()
	if err != nil {
		return err
	}
	done := make([]client.Deployed, len(list))
	for _, dry := range []bool{true, false} {
		if !dry && c.DryRun {
			break
		}
		for i, b := range list {
			got, err := cl.Deploy(ctx, deployment(b), dry)
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
		t.note("%s has no prompt, so it runs where you start it: beeos connect --file %s", name, c.File)
	}
	if c.JSON {
		return t.json(done)
	}
	rows := make([][]string, len(done))
	for i, d := range done {
		rows[i] = []string{d.Name, d.Outcome, d.ID}
		if c.DryRun && d.Outcome != "unchanged" {
			rows[i][1] = "would be " + d.Outcome
		}
	}
	return t.table([]string{"NAME", "OUTCOME", "INSTANCE"}, rows)
}

// deployment is an agent of a file as REST wants it.
func deployment(b bridge.BuiltinAgent) client.Deployment {
	return client.Deployment{
		Name: b.Name, Model: b.Model, Models: b.Models, Prompt: b.Prompt, Servers: b.Skills,
		Config: &client.DeploymentConfig{
			DisplayName: b.DisplayName, Description: b.Description,
			Limits: client.DeploymentLimits{Turns: b.Limits.Turns, Calls: b.Limits.Calls, Tokens: b.Limits.Tokens, Seconds: b.Limits.Seconds},
		},
	}
}
