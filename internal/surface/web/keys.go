package web

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/web/page"
)

// keysData is a list of keys with the form that makes one.
type keysData struct {
	Keys  []beeos.Key
	Path  string // where the form posts
	Most  int    // how many there may be; 0 = any number
	Fresh fresh
	REST  string
}

// fresh is a key that was just made, with its secret: the only time it is
// shown.
type fresh struct{ Name, Secret string }

func (s *Site) keys(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	return s.showKeys(w, r, v, http.StatusOK, page.View{}, fresh{})
}

func (s *Site) showKeys(w http.ResponseWriter, r *http.Request, v *page.Visitor, status int, p page.View, f fresh) error {
	keys, err := s.Acts.Keys(r.Context(), v.Caller(), beeos.UserKey, "")
	if err != nil {
		return err
	}
	p.Title, p.Room, p.Here = "API keys", "keys", "/keys"
	p.Data = keysData{Keys: keys, Path: "/keys", Fresh: f, REST: s.RESTURL}
	return s.ShowPage(w, r, v, status, "keys", p)
}

func (s *Site) createKey(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	f, err := s.makeKey(r, v, "")
	if message, status, ok := page.FormProblem(err); ok {
		return s.showKeys(w, r, v, status, page.View{Problem: message}, fresh{})
	}
	if err != nil {
		return err
	}
	return s.showKeys(w, r, v, http.StatusOK, page.View{}, f)
}

func (s *Site) createAgentKey(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	a, err := s.owned(r, v)
	if err != nil {
		return err
	}
	f, err := s.makeKey(r, v, a.ID)
	if message, status, ok := page.FormProblem(err); ok {
		return s.showAgent(w, r, v, status, page.View{Problem: message}, fresh{})
	}
	if err != nil {
		return err
	}
	return s.showAgent(w, r, v, http.StatusOK, page.View{}, f)
}

// makeKey makes the key that the form describes.
func (s *Site) makeKey(r *http.Request, v *page.Visitor, agentID string) (fresh, error) {
	k := beeos.Key{AgentID: agentID, Name: strings.TrimSpace(r.FormValue("name"))}
	if text := r.FormValue("days"); text != "" && text != "0" {
		days, err := strconv.Atoi(text)
		if err != nil || days < 1 || days > 3650 {
			return fresh{}, beeos.Errorf(beeos.InvalidParam, "a key lasts from 1 to 3650 days, or until it is revoked")
		}
		k.ExpiresAt = s.Now().Add(time.Duration(days) * 24 * time.Hour)
	}
	k, secret, err := s.Acts.CreateKey(r.Context(), v.Caller(), k)
	return fresh{Name: k.Name, Secret: secret}, err
}

func (s *Site) revokeKey(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	if err := s.Acts.RevokeKey(r.Context(), v.Caller(), "", r.PathValue("key")); err != nil {
		return err
	}
	return page.Redirect(w, r, "/keys", "key-revoked")
}

func (s *Site) revokeAgentKey(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	id := r.PathValue("agent")
	if err := s.Acts.RevokeKey(r.Context(), v.Caller(), id, r.PathValue("key")); err != nil {
		return err
	}
	return page.Redirect(w, r, "/agents/"+id, "key-revoked")
}

// expiringKeys are those that will stop working soon.
func (s *Site) expiringKeys(ctx context.Context, v *page.Visitor) (list []beeos.Key, err error) {
	keys, err := s.Acts.Keys(ctx, v.Caller(), "", "")
	for _, k := range keys {
		if left := k.ExpiresAt.Sub(s.Now()); !k.ExpiresAt.IsZero() && left > 0 && left < 7*24*time.Hour {
			list = append(list, k)
		}
	}
	return list, err
}
