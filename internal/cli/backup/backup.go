// Package backup holds the commands that keep what a server knows: back it up
// while it runs, restore it elsewhere, and verify that it is whole. They need no
// key: whoever reaches the database owns it.
package backup

import (
	"context"
	"path/filepath"

	"github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/internal/cli/remote"
	"github.com/beeos/beeos/internal/cli/terminal"
	"github.com/beeos/beeos/internal/config"
	"github.com/beeos/beeos/internal/store/backup"
)

// Cmd saves what a server keeps.
type Cmd struct {
	config.Config `embed:""`
	File          string `arg:"" help:"File to write. It must not be there yet, and not lie in the data folder."`
	WithoutFiles  bool   `help:"Leave out the bytes of files, for example those in a bucket that keeps versions itself."`
}

// Run writes the backup.
func (c *Cmd) Run(ctx context.Context, t *terminal.Terminal) error {
	if c.DatabaseURL == "" {
		c.Data = remote.DataFolder(c.Data)
	}
	bar := t.StartBar("saved")
	result, err := app.Backup(ctx, c.Config, c.File, !c.WithoutFiles, bar.Show)
	bar.Stop()
	if err != nil {
		return err
	}
	for _, id := range result.Missing {
		t.Say("the bytes of file %s are not there, and so not in the backup; see what else is wrong with: beeos verify", id)
	}
	t.Note("%s: %s, files with their bytes: %d. It holds keys and what people wrote, so only you can read it (mode 0600); keep copies as safe.", c.File, terminal.Bytes(result.Size), result.Files)
	if c.DatabaseURL != "" {
		t.Note("the tables are in PostgreSQL; save them with the command below, best before each beeos backup, so that every file they name is in it:")
		return t.PrintLine("pg_dump --format=custom --file=" + terminal.Quote(c.File+".dump") + " " + terminal.Quote(app.ServerURL(c.DatabaseURL)))
	}
	return nil
}

// RestoreCmd brings a backup back.
type RestoreCmd struct {
	config.Config `embed:""`
	File          string `arg:"" help:"Backup to restore. It goes into a data folder and a database that are empty."`
}

// Run restores the backup.
func (c *RestoreCmd) Run(ctx context.Context, t *terminal.Terminal) error {
	bar := t.StartBar("read")
	h, err := app.Restore(ctx, c.Config, c.File, bar.Show)
	bar.Stop()
	if err != nil {
		return err
	}
	t.Note("restored %s as it was at %s, written by %s; check it with: %s", filepath.Clean(c.Data), h.At.Format("2006-01-02 15:04:05 MST"), h.Program, c.verifyCommand())
	if h.Engine == backup.PostgreSQL {
		t.Note("the tables come from pg_dump; if they are not there yet, restore them into an empty database:")
		return t.PrintLine("pg_restore --no-owner --exit-on-error --dbname=" + terminal.Quote(app.ServerURL(c.DatabaseURL)) + " " + terminal.Quote(c.File+".dump"))
	}
	return nil
}

func (c *RestoreCmd) verifyCommand() string {
	return "beeos verify --data " + terminal.Quote(c.Data)
}
