package manage

import (
	"context"
	"errors"

	"github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/internal/cli/terminal"
	"github.com/beeos/beeos/internal/config"
)

// database says whose people are meant. These commands need no key: whoever
// reaches the database owns it.
type database struct {
	Data        string `env:"BEEOS_DATA" default:"./beeos-data" help:"Data folder of the server."`
	DatabaseURL string `env:"DATABASE_URL" placeholder:"URL" help:"The server's database. Empty: SQLite in the data folder."`
	Web         string `name:"web-public-url" env:"WEB_PUBLIC_URL" placeholder:"URL" help:"Console that links lead to. Empty: the one that beeos dev runs here, else http://localhost:3000."`
}

// configFor is the configuration of a server as far as its database goes.
func configFor(data, databaseURL string) config.Config {
	cfg := config.Default(false)
	cfg.Data, cfg.DatabaseURL = data, databaseURL
	return cfg
}

// with opens the database for one piece of work.
func (d *database) with(ctx context.Context, do func(*app.Directory) error) error {
	cfg := configFor(d.Data, d.DatabaseURL)
	if dev, err := app.ReadDevFile(d.Data); err == nil && d.DatabaseURL == "" {
		cfg.Web.PublicURL = dev.Web
	}
	if d.Web != "" {
		cfg.Web.PublicURL = d.Web
	}
	dir, err := app.OpenDirectory(ctx, cfg)
	if err != nil {
		return err
	}
	return errors.Join(do(dir), dir.Close())
}

// printLink makes a link and prints it, with what to do with it as a note.
func (d *database) printLink(ctx context.Context, t *terminal.Terminal, note string, makeLink func(*app.Directory) (string, error)) error {
	return d.with(ctx, func(dir *app.Directory) error {
		link, err := makeLink(dir)
		if err != nil {
			return err
		}
		t.Note("%s", note)
		return t.PrintLine(link)
	})
}
