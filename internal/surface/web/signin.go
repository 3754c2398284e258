package web

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// signInData is the sign-in form.
type signInData struct {
	Next     string
	Email    string
	Provider string // the outside provider's host; "" = there is none
	Insecure string // set: this address cannot keep a session; a better one
	First    bool   // nobody has an account yet
	App      bool   // an app has sent them here
}

func (s *Site) signInPage(w http.ResponseWriter, r *http.Request, v *visit) error {
	next := local(r.FormValue("next"))
	if v.User.ID != "" {
		http.Redirect(w, r, next, http.StatusSeeOther)
		return nil
	}
	return s.showSignIn(w, r, http.StatusOK, signInData{Next: next}, "")
}

func (s *Site) showSignIn(w http.ResponseWriter, r *http.Request, status int, d signInData, problem string) error {
	if s.OIDC != nil {
		d.Provider = providerName(s.OIDC.Issuer())
	}
	if !s.safe(r) {
		d.Insecure, status = s.PublicURL, http.StatusForbidden
	}
	able, err := s.DB.AnyoneCanSignIn(r.Context())
	if err != nil {
		return err
	}
	d.First, d.App = !able, strings.HasPrefix(d.Next, "/mcp-login?")
	return s.show(w, r, &visit{}, status, "signin", page{Title: "Sign in", Problem: problem, Here: "/signin", Data: d})
}

func (s *Site) signIn(w http.ResponseWriter, r *http.Request, v *visit) error {
	d := signInData{Next: local(r.FormValue("next")), Email: r.FormValue("email")}
	if !s.safe(r) {
		return s.showSignIn(w, r, http.StatusForbidden, d, "")
	}
	u, err := s.People.SignIn(r.Context(), d.Email, r.FormValue("password"), httpd.ClientIP(r))
	if message, status, ok := formError(err); ok {
		return s.showSignIn(w, r, status, d, message)
	}
	if err != nil {
		return err
	}
	if err := s.enter(w, r, v, u, "password"); err != nil {
		return err
	}
	http.Redirect(w, r, d.Next, http.StatusSeeOther)
	return nil
}

func (s *Site) signOut(w http.ResponseWriter, r *http.Request, v *visit) error {
	if v.token != "" {
		if err := s.People.End(r.Context(), v.token); err != nil && beeos.CodeOf(err) != beeos.InvalidToken {
			return err
		}
	}
	s.setCookie(w, sessionCookie, "", -1)
	return s.done(w, r, "/signin", "signed-out")
}

// providerName is what people know an issuer by: its host.
func providerName(issuer string) string {
	u, err := url.Parse(issuer)
	if err != nil || u.Host == "" {
		return clean(issuer, 60)
	}
	return clean(u.Host, 60)
}
