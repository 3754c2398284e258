// Package builtins keeps built-in agents, the tools and tokens of their skill
// servers, and the steps of answers under way.
package builtins

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/store/database"
)

// Builtin is a built-in agent. Its id is that of the instance as which it
// connects.
type Builtin struct {
	ID         string
	OwnerID    string
	Name       string
	Definition string // JSON, without secrets
	Sealed     []byte // encrypted: the identity's key and the skills' secrets
	Stopped    bool
	Node       string // which runs it; "" = none. ClaimBuiltin alone changes it
	CreatedAt  time.Time
	UpdatedAt  time.Time // also changes when it is started, stopped or restarted
}

// Table keeps built-in agents, their skills and the steps that they take.
type Table struct {
	db        *database.DB
	instances *agents.Instances
}

// New returns the tables of db; instances are where the identities of built-in agents are kept.
func New(db *database.DB, instances *agents.Instances) *Table {
	return &Table{db: db, instances: instances}
}

const builtinColumns = "id, owner_id, name, definition, sealed, stopped, node, created_at, updated_at"

// Create keeps a built-in agent together with its identity.
func (tb *Table) Create(ctx context.Context, b Builtin, publicKey []byte) error {
	if err := database.CheckName("agent name", b.Name, 1); err != nil {
		return err
	}
	err := tb.instances.Create(ctx, beeos.Instance{ID: b.ID, OwnerID: b.OwnerID, Name: b.Name, PublicKey: publicKey, CreatedAt: b.CreatedAt})
	if err != nil {
		return err
	}
	err = database.Insert(ctx, tb.db, "create built-in agent", "builtin_agents", builtinColumns, builtinFields(&b)...)
	if err == nil {
		return nil
	}
	if revoked := tb.instances.Revoke(ctx, b.OwnerID, b.ID); revoked != nil {
		return fmt.Errorf("%w, and its identity stays: %w", err, revoked)
	}
	if database.IsDuplicate(err) {
		return beeos.Wrap(beeos.Conflict, err, "you have a built-in agent of this name already; choose another name, or change that one")
	}
	return err
}

// Get returns a built-in agent of an owner's; "" means anybody's.
func (tb *Table) Get(ctx context.Context, owner, id string) (Builtin, error) {
	where := database.Conditions{}
	where.Add("id = ?", id)
	where.AddUnlessEmpty("owner_id = ?", owner)
	return tb.get(ctx, where)
}

// GetByName returns the built-in agent of an owner's that has the name.
func (tb *Table) GetByName(ctx context.Context, owner, name string) (Builtin, error) {
	where := database.Conditions{}
	where.Add("owner_id = ?", owner)
	where.Add("name = ?", name)
	return tb.get(ctx, where)
}

func (tb *Table) get(ctx context.Context, where database.Conditions) (Builtin, error) {
	return database.Get(ctx, tb.db, "read built-in agent", database.NotFound("built-in agent"), builtinFields, "SELECT "+builtinColumns+" FROM builtin_agents"+where.SQL(), where.Args...)
}

// List lists an owner's built-in agents, the oldest first; "" means
// everybody's.
func (tb *Table) List(ctx context.Context, owner string) ([]Builtin, error) {
	where := database.Conditions{}
	where.AddUnlessEmpty("owner_id = ?", owner)
	return database.List(ctx, tb.db, "list built-in agents", builtinFields, "SELECT "+builtinColumns+" FROM builtin_agents"+where.SQL()+" ORDER BY created_at, id", where.Args...)
}

// Update replaces all but the name, the owner and the node, if the row
// still is as it was at the time was; ok = false says that it is not.
func (tb *Table) Update(ctx context.Context, b Builtin, was time.Time) (ok bool, err error) {
	return database.Change(ctx, tb.db, "change built-in agent", `UPDATE builtin_agents SET definition = $3, sealed = $4, stopped = $5, updated_at = $6
		WHERE owner_id = $1 AND id = $2 AND updated_at = $7`,
		b.OwnerID, b.ID, b.Definition, b.Sealed, b.Stopped, database.Micros(b.UpdatedAt), database.Micros(was))
}

// Claim hands a built-in agent from one node to another; "" = none. Of
// several that try, one gets it.
func (tb *Table) Claim(ctx context.Context, id, from, to string) (ok bool, err error) {
	return database.Change(ctx, tb.db, "claim built-in agent", "UPDATE builtin_agents SET node = $3 WHERE id = $1 AND node = $2", id, from, to)
}

// Delete forgets a built-in agent and all that its skills kept, and
// ends its identity.
func (tb *Table) Delete(ctx context.Context, owner, id string) error {
	err := tb.db.Tx(ctx, "delete built-in agent", func(tx *sql.Tx) error {
		_, err := database.Get(ctx, tx, "look for the agent", database.NotFound("built-in agent"), database.Itself[string], "SELECT id FROM builtin_agents WHERE owner_id = $1 AND id = $2", owner, id)
		if err != nil {
			return err
		}
		for _, table := range []string{"builtin_steps", "skill_consents", "skill_tokens", "skill_tools", "skill_listings"} {
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE builtin_id = $1", id); err != nil {
				return err
			}
		}
		return database.Exec(ctx, tx, "delete the agent", "DELETE FROM builtin_agents WHERE id = $1", id)
	})
	if err != nil {
		return err
	}
	return tb.instances.Revoke(ctx, owner, id)
}

func builtinFields(b *Builtin) []any {
	return []any{&b.ID, &b.OwnerID, &b.Name, &b.Definition, &b.Sealed, &b.Stopped, &b.Node, database.Time(&b.CreatedAt), database.Time(&b.UpdatedAt)}
}
