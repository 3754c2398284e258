package page

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/people"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// sessionCookie has the __Host- prefix, with which browsers refuse a cookie
// that another host or path could have set.
const sessionCookie = "__Host-beeos"

const sessionSeconds = 30 * 24 * 60 * 60

// Visitor is who looks at a page; the zero User is nobody.
type Visitor struct {
	User  beeos.User
	Login people.Login
	token string
}

// Caller is the visitor as somebody who calls agents.
func (v *Visitor) Caller() beeos.Caller {
	return beeos.Caller{Kind: beeos.BySession, UserID: v.User.ID, CredentialID: "console:" + v.User.ID, Name: v.User.Name}
}

// identifyVisitor reads the session. One that has ended is no error: it is
// nobody's.
func (s *Server) identifyVisitor(r *Request) error {
	r.Visitor = &Visitor{}
	c, err := r.Cookie(sessionCookie)
	if err != nil {
		return nil
	}
	u, login, err := s.People.FindSession(r.Context(), c.Value)
	if beeos.CodeOf(err) == beeos.InvalidToken {
		return nil
	}
	if err != nil {
		return err
	}
	r.Visitor = &Visitor{User: u, Login: login, token: c.Value}
	r.Request = r.WithContext(httpd.With(r.Context(), "caller", "user:"+u.ID))
	return nil
}

// RefreshVisitor reads the visitor again, who may have changed while a page was
// open; an error means that they are signed out.
func (s *Server) RefreshVisitor(ctx context.Context, v *Visitor) (err error) {
	v.User, _, err = s.People.FindSession(ctx, v.token)
	return err
}

// BeginSession signs a user in, in this browser. An earlier session ends:
// whoever used the browser before does not stay signed in.
func (s *Server) BeginSession(r *Request, u beeos.User, method string) error {
	if err := s.endSession(r); err != nil {
		return err
	}
	token, err := s.People.BeginSession(r.Context(), u, people.Login{Method: method, Address: httpd.ClientIP(r.Request), Device: describeDevice(r.UserAgent())})
	if err != nil {
		return err
	}
	r.SetCookie(sessionCookie, token, sessionSeconds)
	return nil
}

// EndSession signs the visitor out, in this browser.
func (s *Server) EndSession(r *Request) error {
	err := s.endSession(r)
	if err == nil {
		r.ForgetSession()
	}
	return err
}

// endSession ends the visitor's session, if it has not ended already.
func (s *Server) endSession(r *Request) error {
	if r.token == "" {
		return nil
	}
	err := s.People.EndSession(r.Context(), r.token)
	if beeos.CodeOf(err) == beeos.InvalidToken {
		return nil
	}
	return err
}

// ForgetSession makes the browser forget a session that has ended.
func (r *Request) ForgetSession() { r.SetCookie(sessionCookie, "", -1) }

// SetCookie sets a cookie that only we can read; seconds < 0 removes it.
func (r *Request) SetCookie(name, value string, seconds int) {
	http.SetCookie(r.w, &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: seconds, Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// KeepsCookies reports whether the browser will keep our cookies: over https, or
// on this machine.
func (s *Server) KeepsCookies(r *Request) bool {
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

// describeDevice says what a person recognises a browser by.
func describeDevice(agent string) string {
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
