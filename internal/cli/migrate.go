package cli

import (
	"context"

	"github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/internal/cli/terminal"
)

// MigrateCmd copies a SQLite data folder into PostgreSQL.
type MigrateCmd struct {
	To   string `required:"" enum:"postgres" placeholder:"postgres" help:"What to move to (${enum})."`
	URL  string `arg:"" env:"DATABASE_URL" help:"The empty database to fill: postgres://user:password@host:5432/database."`
	Data string `env:"BEEOS_DATA" default:"./beeos-data" help:"Data folder to copy from."`
}

// Run copies; a failure leaves the target as it was.
func (c *MigrateCmd) Run(ctx context.Context, t *terminal.Terminal) error {
	err := app.Migrate(ctx, c.Data, c.URL, func(table string, rows int) {
		t.Note("%-18s %d rows", table, rows)
	})
	if err != nil {
		return err
	}
	t.Note("copied; set DATABASE_URL to that database from now on, and keep %s: uploaded files stay in it", c.Data)
	return nil
}
