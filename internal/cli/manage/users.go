package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/internal/config"
)

// UsersCmd is about the people of a server.
type UsersCmd struct {
	List      UsersListCmd    `cmd:"" help:"List everybody, and who is invited."`
	Invite    UsersInviteCmd  `cmd:"" help:"Print a link that makes the owner of an address a user; 7 days, once."`
	Reset     UsersResetCmd   `cmd:"" help:"Print a link with which somebody sets a new password; 1 hour, once."`
	Disable   UsersDisableCmd `cmd:"" help:"Lock somebody out, with all sessions, keys and instances."`
	Enable    UsersEnableCmd  `cmd:"" help:"Let somebody in again."`
	SignOut   UsersSignOutCmd `cmd:"" help:"End all sessions of somebody."`
	SetupLink UsersSetupCmd   `cmd:"" help:"Print a new link for the first admin, while nobody can sign in; 30 minutes, once."`
}

// database says whose people are meant. These commands need no key: whoever
// reaches the database owns it.
type database struct {
	Data        string `env:"BEEOS_DATA" default:"./beeos-data" help:"Data folder of the server."`
	DatabaseURL string `env:"DATABASE_URL" placeholder:"URL" help:"The server's database. Empty: SQLite in the data folder."`
	Web         string `name:"web-public-url" env:"WEB_PUBLIC_URL" placeholder:"URL" help:"Console that links lead to. Empty: the one that beeos dev runs here, else http://localhost:3000."`
}

// with opens the database for one piece of work.
func (d *database) with(ctx context.Context, do func(*app.Directory) error) error {
	cfg := config.Default(false)
	cfg.Data, cfg.DatabaseURL = d.Data, d.DatabaseURL
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

// link makes a link and prints it, with what to do with it as a note.
func (d *database) link(ctx context.Context, t *terminal, note string, make func(*app.Directory) (string, error)) error {
	return d.with(ctx, func(dir *app.Directory) error {
		link, err := make(dir)
		if err != nil {
			return err
		}
		t.note("%s", note)
		_, err = fmt.Fprintln(t.out, link)
		return err
	})
}

// UsersListCmd lists people.
type UsersListCmd struct {
	database
	JSON bool `help:"Print JSON."`
}

// Run lists people.
func (c *UsersListCmd) Run(ctx context.Context, t *terminal) error {
	return c.with(ctx, func(dir *app.Directory) error {
		people, err := dir.People(ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			return t.json(people)
		}
		rows := make([][]string, len(people))
		for i, p := range people {
			role := "user"
			if p.Admin {
				role = "admin"
			}
			rows[i] = []string{p.Email, p.Name, role, p.State, ago(p.CreatedAt), ago(p.SeenAt)}
		}
		return t.table([]string{"EMAIL", "NAME", "ROLE", "STATE", "CREATED", "SEEN"}, rows)
	})
}

// UsersInviteCmd invites somebody.
type UsersInviteCmd struct {
	database
	Email string `arg:"" help:"E-mail address."`
	Admin bool   `help:"As an admin."`
}

// Run prints the link.
func (c *UsersInviteCmd) Run(ctx context.Context, t *terminal) error {
	return c.link(ctx, t, "send this to "+c.Email+"; it works once, within 7 days", func(dir *app.Directory) (string, error) {
		return dir.Invite(ctx, c.Email, c.Admin)
	})
}

// UsersResetCmd helps somebody who has forgotten a password.
type UsersResetCmd struct {
	database
	Email string `arg:"" help:"E-mail address."`
}

// Run prints the link.
func (c *UsersResetCmd) Run(ctx context.Context, t *terminal) error {
	return c.link(ctx, t, "send this to "+c.Email+"; it works once, within an hour", func(dir *app.Directory) (string, error) {
		return dir.Reset(ctx, c.Email)
	})
}

// UsersSetupCmd makes the first person's way in anew.
type UsersSetupCmd struct {
	database
}

// Run prints the link.
func (c *UsersSetupCmd) Run(ctx context.Context, t *terminal) error {
	return c.link(ctx, t, "open this to become the first admin; it works once, within 30 minutes", func(dir *app.Directory) (string, error) {
		return dir.SetupLink(ctx)
	})
}

// UsersDisableCmd locks somebody out.
type UsersDisableCmd struct {
	database
	Email string `arg:"" help:"E-mail address."`
}

// Run disables the account.
func (c *UsersDisableCmd) Run(ctx context.Context) error {
	return c.with(ctx, func(dir *app.Directory) error { return dir.SetDisabled(ctx, c.Email, true) })
}

// UsersEnableCmd lets somebody in again.
type UsersEnableCmd struct {
	database
	Email string `arg:"" help:"E-mail address."`
}

// Run enables the account.
func (c *UsersEnableCmd) Run(ctx context.Context) error {
	return c.with(ctx, func(dir *app.Directory) error { return dir.SetDisabled(ctx, c.Email, false) })
}

// UsersSignOutCmd ends somebody's sessions.
type UsersSignOutCmd struct {
	database
	Email string `arg:"" help:"E-mail address."`
}

// Run ends the sessions.
func (c *UsersSignOutCmd) Run(ctx context.Context) error {
	return c.with(ctx, func(dir *app.Directory) error { return dir.SignOut(ctx, c.Email) })
}
