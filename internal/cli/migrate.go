package cli

import (
	"context"

	"github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/internal/cli/terminal"
)

// MigrateCmd copies a SQLite data folder into PostgreSQL, or a PostgreSQL into a
// data folder.
type MigrateCmd struct {
	To   string `required:"" enum:"postgres,sqlite" placeholder:"postgres|sqlite" help:"What to move to (${enum})."`
	URL  string `arg:"" env:"DATABASE_URL" help:"The PostgreSQL, empty if it is to be filled: postgres://user:password@host:5432/database."`
	Data string `env:"BEEOS_DATA" default:"./beeos-data" help:"Data folder to copy from or to."`
}

// Run copies; a failure leaves the target as it was.
func (c *MigrateCmd) Run(ctx context.Context, t *terminal.Terminal) error {
	note := func(table string, rows int) { t.Note("%-18s %d rows", table, rows) }
	if c.To == "sqlite" {
		if err := app.MigrateBack(ctx, c.Data, c.URL, note); err != nil {
			return err
		}
		t.Note("copied; start the server without DATABASE_URL and with --data %s from now on; uploaded files are where they were", c.Data)
		return nil
	}
	if err := app.Migrate(ctx, c.Data, c.URL, note); err != nil {
		return err
	}
	t.Note("copied; set DATABASE_URL to that database from now on, and keep %s: uploaded files stay in it", c.Data)
	return nil
}
