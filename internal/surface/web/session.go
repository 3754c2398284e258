package web

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// Cookies. The __Host- prefix makes browsers refuse one that another host or
// path could have set.
const (
	sessionCookie = "__Host-beeos"
	oidcCookie    = "__Host-beeos_oidc"
	themeCookie   = "beeos_theme"
)

// visit is who is there; the zero User is nobody.
type visit struct {
	User  beeos.User
	Login store.Login
	token string
}

// visit reads the session. A session that has ended is no error: it is nobody.
func (s *Site) visit(r *http.Request) (*visit, error) {
	c, err := r.Cookie(sessionCookie)
	if err != nil {
		return &visit{}, nil
	}
	u, login, err := s.People.Session(r.Context(), c.Value)
	if beeos.CodeOf(err) == beeos.InvalidToken {
		return &visit{}, nil
	}
	if err != nil {
		return &visit{}, err
	}
	return &visit{User: u, Login: login, token: c.Value}, nil
}

// enter begins a session in this browser. An earlier one ends: whoever used
// this browser before is not left signed in behind.
func (s *Site) enter(w http.ResponseWriter, r *http.Request, v *visit, u beeos.User, method string) error {
	if v.token != "" {
		if err := s.People.End(r.Context(), v.token); err != nil {
			return err
		}
	}
	token, err := s.People.Begin(r.Context(), u, store.Login{Method: method, Address: httpd.ClientIP(r), Device: device(r.UserAgent())})
	if err != nil {
		return err
	}
	s.setCookie(w, sessionCookie, token, 30*24*60*60)
	return nil
}

func (s *Site) setCookie(w http.ResponseWriter, name, value string, seconds int) {
	http.SetCookie(w, &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: seconds, Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// safe reports whether the browser will keep our cookies: over https, or on
// this machine.
func (s *Site) safe(r *http.Request) bool {
	if r.TLS != nil || strings.HasPrefix(s.PublicURL, "https://") {
		return true
	}
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || strings.HasSuffix(strings.ToLower(host), ".localhost") || err == nil && ip.Unmap().IsLoopback()
}

// device is what a person recognises a browser by.
func device(agent string) string {
	pick := func(names ...string) string {
		for i := 0; i < len(names); i += 2 {
			if strings.Contains(agent, names[i]) {
				return names[i+1]
			}
		}
		return ""
	}
	browser := pick("Edg/", "Edge", "OPR/", "Opera", "Firefox/", "Firefox", "Chrome/", "Chrome", "Safari/", "Safari", "curl/", "curl")
	system := pick("iPhone", "iPhone", "iPad", "iPad", "Android", "Android", "Windows", "Windows", "Mac OS X", "macOS", "CrOS", "ChromeOS", "Linux", "Linux")
	switch {
	case browser != "" && system != "":
		return browser + " on " + system
	case browser+system != "":
		return browser + system
	}
	return "an unknown browser"
}
