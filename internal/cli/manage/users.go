package manage

import (
	"context"

	"github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/internal/cli/terminal"
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

// oneUser is what the commands about one person have in common.
type oneUser struct {
	database
	Email string `arg:"" help:"E-mail address."`
}

// UsersListCmd lists people.
type UsersListCmd struct {
	database
	JSON bool `help:"Print JSON."`
}

// Run lists people.
func (c *UsersListCmd) Run(ctx context.Context, t *terminal.Terminal) error {
	return c.withDirectory(ctx, func(dir *app.Directory) error {
		people, err := dir.People(ctx)
		if err != nil {
			return err
		}
		return terminal.PrintList(t, c.JSON, people, "EMAIL NAME ROLE STATE CREATED SEEN", func(p *app.Person) []string {
			role := "user"
			if p.Admin {
				role = "admin"
			}
			return []string{p.Email, p.Name, role, p.State, terminal.Ago(p.CreatedAt), terminal.Ago(p.SeenAt)}
		})
	})
}

// UsersInviteCmd invites somebody.
type UsersInviteCmd struct {
	oneUser
	Admin bool `help:"As an admin."`
}

// Run prints the link.
func (c *UsersInviteCmd) Run(ctx context.Context, t *terminal.Terminal) error {
	return c.printLink(ctx, t, "send this to "+c.Email+"; it works once, within 7 days", func(dir *app.Directory) (string, error) {
		return dir.Invite(ctx, c.Email, c.Admin)
	})
}

// UsersResetCmd helps somebody who has forgotten a password.
type UsersResetCmd struct{ oneUser }

// Run prints the link.
func (c *UsersResetCmd) Run(ctx context.Context, t *terminal.Terminal) error {
	return c.printLink(ctx, t, "send this to "+c.Email+"; it works once, within an hour", func(dir *app.Directory) (string, error) {
		return dir.Reset(ctx, c.Email)
	})
}

// UsersSetupCmd makes the first person's way in anew.
type UsersSetupCmd struct{ database }

// Run prints the link.
func (c *UsersSetupCmd) Run(ctx context.Context, t *terminal.Terminal) error {
	return c.printLink(ctx, t, "open this to become the first admin; it works once, within 30 minutes", func(dir *app.Directory) (string, error) {
		return dir.SetupLink(ctx)
	})
}

// UsersDisableCmd locks somebody out.
type UsersDisableCmd struct{ oneUser }

// Run disables the account.
func (c *UsersDisableCmd) Run(ctx context.Context) error {
	return c.withDirectory(ctx, func(dir *app.Directory) error { return dir.SetDisabled(ctx, c.Email, true) })
}

// UsersEnableCmd lets somebody in again.
type UsersEnableCmd struct{ oneUser }

// Run enables the account.
func (c *UsersEnableCmd) Run(ctx context.Context) error {
	return c.withDirectory(ctx, func(dir *app.Directory) error { return dir.SetDisabled(ctx, c.Email, false) })
}

// UsersSignOutCmd ends somebody's sessions.
type UsersSignOutCmd struct{ oneUser }

// Run ends the sessions.
func (c *UsersSignOutCmd) Run(ctx context.Context) error {
	return c.withDirectory(ctx, func(dir *app.Directory) error { return dir.SignOut(ctx, c.Email) })
}
