package agents

import (
	"context"
	"crypto/ed25519"
	"database/sql"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
)

// Instances keeps the identities under which agents connect, and the tokens to get one.
type Instances struct{ db *database.DB }

// NewInstances returns the tables of db.
func NewInstances(db *database.DB) *Instances { return &Instances{db: db} }

const instanceColumns = "id, owner_id, name, public_key, created_at, last_seen, revoked_at"

// JoinTokenPrefix marks one-time tokens that let a new instance join.
const JoinTokenPrefix = "bjt_"

// Create registers an identity: a public key of an owner.
func (tb *Instances) Create(ctx context.Context, i beeos.Instance) error {
	if i.ID == "" || i.OwnerID == "" {
		return fmt.Errorf("create instance: no id or no owner")
	}
	if err := database.CheckName("instance name", i.Name, 0); err != nil {
		return err
	}
	if len(i.PublicKey) != ed25519.PublicKeySize || weakKey(i.PublicKey) {
		return beeos.Errorf(beeos.InvalidParam, "this is not a usable Ed25519 public key (32 bytes); make a new key pair")
	}
	if i.CreatedAt.IsZero() {
		i.CreatedAt = time.Now()
	}
	_, err := tb.db.Write(ctx, "INSERT INTO instances ("+instanceColumns+") VALUES ($1, $2, $3, $4, $5, $6, $7)",
		i.ID, i.OwnerID, i.Name, i.PublicKey, database.Micros(i.CreatedAt), database.Micros(i.LastSeen), database.Micros(i.RevokedAt))
	if database.IsDuplicate(err) {
		return beeos.Wrap(beeos.Conflict, err, "an instance with this id is registered already; register under a new id")
	}
	if err != nil {
		return fmt.Errorf("create instance: %w", err)
	}
	return nil
}

// Get returns an identity by id, also when it is revoked.
func (tb *Instances) Get(ctx context.Context, id string) (beeos.Instance, error) {
	i, err := scanInstance(tb.db.QueryRowContext(ctx, "SELECT "+instanceColumns+" FROM instances WHERE id = $1", id))
	if database.IsAbsent(err) {
		return beeos.Instance{}, database.NotFound("instance")
	}
	if err != nil {
		return beeos.Instance{}, fmt.Errorf("read instance: %w", err)
	}
	return i, nil
}

// List returns an owner's identities, the oldest first; "" means
// everybody's.
func (tb *Instances) List(ctx context.Context, owner string) ([]beeos.Instance, error) {
	where := database.Conditions{}
	where.AddUnlessEmpty("owner_id = ", owner)
	rows, err := tb.db.QueryContext(ctx, "SELECT "+instanceColumns+" FROM instances"+where.SQL()+" ORDER BY created_at, id", where.Args...)
	list, err := database.Collect(rows, err, scanInstance)
	if err != nil {
		return nil, fmt.Errorf("list instances: %w", err)
	}
	return list, nil
}

// ListLocked returns the identities that were revoked, or whose owner was
// disabled, since then.
func (tb *Instances) ListLocked(ctx context.Context, since time.Time) ([]string, error) {
	ids, err := database.ReadTexts(ctx, tb.db, "SELECT i.id FROM instances i JOIN users u ON u.id = i.owner_id WHERE i.revoked_at >= $1 OR u.disabled_at >= $1", database.Micros(since))
	if err != nil {
		return nil, fmt.Errorf("list locked instances: %w", err)
	}
	return ids, nil
}

// Touch notes when an instance was last seen.
func (tb *Instances) Touch(ctx context.Context, id string, at time.Time) error {
	if _, err := tb.db.Write(ctx, "UPDATE instances SET last_seen = $2 WHERE id = $1 AND last_seen < $2", id, database.Micros(at)); err != nil {
		return fmt.Errorf("touch instance: %w", err)
	}
	return nil
}

// Revoke ends an owner's identity for good. It no longer declares any
// agent, so those that no other instance declares become inactive.
func (tb *Instances) Revoke(ctx context.Context, owner, id string) error {
	err := tb.db.Tx(ctx, func(tx *sql.Tx) error {
		if err := lockOwner(ctx, tx, owner); err != nil {
			return err
		}
		now := database.Micros(time.Now())
		res, err := tx.ExecContext(ctx, "UPDATE instances SET revoked_at = CASE WHEN revoked_at = 0 THEN $3 ELSE revoked_at END WHERE owner_id = $1 AND id = $2", owner, id, now)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return database.NotFound("instance")
		}
		_, err = evict(ctx, tx, id, nil)
		return err
	})
	if database.IsAbsent(err) {
		return database.NotFound("instance")
	}
	if err != nil {
		return fmt.Errorf("revoke instance: %w", err)
	}
	return nil
}

func scanInstance(row database.Scanner) (i beeos.Instance, err error) {
	var created, seen, revoked int64
	err = row.Scan(&i.ID, &i.OwnerID, &i.Name, &i.PublicKey, &created, &seen, &revoked)
	i.CreatedAt, i.LastSeen, i.RevokedAt = database.Moment(created), database.Moment(seen), database.Moment(revoked)
	return i, err
}

// CreateJoinToken returns a token with which one new instance may register
// for the owner within ttl. Only its hash is kept.
func (tb *Instances) CreateJoinToken(ctx context.Context, owner string, ttl time.Duration) (string, error) {
	token := beeos.NewSecret(JoinTokenPrefix)
	_, err := tb.db.Write(ctx, "INSERT INTO join_tokens (hash, owner_id, expires_at) VALUES ($1, $2, $3)", database.TokenHash(token), owner, database.Micros(time.Now().Add(ttl)))
	if err != nil {
		return "", fmt.Errorf("create join token: %w", err)
	}
	return token, nil
}

// UseJoinToken takes a token, once, and returns whose it was.
func (tb *Instances) UseJoinToken(ctx context.Context, token string) (ownerID string, err error) {
	err = tb.db.Tx(ctx, func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `DELETE FROM join_tokens WHERE hash = $1 AND expires_at > $2
			AND owner_id IN (SELECT id FROM users WHERE disabled_at = 0) RETURNING owner_id`, database.TokenHash(token), database.Micros(time.Now())).Scan(&ownerID)
	})
	if database.IsAbsent(err) {
		return "", beeos.Errorf(beeos.InvalidToken, "this join token is unknown, used or expired; ask for a new one")
	}
	if err != nil {
		return "", fmt.Errorf("use join token: %w", err)
	}
	return ownerID, nil
}

// smallOrder are the encodings, without their sign bit, of the points of
// Ed25519 whose order divides 8. Under such a public key one signature fits
// many messages, so it would prove nothing.
var smallOrder = map[string]bool{
	"0000000000000000000000000000000000000000000000000000000000000000": true,
	"0100000000000000000000000000000000000000000000000000000000000000": true,
	"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05": true,
	"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a": true,
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f": true,
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f": true,
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f": true,
}

func weakKey(key []byte) bool {
	y := [ed25519.PublicKeySize]byte(key)
	y[31] &= 0x7f
	return smallOrder[hex.EncodeToString(y[:])]
}
