package rest

import (
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/surface/rest/route"
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

func viewKey(k *beeos.Key, secret string) keyView {
	return keyView{
		ID: k.ID, Kind: k.Kind, Name: k.Name, AgentID: k.AgentID, Prefix: k.Prefix, Key: secret,
		RatePerMinute: k.RatePerMinute, ExpiresAt: k.ExpiresAt, LastUsedAt: k.LastUsedAt, CreatedAt: k.CreatedAt,
	}
}

// listKeys lists the keys of the agent of the path, or the caller's own where
// the path names none.
func (s *Surface) listKeys(r *route.Request) (any, error) {
	keys, err := s.opt.Acts.Keys(r.Context(), r.Caller, beeos.UserKey, r.PathValue("agentId"))
	return route.Views(keys, func(k *beeos.Key) keyView { return viewKey(k, "") }), err
}

// createKey makes a key for what listKeys lists, and shows the secret once.
func (s *Surface) createKey(r *route.Request) (any, error) {
	k := beeos.Key{AgentID: r.PathValue("agentId")}
	err := r.ReadSettings(route.Strict, route.Shape{
		"name": &k.Name, "rate_limit_per_minute": &k.RatePerMinute, "expires_at": &k.ExpiresAt,
	})
	if err != nil {
		return nil, err
	}
	r.ForbidCaching()
	k, secret, err := s.opt.Acts.CreateKey(r.Context(), r.Caller, k)
	return route.Created(viewKey(&k, secret)), err
}

// patchKey changes the limit of a key that listKeys lists.
func (s *Surface) patchKey(r *route.Request) (any, error) {
	perMinute, err := readRate(r)
	if err != nil {
		return nil, err
	}
	k, err := s.opt.Acts.LimitKey(r.Context(), r.Caller, r.PathValue("agentId"), r.PathValue("keyId"), perMinute)
	if err != nil {
		return nil, err
	}
	return viewKey(&k, ""), nil
}

func (s *Surface) revokeKey(r *route.Request) (any, error) {
	return route.NoContent, s.opt.Acts.RevokeKey(r.Context(), r.Caller, r.PathValue("agentId"), r.PathValue("keyId"))
}

type joinTokenView struct {
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expires_at"`
}

// createJoinToken makes a token with which one machine may register its
// public key as an agent instance of this user, once.
func (s *Surface) createJoinToken(r *route.Request) (any, error) {
	seconds := int64(act.JoinTokenTTL / time.Second)
	if err := r.ReadSettings(route.Strict, route.Shape{"ttl_seconds": &seconds}); err != nil {
		return nil, err
	}
	r.ForbidCaching()
	ttl := time.Duration(min(max(seconds, 0), 1<<31)) * time.Second // more would not fit
	token, expires, err := s.opt.Acts.CreateJoinToken(r.Context(), r.Caller, ttl)
	return route.Created(joinTokenView{token, expires}), err
}
