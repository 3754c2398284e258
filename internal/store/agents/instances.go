package agents

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"database/sql"
	"encoding/hex"
	"fmt"
	"math/big"
	"slices"
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
	if i.OwnerID == "" {
		return fmt.Errorf("create instance: no owner")
	}
	if err := checkInstance(i); err != nil {
		return err
	}
	return insertInstance(ctx, tb.db, i)
}

// Join is Create with a one-time token in place of an owner, whom it returns.
// The token is used up by an instance that there is then, and by nothing else.
func (tb *Instances) Join(ctx context.Context, token string, i beeos.Instance) (ownerID string, err error) {
	if err := cmp.Or(checkInstance(i), CheckKey(i.PublicKey)); err != nil {
		return "", err
	}
	return database.Tx(ctx, tb.db, "join", func(tx *sql.Tx) (string, error) {
		owner, err := useJoinToken(ctx, tx, token)
		if err != nil {
			return "", err
		}
		i.OwnerID = owner
		return owner, insertInstance(ctx, tx, i)
	})
}

// checkInstance says what is wrong with an identity.
func checkInstance(i beeos.Instance) error {
	if i.ID == "" {
		return fmt.Errorf("create instance: no id")
	}
	if err := database.CheckName("instance name", i.Name, 0); err != nil {
		return err
	}
	if len(i.PublicKey) != ed25519.PublicKeySize || isWeakKey(i.PublicKey) {
		return errUnusableKey
	}
	return nil
}

var errUnusableKey = beeos.Errorf(beeos.InvalidParam, "this is not a usable Ed25519 public key (32 bytes); make a new key pair")

// CheckKey refuses a public key that proves nothing, or fits no signature.
func CheckKey(key []byte) error {
	if len(key) != ed25519.PublicKeySize || isWeakKey(key) || !isPoint(key) {
		return errUnusableKey
	}
	return nil
}

func insertInstance(ctx context.Context, q database.Querier, i beeos.Instance) error {
	if i.CreatedAt.IsZero() {
		i.CreatedAt = time.Now()
	}
	err := database.Insert(ctx, q, "create instance", "instances", instanceColumns, instanceFields(&i)...)
	if database.IsDuplicate(err) {
		return beeos.Wrap(beeos.Conflict, err, "an instance with this id is registered already; register under a new id")
	}
	return err
}

// Get returns an identity by id, also when it is revoked.
func (tb *Instances) Get(ctx context.Context, id string) (beeos.Instance, error) {
	return database.Get(ctx, tb.db, "read instance", database.NotFound("instance"), instanceFields, "SELECT "+instanceColumns+" FROM instances WHERE id = $1", id)
}

// List returns an owner's identities, the oldest first; "" means
// everybody's.
func (tb *Instances) List(ctx context.Context, owner string) ([]beeos.Instance, error) {
	where := database.Conditions{}
	where.AddUnlessEmpty("owner_id = ?", owner)
	return database.List(ctx, tb.db, "list instances", instanceFields, "SELECT "+instanceColumns+" FROM instances"+where.SQL()+" ORDER BY created_at, id", where.Args...)
}

// ListLocked returns the identities that were revoked, or whose owner was
// disabled, since then.
func (tb *Instances) ListLocked(ctx context.Context, since time.Time) ([]string, error) {
	return database.ListTexts(ctx, tb.db, "list locked instances", "SELECT i.id FROM instances i JOIN users u ON u.id = i.owner_id WHERE i.revoked_at >= $1 OR u.disabled_at >= $1", database.Micros(since))
}

// Touch notes when instances were last seen.
func (tb *Instances) Touch(ctx context.Context, seen map[string]time.Time) error {
	return tb.db.Touch(ctx, "touch instances", "UPDATE instances SET last_seen = $2 WHERE id = $1 AND last_seen < $2", seen)
}

// Revoke ends an owner's identity for good. It no longer declares any
// agent, so those that no other instance declares become inactive.
func (tb *Instances) Revoke(ctx context.Context, owner, id string) error {
	return tb.db.Tx(ctx, "revoke instance", func(tx *sql.Tx) error {
		if err := lockOwner(ctx, tx, owner); err != nil {
			return err
		}
		err := database.ChangeOne(ctx, tx, "mark revoked", database.NotFound("instance"),
			"UPDATE instances SET revoked_at = CASE WHEN revoked_at = 0 THEN $3 ELSE revoked_at END WHERE owner_id = $1 AND id = $2", owner, id, database.Micros(time.Now()))
		if err != nil {
			return err
		}
		_, err = evict(ctx, tx, id, nil)
		return err
	})
}

func instanceFields(i *beeos.Instance) []any {
	return []any{&i.ID, &i.OwnerID, &i.Name, &i.PublicKey, database.Time(&i.CreatedAt), database.Time(&i.LastSeen), database.Time(&i.RevokedAt)}
}

// CreateJoinToken returns a token with which one new instance may register
// for the owner within ttl. Only its hash is kept.
func (tb *Instances) CreateJoinToken(ctx context.Context, owner string, ttl time.Duration) (string, error) {
	token := beeos.NewSecret(JoinTokenPrefix)
	return token, database.Insert(ctx, tb.db, "create join token", "join_tokens", "hash, owner_id, expires_at",
		database.TokenHash(token), owner, database.Micros(time.Now().Add(ttl)))
}

// UseJoinToken takes a token, once, and returns whose it was.
func (tb *Instances) UseJoinToken(ctx context.Context, token string) (ownerID string, err error) {
	return database.Tx(ctx, tb.db, "use join token", func(tx *sql.Tx) (string, error) { return useJoinToken(ctx, tx, token) })
}

func useJoinToken(ctx context.Context, tx *sql.Tx, token string) (ownerID string, err error) {
	gone := beeos.Errorf(beeos.InvalidToken, "this join token is unknown, used or expired; ask for a new one")
	return database.Get(ctx, tx, "delete token", gone, database.Itself[string], `DELETE FROM join_tokens WHERE hash = $1 AND expires_at > $2
		AND owner_id IN (SELECT id FROM users WHERE disabled_at = 0) RETURNING owner_id`, database.TokenHash(token), database.Micros(time.Now()))
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

func isWeakKey(key []byte) bool {
	y := [ed25519.PublicKeySize]byte(key)
	y[31] &= 0x7f
	return smallOrder[hex.EncodeToString(y[:])]
}

// The field of Ed25519 and the d of its curve, -x² + y² = 1 + d·x²·y².
var (
	fieldPrime = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))
	curveD     = new(big.Int).Mod(new(big.Int).Mul(big.NewInt(-121665), new(big.Int).ModInverse(big.NewInt(121666), fieldPrime)), fieldPrime)
)

// isPoint reports whether a key is on the curve. One that is not fits no
// signature, which its owner would find out only after joining.
func isPoint(key []byte) bool {
	little := slices.Clone(key)
	little[31] &= 0x7f // the sign of x
	slices.Reverse(little)
	y := new(big.Int).SetBytes(little)
	if y.Cmp(fieldPrime) >= 0 {
		return false
	}
	yy := new(big.Int).Mul(y, y)
	above := new(big.Int).Sub(yy, big.NewInt(1))
	below := new(big.Int).Add(new(big.Int).Mul(curveD, yy), big.NewInt(1))
	xx := new(big.Int).Mul(above, below.ModInverse(below.Mod(below, fieldPrime), fieldPrime))
	return big.Jacobi(xx.Mod(xx, fieldPrime), fieldPrime) >= 0
}
