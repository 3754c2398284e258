package web

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/store"
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
	keys, err := s.liveKeys(r.Context(), v, beeos.UserKey, "")
	if err != nil {
		return err
	}
	p.Title, p.Room, p.Here = "API keys", "keys", "/keys"
	p.Data = keysData{Keys: keys, Path: "/keys", Fresh: f, REST: s.RESTURL}
	return s.ShowPage(w, r, v, status, "keys", p)
}

func (s *Site) createKey(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	f, err := s.makeKey(r, v, beeos.Key{Kind: beeos.UserKey})
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
	f, err := s.makeKey(r, v, beeos.Key{Kind: beeos.AgentKey, AgentID: a.ID})
	if message, status, ok := page.FormProblem(err); ok {
		return s.showAgent(w, r, v, status, page.View{Problem: message}, fresh{})
	}
	if err != nil {
		return err
	}
	return s.showAgent(w, r, v, http.StatusOK, page.View{}, f)
}

// makeKey makes the key that the form describes.
func (s *Site) makeKey(r *http.Request, v *page.Visitor, k beeos.Key) (fresh, error) {
	k.Name = strings.TrimSpace(r.FormValue("name"))
	if k.Name == "" {
		return fresh{}, beeos.Errorf(beeos.MissingParam, "give the key a name: it is how you will recognise it")
	}
	if text := r.FormValue("days"); text != "" && text != "0" {
		days, err := strconv.Atoi(text)
		if err != nil || days < 1 || days > 3650 {
			return fresh{}, beeos.Errorf(beeos.InvalidParam, "a key lasts from 1 to 3650 days, or until it is revoked")
		}
		k.ExpiresAt = s.Now().UTC().Add(time.Duration(days) * 24 * time.Hour)
	}
	secret, hash, prefix := auth.NewKey(k.Kind)
	k.ID, k.OwnerID, k.Prefix, k.CreatedAt = beeos.NewID(), v.User.ID, prefix, s.Now().UTC()
	if err := s.DB.CreateKey(r.Context(), k, hash); err != nil {
		return fresh{}, err
	}
	s.audit(r.Context(), v, "key.create", k.ID, map[string]string{"kind": string(k.Kind), "name": k.Name, "agent": k.AgentID, "prefix": k.Prefix})
	return fresh{Name: k.Name, Secret: secret}, nil
}

func (s *Site) revokeKey(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	if err := s.endKey(r, v, beeos.UserKey, ""); err != nil {
		return err
	}
	return page.Redirect(w, r, "/keys", "key-revoked")
}

func (s *Site) revokeAgentKey(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	a, err := s.owned(r, v)
	if err != nil {
		return err
	}
	if err := s.endKey(r, v, beeos.AgentKey, a.ID); err != nil {
		return err
	}
	return page.Redirect(w, r, "/agents/"+a.ID, "key-revoked")
}

// endKey revokes the key of the path if it is one of those.
func (s *Site) endKey(r *http.Request, v *page.Visitor, kind beeos.KeyKind, agentID string) error {
	id := r.PathValue("key")
	keys, err := s.liveKeys(r.Context(), v, kind, agentID)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if k.ID != id {
			continue
		}
		if err := s.DB.RevokeKey(r.Context(), v.User.ID, id); err != nil {
			return err
		}
		s.audit(r.Context(), v, "key.revoke", id, map[string]string{"kind": string(k.Kind), "name": k.Name, "agent": k.AgentID, "prefix": k.Prefix})
		if s.Revoked != nil {
			s.Revoked(id)
		}
		return nil
	}
	return beeos.Errorf(beeos.NotFound, "there is no such key to revoke")
}

// liveKeys are the visitor's keys that are not revoked, of a kind and an
// agent, or of any.
func (s *Site) liveKeys(ctx context.Context, v *page.Visitor, kind beeos.KeyKind, agentID string) ([]beeos.Key, error) {
	all, err := s.DB.Keys(ctx, store.KeyFilter{Owner: v.User.ID, Kind: kind, AgentID: agentID})
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

// expiringKeys are those that will stop working soon.
func (s *Site) expiringKeys(ctx context.Context, v *page.Visitor) (list []beeos.Key, err error) {
	keys, err := s.liveKeys(ctx, v, "", "")
	for _, k := range keys {
		if left := k.ExpiresAt.Sub(s.Now()); !k.ExpiresAt.IsZero() && left > 0 && left < 7*24*time.Hour {
			list = append(list, k)
		}
	}
	return list, err
}
