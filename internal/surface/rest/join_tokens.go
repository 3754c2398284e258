package rest

import (
	"net/http"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

const (
	joinTokenTTL    = time.Hour
	joinTokenMaxTTL = 7 * 24 * time.Hour
)

type joinTokenView struct {
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expires_at"`
}

// createJoinToken makes a token with which one machine may register its
// public key as an agent instance of this user, once.
func (s *Surface) createJoinToken(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	seconds := int64(joinTokenTTL / time.Second)
	if err := read(w, r, settingLimit, true, shape{"ttl_seconds": &seconds}); err != nil {
		return err
	}
	if most := int64(joinTokenMaxTTL / time.Second); seconds < 1 || seconds > most {
		return beeos.Errorf(beeos.InvalidParam, "ttl_seconds must be from 1 to %d", most)
	}
	ttl := time.Duration(seconds) * time.Second
	token, err := s.DB.CreateJoinToken(r.Context(), c.UserID, ttl)
	if err != nil {
		return err
	}
	s.audit(r.Context(), c, "join_token.create", c.UserID, nil)
	w.Header().Set("Cache-Control", "no-store")
	httpd.WriteData(w, http.StatusCreated, joinTokenView{Token: token, ExpiresAt: s.now().Add(ttl).UTC()})
	return nil
}
