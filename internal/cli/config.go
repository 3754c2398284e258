package cli

import (
	"fmt"

	"github.com/beeos/beeos/internal/cli/terminal"
	"github.com/beeos/beeos/internal/config"
)

// ConfigCmd is about the settings of the server.
type ConfigCmd struct {
	Show   ConfigShowCmd   `cmd:"" default:"withargs" help:"Print the settings in force and where each came from."`
	Check  ConfigCheckCmd  `cmd:"" help:"Say what is wrong with a file of settings, with line numbers."`
	Schema ConfigSchemaCmd `cmd:"" help:"Print the JSON schema of a file of settings, for editors."`
}

// ConfigShowCmd prints the settings in force.
type ConfigShowCmd struct {
	config.Config `embed:""`
	JSON          bool `help:"Print JSON."`
}

// Run prints the settings.
func (c *ConfigShowCmd) Run(t *terminal.Terminal) error {
	return terminal.PrintList(t, c.JSON, c.Effective(), "SETTING VALUE FROM", func(v *config.Value) []string {
		return []string{v.Env, v.Value, v.Origin}
	})
}

// ConfigCheckCmd checks a file of settings.
type ConfigCheckCmd struct {
	File string `arg:"" optional:"" help:"The file. Empty: the one that the server would read."`
	JSON bool   `help:"Print JSON."`
}

// Run prints what is wrong, one line each, and fails if anything is.
func (c *ConfigCheckCmd) Run(t *terminal.Terminal) error {
	if c.File == "" {
		c.File = config.FindFile()
	}
	if c.File == "" {
		return terminal.Hint("there is no file of settings", "name one: beeos config check FILE")
	}
	problems, err := config.CheckFile(c.File)
	if err != nil {
		return err
	}
	if c.JSON {
		if err := t.PrintJSON(append([]config.Problem{}, problems...)); err != nil {
			return err
		}
	}
	for _, p := range problems {
		if !c.JSON {
			if err := t.PrintLine(fmt.Sprintf("%s:%d: %s", c.File, p.Line, p.Text)); err != nil {
				return err
			}
		}
	}
	switch len(problems) {
	case 0:
		t.Note("%s is good", c.File)
		return nil
	case 1:
		return fmt.Errorf("%s has a problem", c.File)
	}
	return fmt.Errorf("%s has %d problems", c.File, len(problems))
}

// ConfigSchemaCmd prints the schema.
type ConfigSchemaCmd struct{}

// Run prints it.
func (c *ConfigSchemaCmd) Run(t *terminal.Terminal) error {
	schema, err := config.Schema()
	if err != nil {
		return err
	}
	return t.PrintLine(string(schema))
}
