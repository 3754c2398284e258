// Package store opens the database and hands out its tables: one small package
// per family of tables below this folder, so that a user is given the tables
// it needs and no others. Package database is the handle they share: one SQL
// dialect for SQLite and PostgreSQL, and what the errors of the two mean.
//
// The schema is migrations/*.sql, which also holds the ledger's tables, since
// both live in one database. Copy moves everything from one database to
// another; Inspect tells what state one is in.
package store

import (
	"context"
	"fmt"

	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/store/audit"
	"github.com/beeos/beeos/internal/store/budgets"
	"github.com/beeos/beeos/internal/store/builtins"
	"github.com/beeos/beeos/internal/store/calls"
	"github.com/beeos/beeos/internal/store/cluster"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/store/files"
	"github.com/beeos/beeos/internal/store/grants"
	"github.com/beeos/beeos/internal/store/keys"
	"github.com/beeos/beeos/internal/store/notifications"
	"github.com/beeos/beeos/internal/store/people"
	"github.com/beeos/beeos/internal/store/sessions"
	"github.com/beeos/beeos/internal/store/webhooks"
)

// Store is an open database with its tables.
type Store struct {
	*database.DB
	Agents    *agents.Table
	Instances *agents.Instances
	Keys      *keys.Table
	People    *people.Table
	Grants    *grants.Table
	Approvals *approvals.Table
	Builtins  *builtins.Table
	Files     *files.Table
	Webhooks  *webhooks.Table
	Audit     *audit.Table
	Sessions  *sessions.Table
	Cluster   *cluster.Table
	Calls     *calls.Table
	Budgets   *budgets.Table

	Notifications *notifications.Table
}

// Open connects to the database that dsn names, creates or upgrades its
// tables, and returns it ready for use. A dsn is
//
//	sqlite:/path/to/file.db?durability=fsync|os
//	postgres://user:password@host:5432/database?durability=fsync|os
//
// With durability=fsync (the default) a commit survives a power cut; with os
// it survives the death of the process alone.
func Open(ctx context.Context, dsn string) (*Store, error) {
	db, err := database.Open(ctx, dsn)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	if err := migrate(ctx, db); err != nil {
		db.Close()
		return nil, fmt.Errorf("open store: %w", err)
	}
	return tablesOf(db), nil
}

func tablesOf(db *database.DB) *Store {
	instances := agents.NewInstances(db)
	return &Store{
		DB:        db,
		Agents:    agents.New(db),
		Instances: instances,
		Keys:      keys.New(db),
		People:    people.New(db),
		Grants:    grants.New(db),
		Approvals: approvals.New(db),
		Builtins:  builtins.New(db, instances),
		Files:     files.New(db),
		Webhooks:  webhooks.New(db),
		Audit:     audit.New(db),
		Sessions:  sessions.New(db),
		Cluster:   cluster.New(db),
		Calls:     calls.New(db),
		Budgets:   budgets.New(db),

		Notifications: notifications.New(db),
	}
}
