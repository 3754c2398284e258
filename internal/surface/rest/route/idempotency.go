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

// Once does an act unless the caller has done it under the request's idempotency
// key before, and marks the answer then. The act is named after what is done to
// which thing; details are the rest of what was asked. It is for what does no
// harm when it is done twice: to rename, to stop or to clear. The key is noted
// after the act: a crash in between leads to one that is done twice, and never
// to a key that stands for nothing.
func (rt *Router) Once(r *Request, act string, details []any, do func() error) (replayed bool, err error) {
	key, err := r.IdempotencyKey("")
	if err != nil {
		return false, err
	}
	if key == "" {
		return false, do()
	}
	k, err := rt.Idempotency(r, key, act, details)
	if err != nil {
		return false, err
	}
	if dup, err := rt.Ledger.FindByKey(r.Context(), &k); err != nil || dup != nil {
		r.MarkReplay(dup != nil)
		return dup != nil, err
	}
	if err := do(); err != nil {
		return false, err
	}
	_, err = rt.Ledger.ClaimKey(r.Context(), k, act)
	return false, err
}

// Idempotency is an act as the ledger remembers it.
func (rt *Router) Idempotency(r *Request, key, act string, details []any) (ledger.Idempotency, error) {
	asked, err := json.Marshal(append(details, act))
	if err != nil {
		return ledger.Idempotency{}, fmt.Errorf("fingerprint: %w", err)
	}
	sum := sha256.Sum256(asked)
	return ledger.Idempotency{Scope: r.Caller.CredentialID + " " + act, Key: key, Fingerprint: sum[:], Expires: rt.Now().Add(idempotencyTTL)}, nil
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
func (r *Request) RequireKey() error {
	key, err := r.IdempotencyKey("")
	if err == nil && key == "" {
		err = beeos.Errorf(beeos.MissingParam, "the Idempotency-Key header is required here; any string of your own will do")
	}
	return err
}
