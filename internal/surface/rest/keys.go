package rest

import (
	"net/http"
	"time"

	"github.com/beeos/beeos"
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
	keys, err := s.Acts.Keys(r.Context(), c, beeos.UserKey, "")
	if err != nil {
		return err
	}
	return writeKeys(w, keys)
}

func (s *Surface) listAgentKeys(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	keys, err := s.Acts.Keys(r.Context(), c, beeos.AgentKey, r.PathValue("agentId"))
	if err != nil {
		return err
	}
	return writeKeys(w, keys)
}

func writeKeys(w http.ResponseWriter, keys []beeos.Key) error {
	views := make([]keyView, len(keys))
	for i, k := range keys {
		views[i] = viewKey(k, "")
	}
	httpd.WriteData(w, http.StatusOK, views)
	return nil
}

// createKey makes a key of the agent of the path, or of the caller where the
// path names none, and shows the secret once.
func (s *Surface) createKey(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	k := beeos.Key{AgentID: r.PathValue("agentId")}
	err := read(w, r, settingLimit, true, shape{
		"name": &k.Name, "rate_limit_per_minute": &k.RatePerMinute, "expires_at": &k.ExpiresAt,
	})
	if err != nil {
		return err
	}
	k, secret, err := s.Acts.CreateKey(r.Context(), c, k)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	httpd.WriteData(w, http.StatusCreated, viewKey(k, secret))
	return nil
}

// revokeKey ends the key of the path.
func (s *Surface) revokeKey(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	if err := s.Acts.RevokeKey(r.Context(), c, r.PathValue("agentId"), r.PathValue("keyId")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
