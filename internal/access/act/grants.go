package act

import (
	"context"
	"slices"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/oauth/tokens"
	"github.com/beeos/beeos/internal/store/audit"
	"github.com/beeos/beeos/internal/store/grants"
)

// NarrowGrant leaves an app only some of the agents that the caller let it
// reach.
func (a *Acts) NarrowGrant(ctx context.Context, c beeos.Caller, id string, agents []string) error {
	if err := RequirePerson(c); err != nil {
		return err
	}
	g, err := a.OAuth.NarrowGrant(ctx, c.UserID, id, agents)
	if err != nil {
		return err
	}
	a.record(ctx, c, c.UserID, audit.GrantNarrow, id, map[string]string{"client": g.ClientName})
	return nil
}

// RevokeGrant ends what the caller allowed an app, with all its tokens. An
// operator ends anybody's.
func (a *Acts) RevokeGrant(ctx context.Context, c beeos.Caller, id string) error {
	if err := RequirePerson(c); err != nil {
		return err
	}
	owner := c.UserID
	if c.Kind == beeos.ByOperator {
		all, err := a.DB.Grants.ListGrants(ctx, "")
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(all, func(g grants.Grant) bool { return g.ID == id }); i >= 0 {
			owner = all[i].UserID
		}
	}
	g, err := a.DB.Grants.RevokeGrant(ctx, owner, id, a.Now())
	if err != nil {
		return err
	}
	a.tellRevoked(id)
	a.record(ctx, c, owner, audit.GrantRevoke, id, map[string]string{"client": g.ClientName})
	return nil
}

// RotateSigningKey makes a new key that tokens are signed with. Those of the
// old one stay good until they expire by themselves.
func (a *Acts) RotateSigningKey(ctx context.Context, c beeos.Caller) error {
	if err := a.requireAdmin(ctx, c); err != nil {
		return err
	}
	id, err := tokens.Rotate(ctx, a.DB.Grants, a.Now())
	if err != nil {
		return err
	}
	a.record(ctx, c, c.UserID, audit.KeyRotate, id, nil)
	return nil
}
