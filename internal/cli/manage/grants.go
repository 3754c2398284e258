package cli

import (
	"context"
	"strings"

	"github.com/beeos/beeos/internal/app"
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
func (c *GrantsListCmd) Run(ctx context.Context, t *terminal) error {
	return c.with(ctx, func(dir *app.Directory) error {
		grants, err := dir.Grants(ctx, c.User)
		if err != nil {
			return err
		}
		if c.JSON {
			return t.json(grants)
		}
		rows := make([][]string, len(grants))
		for i, g := range grants {
			agents, expires := strings.Join(g.Agents, ", "), "never"
			if g.All {
				agents = "all"
			}
			if !g.ExpiresAt.IsZero() {
				expires = g.ExpiresAt.Local().Format("2006-01-02 15:04")
			}
			rows[i] = []string{g.ID, g.User, shorten(g.Client, 30), shorten(g.Host, 30), shorten(agents, 40), ago(g.CreatedAt), ago(g.UsedAt), expires}
		}
		return t.table([]string{"ID", "USER", "APP", "HOST", "AGENTS", "CREATED", "USED", "EXPIRES"}, rows)
	})
}

// GrantsRevokeCmd ends a grant.
type GrantsRevokeCmd struct {
	database
	ID string `arg:"" help:"Id of the grant, from: beeos grants list."`
}

// Run ends the grant.
func (c *GrantsRevokeCmd) Run(ctx context.Context) error {
	return c.with(ctx, func(dir *app.Directory) error { return dir.RevokeGrant(ctx, c.ID) })
}

// GrantsRotateCmd makes a new signing key.
type GrantsRotateCmd struct{ database }

// Run makes it.
func (c *GrantsRotateCmd) Run(ctx context.Context) error {
	return c.with(ctx, func(dir *app.Directory) error { return dir.RotateKey(ctx) })
}
