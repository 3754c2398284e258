package rest

import (
	"net/http"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/wire/httpd"
)

type joinTokenView struct {
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expires_at"`
}

// createJoinToken makes a token with which one machine may register its
// public key as an agent instance of this user, once.
func (s *Surface) createJoinToken(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	seconds := int64(act.JoinTokenTTL / time.Second)
	if err := read(w, r, settingLimit, true, shape{"ttl_seconds": &seconds}); err != nil {
		return err
	}
	ttl := time.Duration(min(max(seconds, 0), 1<<31)) * time.Second // more would not fit
	token, expires, err := s.Acts.CreateJoinToken(r.Context(), c, ttl)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	httpd.WriteData(w, http.StatusCreated, joinTokenView{Token: token, ExpiresAt: expires})
	return nil
}
