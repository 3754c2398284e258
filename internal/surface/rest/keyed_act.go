package rest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/ledger"
)

// keyedAct is something that a caller has done to one thing, under an idempotency
// key. It does no harm to do it twice, as to rename, to stop or to clear.
type keyedAct struct {
	key  string // "" = none was given
	name string // and to what
	what []any  // the rest of what was asked
}

// perform does an act unless it was done under its key before, and marks the
// answer then. The key is noted after the act: a crash in between leads to one
// that is done twice, and never to a key that stands for nothing.
func (s *Surface) perform(w http.ResponseWriter, r *http.Request, c beeos.Caller, a keyedAct, do func() error) (replayed bool, err error) {
	if a.key == "" {
		return false, do()
	}
	k, err := s.keyOf(c, a)
	if err != nil {
		return false, err
	}
	if dup, err := s.Ledger.Known(r.Context(), &k); err != nil || dup != nil {
		markReplay(w, dup != nil)
		return dup != nil, err
	}
	if err := do(); err != nil {
		return false, err
	}
	_, err = s.Ledger.Remember(r.Context(), k, a.name)
	return false, err
}

func (s *Surface) keyOf(c beeos.Caller, a keyedAct) (ledger.Idempotency, error) {
	asked, err := json.Marshal(append(a.what, a.name))
	if err != nil {
		return ledger.Idempotency{}, fmt.Errorf("fingerprint: %w", err)
	}
	sum := sha256.Sum256(asked)
	return ledger.Idempotency{Scope: c.CredentialID + " " + a.name, Key: a.key, Fingerprint: sum[:], Expires: s.now().Add(idempotencyTTL)}, nil
}
