package route

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/ledger"
)

const idempotencyTTL = 24 * time.Hour

// KeyedAct is something that a caller does to one thing under an idempotency
// key. Doing it twice does no harm: to rename, to stop or to clear.
type KeyedAct struct {
	Key     string // "" = none was given
	Name    string // the act and the thing
	Details []any  // the rest of what was asked
}

// Once does an act unless it was done under its key before, and marks the
// answer then. The key is noted after the act: a crash in between leads to one
// that is done twice, and never to a key that stands for nothing.
func (rt *Router) Once(r *Request, a KeyedAct, do func() error) (replayed bool, err error) {
	if a.Key == "" {
		return false, do()
	}
	k, err := rt.Idempotency(r, a)
	if err != nil {
		return false, err
	}
	if dup, err := rt.Ledger.Known(r.Context(), &k); err != nil || dup != nil {
		r.MarkReplay(dup != nil)
		return dup != nil, err
	}
	if err := do(); err != nil {
		return false, err
	}
	_, err = rt.Ledger.Remember(r.Context(), k, a.Name)
	return false, err
}

// Idempotency is the act as the ledger remembers it.
func (rt *Router) Idempotency(r *Request, a KeyedAct) (ledger.Idempotency, error) {
	asked, err := json.Marshal(append(a.Details, a.Name))
	if err != nil {
		return ledger.Idempotency{}, fmt.Errorf("fingerprint: %w", err)
	}
	sum := sha256.Sum256(asked)
	return ledger.Idempotency{Scope: r.Caller.CredentialID + " " + a.Name, Key: a.Key, Fingerprint: sum[:], Expires: rt.Now().Add(idempotencyTTL)}, nil
}

// IdempotencyKey accepts the key in the header, in the body, or in both when
// they agree.
func (r *Request) IdempotencyKey(inBody string) (string, error) {
	key := r.Header.Get("Idempotency-Key")
	switch {
	case key == "":
		key = inBody
	case inBody != "" && inBody != key:
		return "", beeos.Errorf(beeos.InvalidParam, "the Idempotency-Key header and idempotency_key differ")
	}
	return key, invoke.CheckIdempotencyKey(key)
}

// RequireKey is for the routes whose contract insists on an idempotency key.
func (r *Request) RequireKey() (string, error) {
	key, err := r.IdempotencyKey("")
	if err == nil && key == "" {
		err = beeos.Errorf(beeos.MissingParam, "the Idempotency-Key header is required here; any string of your own will do")
	}
	return key, err
}
