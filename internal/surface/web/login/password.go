package login

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// formData is the sign-in form.
type formData struct {
	Next     string
	Email    string
	Provider string // the outside provider's host; "" = there is none
	Insecure string // set: this address cannot keep a session; one that can
	First    bool   // nobody has an account yet
	App      bool   // an app has sent them here
}

func (s *SignIn) showForm(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	next := page.LocalPath(r.FormValue("next"))
	if v.User.ID != "" {
		http.Redirect(w, r, next, http.StatusSeeOther)
		return nil
	}
	return s.showFormWith(w, r, http.StatusOK, formData{Next: next}, "")
}

func (s *SignIn) showFormWith(w http.ResponseWriter, r *http.Request, status int, d formData, problem string) error {
	if s.OIDC != nil {
		d.Provider = providerName(s.OIDC.Issuer())
	}
	if !s.Pages.KeepsCookies(r) {
		d.Insecure, status = s.Pages.PublicURL, http.StatusForbidden
	}
	able, err := s.Users.AnyoneCanSignIn(r.Context())
	if err != nil {
		return err
	}
	d.First, d.App = !able, strings.HasPrefix(d.Next, "/mcp-login?")
	return s.Pages.ShowPage(w, r, &page.Visitor{}, status, "signin", page.View{Title: "Sign in", Problem: problem, Here: "/signin", Data: d})
}

func (s *SignIn) signIn(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	d := formData{Next: page.LocalPath(r.FormValue("next")), Email: r.FormValue("email")}
	if !s.Pages.KeepsCookies(r) {
		return s.showFormWith(w, r, http.StatusForbidden, d, "")
	}
	u, err := s.People.SignIn(r.Context(), d.Email, r.FormValue("password"), httpd.ClientIP(r))
	if message, status, ok := page.FormProblem(err); ok {
		return s.showFormWith(w, r, status, d, message)
	}
	if err != nil {
		return err
	}
	if err := s.Pages.BeginSession(w, r, v, u, "password"); err != nil {
		return err
	}
	http.Redirect(w, r, d.Next, http.StatusSeeOther)
	return nil
}

func (s *SignIn) signOut(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	if err := s.Pages.EndSession(w, r, v); err != nil {
		return err
	}
	return page.Redirect(w, r, "/signin", "signed-out")
}

// providerName is the name by which people know an issuer: its host.
func providerName(issuer string) string {
	u, err := url.Parse(issuer)
	if err != nil || u.Host == "" {
		return safetext.Line(issuer, 60)
	}
	return safetext.Line(u.Host, 60)
}
