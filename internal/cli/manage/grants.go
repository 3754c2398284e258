package manage

import (
	"context"
	"strings"

	"github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/internal/cli/terminal"
)

// GrantsCmd is about the apps that people let reach their agents.
type GrantsCmd struct {
	List   GrantsListCmd   `cmd:"" help:"List which app may reach which agents."`
	Revoke GrantsRevokeCmd `cmd:"" help:"End a grant and its tokens."`
	Rotate GrantsRotateCmd `cmd:"" name:"rotate-key" help:"Sign tokens with a new key; those of the old one stay good until they expire."`
}

// GrantsListCmd lists grants.
type GrantsListCmd struct {
	database
	User string `placeholder:"EMAIL" help:"Only what this person allowed."`
	JSON bool   `help:"Print JSON."`
}

// Run lists grants.
func (c *GrantsListCmd) Run(ctx context.Context, t *terminal.Terminal) error {
	return c.withDirectory(ctx, func(dir *app.Directory) error {
		grants, err := dir.Grants(ctx, c.User)
		if err != nil {
			return err
		}
		return terminal.PrintList(t, c.JSON, grants, "ID USER APP HOST AGENTS CREATED USED EXPIRES", func(g *app.Grant) []string {
			agents := strings.Join(g.Agents, ", ")
			if g.All {
				agents = "all"
			}
			return []string{
				g.ID, g.User, terminal.Shorten(g.Client, 30), terminal.Shorten(g.Host, 30), terminal.Shorten(agents, 40),
				terminal.Ago(g.CreatedAt), terminal.Ago(g.UsedAt), terminal.Until(g.ExpiresAt),
			}
		})
	})
}

// GrantsRevokeCmd ends a grant.
type GrantsRevokeCmd struct {
	database
	ID string `arg:"" help:"Id of the grant, from: beeos grants list."`
}

// Run ends the grant.
func (c *GrantsRevokeCmd) Run(ctx context.Context) error {
	return c.withDirectory(ctx, func(dir *app.Directory) error { return dir.RevokeGrant(ctx, c.ID) })
}

// GrantsRotateCmd makes a new signing key.
type GrantsRotateCmd struct{ database }

// Run makes it.
func (c *GrantsRotateCmd) Run(ctx context.Context) error {
	return c.withDirectory(ctx, func(dir *app.Directory) error { return dir.RotateKey(ctx) })
}
