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

func (s *SignIn) showForm(r *page.Request) (page.Answer, error) {
	next := page.LocalPath(r.FormValue("next"))
	if r.User.ID != "" && r.Method == http.MethodGet {
		return page.Redirect(next, ""), nil
	}
	return s.showFormFor(r, next)
}

// showFormFor is the sign-in form for somebody who wants to go on to next.
func (s *SignIn) showFormFor(r *page.Request, next string) (page.Answer, error) {
	d := formData{Next: next, Email: r.PostFormValue("email"), App: strings.HasPrefix(next, "/mcp-login?")}
	if s.OIDC != nil {
		d.Provider = providerName(s.OIDC.Issuer())
	}
	status := 0
	if !s.Pages.KeepsCookies(r) {
		d.Insecure, status = s.Pages.PublicURL, http.StatusForbidden
	}
	able, err := s.Users.AnyoneCanSignIn(r.Context())
	d.First = !able
	r.Visitor = &page.Visitor{} // who asks for this page is nobody yet, or somebody else
	return page.View{Page: "signin", Status: status, Title: "Sign in", Here: "/signin", Data: d}, err
}

func (s *SignIn) signIn(r *page.Request) (page.Answer, error) {
	if !s.Pages.KeepsCookies(r) {
		return s.showForm(r)
	}
	u, err := s.People.SignIn(r.Context(), r.FormValue("email"), r.FormValue("password"), httpd.ClientIP(r.Request))
	if err == nil {
		err = s.Pages.BeginSession(r, u, "password")
	}
	return page.Redirect(page.LocalPath(r.FormValue("next")), ""), err
}

func (s *SignIn) signOut(r *page.Request) (page.Answer, error) {
	return page.Redirect("/signin", "signed-out"), s.Pages.EndSession(r)
}

// providerName is the name by which people know an issuer: its host.
func providerName(issuer string) string {
	u, err := url.Parse(issuer)
	if err != nil || u.Host == "" {
		return safetext.Line(issuer, 60)
	}
	return safetext.Line(u.Host, 60)
}
