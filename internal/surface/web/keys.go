package web

import (
	"context"
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
	Fresh freshKey
	REST  string
}

// freshKey is a key that was just made, with its secret: the only time it is
// shown.
type freshKey struct{ Name, Secret string }

func (s *Surface) showKeys(r *page.Request) (page.Answer, error) {
	return s.showKeysWith(r, freshKey{})
}

func (s *Surface) showKeysWith(r *page.Request, fresh freshKey) (page.Answer, error) {
	keys, err := s.Acts.Keys(r.Context(), r.Caller(), beeos.UserKey, "")
	d := keysData{Keys: keys, Path: "/keys", Fresh: fresh, REST: s.RESTURL}
	return page.View{Page: "keys", Title: "API keys", Room: "keys", Here: "/keys", Data: d}, err
}

func (s *Surface) createKey(r *page.Request) (page.Answer, error) {
	fresh, err := s.makeKey(r, "")
	if err != nil {
		return nil, err
	}
	return s.showKeysWith(r, fresh)
}

func (s *Surface) createAgentKey(r *page.Request, a *beeos.Agent) (page.Answer, error) {
	fresh, err := s.makeKey(r, a.ID)
	if err != nil {
		return nil, err
	}
	return s.showAccessWith(r, a, fresh)
}

// makeKey makes the key that the form describes.
func (s *Surface) makeKey(r *page.Request, agentID string) (freshKey, error) {
	k := beeos.Key{AgentID: agentID, Name: strings.TrimSpace(r.FormValue("name"))}
	if text := r.FormValue("days"); text != "" && text != "0" {
		days, err := strconv.Atoi(text)
		if err != nil || days < 1 || days > 3650 {
			return freshKey{}, beeos.Errorf(beeos.InvalidParam, "a key lasts from 1 to 3650 days, or until it is revoked")
		}
		k.ExpiresAt = s.Now().Add(time.Duration(days) * 24 * time.Hour)
	}
	var err error
	if k.RatePerMinute, err = readRate(r); err != nil {
		return freshKey{}, err
	}
	k, secret, err := s.Acts.CreateKey(r.Context(), r.Caller(), k)
	return freshKey{Name: k.Name, Secret: secret}, err
}

// readRate reads how many calls a minute a form allows; an empty field is 0, the
// default.
func readRate(r *page.Request) (int, error) {
	text := strings.TrimSpace(r.FormValue("rate"))
	if text == "" {
		return 0, nil
	}
	perMinute, err := strconv.Atoi(text)
	if err != nil || perMinute < 0 || perMinute > 1_000_000 {
		return 0, beeos.Errorf(beeos.InvalidParam, "calls a minute are a whole number up to 1000000; leave the field empty for the default")
	}
	return perMinute, nil
}

// limitKey changes the limit of a key that revokeKey would find.
func (s *Surface) limitKey(r *page.Request) (page.Answer, error) {
	perMinute, err := readRate(r)
	if err != nil {
		return nil, err
	}
	_, err = s.Acts.LimitKey(r.Context(), r.Caller(), r.PathValue("agent"), r.PathValue("key"), perMinute)
	return page.Redirect(keysPage(r), "key-limited"), err
}

// revokeKey ends a key of the agent of the path, or one of the visitor's own
// where the path names none.
func (s *Surface) revokeKey(r *page.Request) (page.Answer, error) {
	return page.Redirect(keysPage(r), "key-revoked"), s.Acts.RevokeKey(r.Context(), r.Caller(), r.PathValue("agent"), r.PathValue("key"))
}

func keysPage(r *page.Request) string {
	if agent := r.PathValue("agent"); agent != "" {
		return "/agents/" + agent + "/access"
	}
	return "/keys"
}

// expiringKeys are those that will stop working soon.
func (s *Surface) expiringKeys(ctx context.Context, v *page.Visitor) (list []beeos.Key, err error) {
	keys, err := s.Acts.Keys(ctx, v.Caller(), "", "")
	for _, k := range keys {
		if left := k.ExpiresAt.Sub(s.Now()); !k.ExpiresAt.IsZero() && left > 0 && left < 7*24*time.Hour {
			list = append(list, k)
		}
	}
	return list, err
}
