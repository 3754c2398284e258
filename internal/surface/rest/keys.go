package rest

import (
	"context"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// keyView is a key without its secret; only the answer that creates a key
// has the secret in Key, once.
type keyView struct {
	ID            string        `json:"id"`
	Kind          beeos.KeyKind `json:"kind"`
	Name          string        `json:"name"`
	AgentID       string        `json:"agent_id,omitempty"`
	Prefix        string        `json:"key_prefix"`
	Key           string        `json:"key,omitempty"`
	RatePerMinute int           `json:"rate_limit_per_minute,omitempty"`
	ExpiresAt     time.Time     `json:"expires_at,omitzero"`
	LastUsedAt    time.Time     `json:"last_used_at,omitzero"`
	CreatedAt     time.Time     `json:"created_at"`
}

func viewKey(k beeos.Key, secret string) keyView {
	return keyView{
		ID: k.ID, Kind: k.Kind, Name: k.Name, AgentID: k.AgentID, Prefix: k.Prefix, Key: secret,
		RatePerMinute: k.RatePerMinute, ExpiresAt: k.ExpiresAt, LastUsedAt: k.LastUsedAt, CreatedAt: k.CreatedAt,
	}
}

func (s *Surface) listUserKeys(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	return s.listKeys(w, r, userKeys(c))
}

func (s *Surface) createUserKey(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	return s.createKey(w, r, c, beeos.Key{Kind: beeos.UserKey, OwnerID: c.UserID})
}

func (s *Surface) revokeUserKey(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	return s.revokeKey(w, r, c, userKeys(c))
}

func (s *Surface) listAgentKeys(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	a, err := s.owned(r, c)
	if err != nil {
		return err
	}
	return s.listKeys(w, r, agentKeys(a))
}

func (s *Surface) createAgentKey(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	a, err := s.owned(r, c)
	if err != nil {
		return err
	}
	return s.createKey(w, r, c, beeos.Key{Kind: beeos.AgentKey, OwnerID: a.OwnerID, AgentID: a.ID})
}

func (s *Surface) revokeAgentKey(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	a, err := s.owned(r, c)
	if err != nil {
		return err
	}
	return s.revokeKey(w, r, c, agentKeys(a))
}

func userKeys(c beeos.Caller) store.KeyFilter {
	return store.KeyFilter{Owner: c.UserID, Kind: beeos.UserKey}
}

func agentKeys(a *beeos.Agent) store.KeyFilter {
	return store.KeyFilter{Owner: a.OwnerID, AgentID: a.ID, Kind: beeos.AgentKey}
}

// live returns the keys that are not revoked.
func (s *Surface) live(ctx context.Context, f store.KeyFilter) ([]beeos.Key, error) {
	all, err := s.DB.Keys(ctx, f)
	if err != nil {
		return nil, err
	}
	keys := all[:0]
	for _, k := range all {
		if k.RevokedAt.IsZero() {
			keys = append(keys, k)
		}
	}
	return keys, nil
}

func (s *Surface) listKeys(w http.ResponseWriter, r *http.Request, f store.KeyFilter) error {
	keys, err := s.live(r.Context(), f)
	if err != nil {
		return err
	}
	views := make([]keyView, len(keys))
	for i, k := range keys {
		views[i] = viewKey(k, "")
	}
	httpd.WriteData(w, http.StatusOK, views)
	return nil
}

// createKey completes k with what the body says, and shows the secret once.
func (s *Surface) createKey(w http.ResponseWriter, r *http.Request, c beeos.Caller, k beeos.Key) error {
	if err := s.readKey(w, r, &k); err != nil {
		return err
	}
	secret, hash, prefix := auth.NewKey(k.Kind)
	k.ID, k.Prefix, k.CreatedAt = beeos.NewID(), prefix, s.now().UTC()
	if err := s.DB.CreateKey(r.Context(), k, hash); err != nil {
		return err
	}
	s.audit(r.Context(), c, "key.create", k.ID, map[string]string{"kind": string(k.Kind), "name": k.Name, "agent": k.AgentID, "prefix": k.Prefix})
	w.Header().Set("Cache-Control", "no-store")
	httpd.WriteData(w, http.StatusCreated, viewKey(k, secret))
	return nil
}

func (s *Surface) readKey(w http.ResponseWriter, r *http.Request, k *beeos.Key) error {
	err := read(w, r, settingLimit, true, shape{
		"name": &k.Name, "rate_limit_per_minute": &k.RatePerMinute, "expires_at": &k.ExpiresAt,
	})
	switch {
	case err != nil:
		return err
	case k.Name == "":
		return beeos.Errorf(beeos.MissingParam, "name is required: it is how you will recognise the key")
	case utf8.RuneCountInString(k.Name) > 128:
		return beeos.Errorf(beeos.InvalidParam, "name may have at most 128 characters")
	case k.RatePerMinute < 0 || k.RatePerMinute > 1_000_000:
		return beeos.Errorf(beeos.InvalidParam, "rate_limit_per_minute must be from 0 (the default limit) to 1000000")
	case !k.ExpiresAt.IsZero() && !k.ExpiresAt.After(s.now()):
		return beeos.Errorf(beeos.InvalidParam, "expires_at lies in the past")
	}
	k.ExpiresAt = k.ExpiresAt.UTC()
	return nil
}

// revokeKey ends the key of the path if it is one of those that f selects.
func (s *Surface) revokeKey(w http.ResponseWriter, r *http.Request, c beeos.Caller, f store.KeyFilter) error {
	id := r.PathValue("keyId")
	keys, err := s.live(r.Context(), f)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if k.ID != id {
			continue
		}
		if err := s.DB.RevokeKey(r.Context(), f.Owner, id); err != nil {
			return err
		}
		s.audit(r.Context(), c, "key.revoke", id, map[string]string{"kind": string(k.Kind), "name": k.Name, "agent": k.AgentID, "prefix": k.Prefix})
		s.Auth.Forget(id)
		s.Revoked(id)
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return beeos.Errorf(beeos.NotFound, "there is no key %q to revoke", id)
}
