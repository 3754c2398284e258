package web

import (
	"net/http"
	"net/url"

	"github.com/beeos/beeos/internal/store"
)

// welcomeData is the form behind a link that works once.
type welcomeData struct {
	Link         store.Link
	Token        string
	Name, Email  string
	Insecure     string
	Setup, Reset bool
}

func (s *Site) welcome(w http.ResponseWriter, r *http.Request, v *visit) error {
	return s.showWelcome(w, r, v, http.StatusOK, welcomeData{Token: r.FormValue("token")}, "")
}

func (s *Site) showWelcome(w http.ResponseWriter, r *http.Request, _ *visit, status int, d welcomeData, problem string) error {
	l, err := s.People.Link(r.Context(), d.Token)
	if err != nil {
		return err
	}
	d.Link, d.Setup, d.Reset = l, l.Kind == store.SetupLink, l.Kind == store.ResetLink
	if l.Email != "" {
		d.Email = l.Email
	}
	if !s.safe(r) {
		d.Insecure, status = s.PublicURL+"/welcome?token="+url.QueryEscape(d.Token), http.StatusForbidden
	}
	title := "Welcome to BeeOS"
	if d.Reset {
		title = "Set a new password"
	}
	return s.show(w, r, &visit{}, status, "welcome", page{Title: title, Problem: problem, Here: "/signin", Data: d})
}

// accept uses the link up and signs its user in.
func (s *Site) accept(w http.ResponseWriter, r *http.Request, v *visit) error {
	d := welcomeData{Token: r.FormValue("token"), Name: r.FormValue("name"), Email: r.FormValue("email")}
	if !s.safe(r) {
		return s.showWelcome(w, r, v, http.StatusForbidden, d, "")
	}
	u, err := s.People.Accept(r.Context(), d.Token, d.Name, d.Email, r.FormValue("password"))
	if message, status, ok := formError(err); ok {
		return s.showWelcome(w, r, v, status, d, message)
	}
	if err != nil {
		return err
	}
	if err := s.enter(w, r, v, u, "link"); err != nil {
		return err
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
	return nil
}
