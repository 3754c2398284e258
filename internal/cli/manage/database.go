// Package manage holds the commands of people who run agents or a server: agents,
// keys and built-in agents over REST, and, for operators, users and grants
// straight in the database.
package manage

import (
	"cmp"
	"context"
	"errors"

	"github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/internal/cli/remote"
	"github.com/beeos/beeos/internal/cli/terminal"
	"github.com/beeos/beeos/internal/config"
)

// database says whose people are meant. These commands need no key: whoever
// reaches the database owns it.
type database struct {
	Data        string `env:"BEEOS_DATA" default:"./beeos-data" help:"Data folder of the server."`
	DatabaseURL string `env:"DATABASE_URL" placeholder:"URL" help:"The server's database. Empty: as its settings say, else SQLite in the data folder."`
	Web         string `name:"web-public-url" env:"WEB_PUBLIC_URL" placeholder:"URL" help:"Console that links lead to. Empty: the one that beeos dev runs here, else the one in the server's settings."`
}

// withDirectory opens the database for one piece of work.
func (d *database) withDirectory(ctx context.Context, do func(*app.Directory) error) error {
	if d.DatabaseURL == "" {
		d.Data = remote.DataFolder(d.Data)
	}
	dev, err := app.ReadDevFile(d.Data)
	isDev := err == nil && d.DatabaseURL == ""
	cfg, err := config.OfServer(d.Data, d.DatabaseURL, isDev)
	if err != nil {
		return err
	}
	if isDev {
		cfg.Web.PublicURL = dev.Web
	}
	cfg.Web.PublicURL = cmp.Or(d.Web, cfg.Web.PublicURL, config.Default(false).Web.PublicURL) // a free port has no URL yet
	dir, err := app.OpenDirectory(ctx, cfg)
	if err != nil {
		return err
	}
	return errors.Join(do(dir), dir.Close())
}

// printLink makes a link and prints it, with what to do with it as a note.
func (d *database) printLink(ctx context.Context, t *terminal.Terminal, note string, makeLink func(*app.Directory) (string, error)) error {
	return d.withDirectory(ctx, func(dir *app.Directory) error {
		link, err := makeLink(dir)
		if err != nil {
			return err
		}
		t.Note("%s", note)
		return t.PrintLine(link)
	})
}
