package cli

import "github.com/beeos/beeos/internal/config"

// ConfigCmd prints the settings in force.
type ConfigCmd struct {
	config.Config `embed:""`
	JSON          bool `help:"Print JSON."`
}

func (c *ConfigCmd) settings() *config.Config { return &c.Config }

// Run prints the settings.
func (c *ConfigCmd) Run(t *terminal) error {
	values := c.Effective()
	if c.JSON {
		return t.json(values)
	}
	rows := make([][]string, len(values))
	for i, v := range values {
		rows[i] = []string{v.Env, v.Value, v.Origin}
	}
	return t.table([]string{"SETTING", "VALUE", "FROM"}, rows)
}
