package cli

import (
	"github.com/beeos/beeos/internal/cli/terminal"
	"github.com/beeos/beeos/internal/config"
)

// ConfigCmd prints the settings in force.
type ConfigCmd struct {
	config.Config `embed:""`
	JSON          bool `help:"Print JSON."`
}

// Run prints the settings.
func (c *ConfigCmd) Run(t *terminal.Terminal) error {
	return terminal.PrintList(t, c.JSON, c.Effective(), "SETTING VALUE FROM", func(v *config.Value) []string {
		return []string{v.Env, v.Value, v.Origin}
	})
}
