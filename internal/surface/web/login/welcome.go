package login

import (
	"net/http"
	"net/url"

	"github.com/beeos/beeos/internal/store/people"
	"github.com/beeos/beeos/internal/surface/web/page"
)

// linkData is the form behind a link that works once.
type linkData struct {
	Link         people.Link
	Token        string
	Name, Email  string
	Insecure     string
	Setup, Reset bool
}

func (s *SignIn) showLink(w http.ResponseWriter, r *http.Request, _ *page.Visitor) error {
	return s.showLinkForm(w, r, http.StatusOK, linkData{Token: r.FormValue("token")}, "")
}

func (s *SignIn) showLinkForm(w http.ResponseWriter, r *http.Request, status int, d linkData, problem string) error {
	l, err := s.People.Link(r.Context(), d.Token)
	if err != nil {
		return err
	}
	d.Link, d.Setup, d.Reset = l, l.Kind == people.SetupLink, l.Kind == people.ResetLink
	if l.Email != "" {
		d.Email = l.Email
	}
	if !s.Pages.KeepsCookies(r) {
		d.Insecure, status = s.Pages.PublicURL+"/welcome?token="+url.QueryEscape(d.Token), http.StatusForbidden
	}
	title := "Welcome to BeeOS"
	if d.Reset {
		title = "Set a new password"
	}
	return s.Pages.ShowPage(w, r, &page.Visitor{}, status, "welcome", page.View{Title: title, Problem: problem, Here: "/signin", Data: d})
}

// acceptLink uses up the link and signs its user in.
func (s *SignIn) acceptLink(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	d := linkData{Token: r.FormValue("token"), Name: r.FormValue("name"), Email: r.FormValue("email")}
	if !s.Pages.KeepsCookies(r) {
		return s.showLinkForm(w, r, http.StatusForbidden, d, "")
	}
	u, err := s.People.Accept(r.Context(), d.Token, d.Name, d.Email, r.FormValue("password"))
	if message, status, ok := page.FormProblem(err); ok {
		return s.showLinkForm(w, r, status, d, message)
	}
	if err != nil {
		return err
	}
	if err := s.Pages.BeginSession(w, r, v, u, "link"); err != nil {
		return err
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
	return nil
}
