package app

import (
	"context"
	"fmt"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/config"
)

// IssueKey makes a user key straight in the database: the first key of a new
// server has no other key to ask with. The owner is made when there is no such
// person, as an admin when there is nobody.
func IssueKey(ctx context.Context, cfg config.Config, email string, k beeos.Key) (beeos.Key, string, error) {
	d, err := OpenDirectory(ctx, cfg)
	if err != nil {
		return k, "", err
	}
	defer d.Close()
	owner, err := d.db.People.GetUserByEmail(ctx, email)
	if beeos.CodeOf(err) == beeos.NotFound {
		owner, err = d.acts.CreateUser(ctx, act.OperatorFor(""), beeos.NewID(), email)
	}
	if err != nil {
		return k, "", fmt.Errorf("find or make the owner: %w", err)
	}
	return d.acts.CreateKey(ctx, act.OperatorFor(owner.ID), k)
}
