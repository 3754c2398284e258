package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/beeos/beeos"
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

const builtinColumns = "id, owner_id, name, definition, sealed, stopped, node, created_at, updated_at"

// CreateBuiltin keeps a built-in agent together with its identity.
func (db *DB) CreateBuiltin(ctx context.Context, b Builtin, publicKey []byte) error {
	if err := checkName("agent name", b.Name, 1); err != nil {
		return err
	}
	err := db.CreateInstance(ctx, beeos.Instance{ID: b.ID, OwnerID: b.OwnerID, Name: b.Name, PublicKey: publicKey, CreatedAt: b.CreatedAt})
	if err != nil {
		return err
	}
	_, err = db.write(ctx, "INSERT INTO builtin_agents ("+builtinColumns+") VALUES ("+placeholders(1, 9)+")",
		b.ID, b.OwnerID, b.Name, b.Definition, b.Sealed, b.Stopped, b.Node, micros(b.CreatedAt), micros(b.UpdatedAt))
	if err == nil {
		return nil
	}
	if revoked := db.RevokeInstance(ctx, b.OwnerID, b.ID); revoked != nil {
		return fmt.Errorf("create built-in agent: %w, and its identity stays: %w", err, revoked)
	}
	if duplicate(err) {
		return beeos.Wrap(beeos.Conflict, err, "you have a built-in agent of this name already; choose another name, or change that one")
	}
	return fmt.Errorf("create built-in agent: %w", err)
}

// Builtin returns a built-in agent of an owner's; "" means anybody's.
func (db *DB) Builtin(ctx context.Context, owner, id string) (Builtin, error) {
	where := conditions{}
	where.add("id = ", id)
	where.addUnlessEmpty("owner_id = ", owner)
	b, err := scanBuiltin(db.QueryRowContext(ctx, "SELECT "+builtinColumns+" FROM builtin_agents"+where.sql(), where.args...))
	if Absent(err) {
		return b, notFound("built-in agent")
	}
	if err != nil {
		return b, fmt.Errorf("read built-in agent: %w", err)
	}
	return b, nil
}

// Builtins lists an owner's built-in agents, the oldest first; "" means
// everybody's.
func (db *DB) Builtins(ctx context.Context, owner string) ([]Builtin, error) {
	where := conditions{}
	where.addUnlessEmpty("owner_id = ", owner)
	rows, err := db.QueryContext(ctx, "SELECT "+builtinColumns+" FROM builtin_agents"+where.sql()+" ORDER BY created_at, id", where.args...)
	list, err := collect(rows, err, scanBuiltin)
	if err != nil {
		return nil, fmt.Errorf("list built-in agents: %w", err)
	}
	return list, nil
}

// BuiltinNamed returns the built-in agent of an owner's that has the name.
func (db *DB) BuiltinNamed(ctx context.Context, owner, name string) (Builtin, error) {
	b, err := scanBuiltin(db.QueryRowContext(ctx, "SELECT "+builtinColumns+" FROM builtin_agents WHERE owner_id = $1 AND name = $2", owner, name))
	if Absent(err) {
		return b, notFound("built-in agent")
	}
	if err != nil {
		return b, fmt.Errorf("read built-in agent: %w", err)
	}
	return b, nil
}

// UpdateBuiltin replaces all but the name, the owner and the node, if the row
// still is as it was at the time was; ok = false says that it is not.
func (db *DB) UpdateBuiltin(ctx context.Context, b Builtin, was time.Time) (ok bool, err error) {
	res, err := db.write(ctx, `UPDATE builtin_agents SET definition = $3, sealed = $4, stopped = $5, updated_at = $6
		WHERE owner_id = $1 AND id = $2 AND updated_at = $7`,
		b.OwnerID, b.ID, b.Definition, b.Sealed, b.Stopped, micros(b.UpdatedAt), micros(was))
	if err != nil {
		return false, fmt.Errorf("change built-in agent: %w", err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return false, fmt.Errorf("change built-in agent: %w", err)
	}
	return n == 1, nil
}

// ClaimBuiltin hands a built-in agent from one node to another; "" = none. Of
// several that try, one gets it.
func (db *DB) ClaimBuiltin(ctx context.Context, id, from, to string) (ok bool, err error) {
	res, err := db.write(ctx, "UPDATE builtin_agents SET node = $3 WHERE id = $1 AND node = $2", id, from, to)
	if err != nil {
		return false, fmt.Errorf("claim built-in agent: %w", err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return false, fmt.Errorf("claim built-in agent: %w", err)
	}
	return n == 1, nil
}

// DeleteBuiltin forgets a built-in agent and all that its skills kept, and
// ends its identity.
func (db *DB) DeleteBuiltin(ctx context.Context, owner, id string) error {
	err := db.Tx(ctx, func(tx *sql.Tx) error {
		var found string
		if err := tx.QueryRowContext(ctx, "SELECT id FROM builtin_agents WHERE owner_id = $1 AND id = $2", owner, id).Scan(&found); err != nil {
			return err
		}
		for _, table := range []string{"builtin_steps", "skill_consents", "skill_tokens", "skill_tools"} {
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE builtin_id = $1", id); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, "DELETE FROM builtin_agents WHERE id = $1", id)
		return err
	})
	if Absent(err) {
		return notFound("built-in agent")
	}
	if err != nil {
		return fmt.Errorf("delete built-in agent: %w", err)
	}
	return db.RevokeInstance(ctx, owner, id)
}

func scanBuiltin(row scanner) (b Builtin, err error) {
	var created, updated int64
	err = row.Scan(&b.ID, &b.OwnerID, &b.Name, &b.Definition, &b.Sealed, &b.Stopped, &b.Node, &created, &updated)
	b.CreatedAt, b.UpdatedAt = moment(created), moment(updated)
	return b, err
}
