package tokens

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/sync/singleflight"

	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/store/grants"
)

const (
	keyBytes   = 32
	keyOverlap = accessFor + 5*time.Minute // an old key verifies until its tokens are out
	keyPause   = time.Second               // between looks for a key that is not known
)

// keyring is the signing keys as this replica knows them. A token that another
// replica signed with a newer one makes it look again.
type keyring struct {
	table *grants.Table
	now   func() time.Time
	set   atomic.Pointer[keyset]
	loads singleflight.Group

	looks auth.Limiter // for keys that are not known: made-up ones must not ask the database each time
}

type keyset struct {
	newest string
	byID   map[string]grants.SigningKey
}

func (k *keyring) open(ctx context.Context, table *grants.Table, now func() time.Time) error {
	k.table, k.now, k.looks = table, now, auth.Limiter{Most: 1, Per: keyPause, Now: now}
	if err := table.AddSigningKey(ctx, newKey(now()), now(), true); err != nil {
		return err
	}
	return k.reload(ctx)
}

func newKey(at time.Time) grants.SigningKey {
	secret := make([]byte, keyBytes)
	rand.Read(secret) //nolint:errcheck // crypto/rand never fails since Go 1.24
	return grants.SigningKey{ID: rand.Text(), Secret: secret, CreatedAt: at}
}

// reload reads the keys from the store.
func (k *keyring) reload(ctx context.Context) error {
	_, err, _ := k.loads.Do("", func() (any, error) {
		keys, err := k.table.ListSigningKeys(context.WithoutCancel(ctx), k.now())
		if err != nil {
			return nil, err
		}
		if len(keys) == 0 {
			return nil, errors.New("the store has no signing key")
		}
		set := &keyset{newest: keys[0].ID, byID: map[string]grants.SigningKey{}}
		for _, key := range keys {
			set.byID[key.ID] = key
		}
		k.set.Store(set)
		return nil, nil
	})
	return err
}

// find returns a key that still verifies.
func (k *keyring) find(ctx context.Context, id string) (grants.SigningKey, error) {
	key, ok := k.set.Load().byID[id]
	if !ok && k.looks.Take("") == nil {
		if err := k.reload(ctx); err != nil {
			return key, err
		}
		key, ok = k.set.Load().byID[id]
	}
	if !ok || !key.RetiresAt.IsZero() && !k.now().Before(key.RetiresAt) {
		return key, errors.New("unknown kid")
	}
	return key, nil
}

// sign writes a token of some type with the newest key.
func (k *keyring) sign(kind string, c claims) (string, error) {
	set := k.set.Load()
	t := jwt.NewWithClaims(jwt.SigningMethodHS256, c)
	t.Header["typ"], t.Header["kid"] = kind, set.newest
	text, err := t.SignedString(set.byID[set.newest].Secret)
	if err != nil {
		return "", fmt.Errorf("sign token: %w", err)
	}
	return text, nil
}

// Rotate makes a new signing key in a database and returns its id. The servers
// that use it learn of it from the first token that one of them signs with it,
// or in half a minute.
func Rotate(ctx context.Context, table *grants.Table, now time.Time) (id string, err error) {
	key := newKey(now)
	if err := table.AddSigningKey(ctx, key, now.Add(keyOverlap), false); err != nil {
		return "", err
	}
	return key.ID, nil
}
