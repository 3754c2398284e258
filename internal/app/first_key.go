package app

import (
	"context"
	"fmt"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/config"
	"github.com/beeos/beeos/internal/store"
)

// IssueKey makes a user key straight in the database, for whoever can reach
// it: the first key of a new server has no other key to ask with. The owner
// is made when there is no such person, as an admin when there is nobody.
func IssueKey(ctx context.Context, cfg config.Config, email string, k beeos.Key) (beeos.Key, string, error) {
	dsn, err := DSN(cfg)
	if err != nil {
		return k, "", err
	}
	db, err := store.Open(ctx, dsn)
	if err != nil {
		return k, "", err
	}
	defer db.Close()
	owner, err := ensureUser(ctx, db, email)
	if err != nil {
		return k, "", fmt.Errorf("find or make the owner: %w", err)
	}
	secret, hash, prefix := auth.NewKey(beeos.UserKey)
	k.ID, k.Kind, k.OwnerID, k.Prefix, k.CreatedAt = beeos.NewID(), beeos.UserKey, owner.ID, prefix, time.Now()
	if err := db.CreateKey(ctx, k, hash); err != nil {
		return k, "", fmt.Errorf("make the key: %w", err)
	}
	return k, secret, db.Audit(ctx, store.AuditRow{
		At: k.CreatedAt, Actor: "user:" + owner.ID, OwnerID: owner.ID, Action: "key.create", Subject: "key:" + k.ID,
		Detail: map[string]string{"name": k.Name, "by": "database"},
	})
}

func ensureUser(ctx context.Context, db *store.DB, email string) (beeos.User, error) {
	u, err := db.UserByEmail(ctx, email)
	if beeos.CodeOf(err) != beeos.NotFound {
		return u, err
	}
	everybody, err := db.Users(ctx)
	if err != nil {
		return u, err
	}
	u = beeos.User{ID: beeos.NewID(), Email: email, Name: email, Admin: len(everybody) == 0, CreatedAt: time.Now()}
	return u, db.CreateUser(ctx, u)
}
