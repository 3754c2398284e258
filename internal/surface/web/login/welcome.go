package login

import (
	"cmp"
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

func (s *SignIn) showLink(r *page.Request) (page.Answer, error) {
	d := linkData{Token: r.FormValue("token"), Name: r.PostFormValue("name")}
	l, err := s.People.FindLink(r.Context(), d.Token)
	d.Link, d.Setup, d.Reset = l, l.Kind == people.SetupLink, l.Kind == people.ResetLink
	d.Email = cmp.Or(l.Email, r.PostFormValue("email"))
	status := 0
	if !s.Pages.KeepsCookies(r) {
		d.Insecure, status = s.Pages.PublicURL+"/welcome?token="+url.QueryEscape(d.Token), http.StatusForbidden
	}
	title := "Welcome to BeeOS"
	if d.Reset {
		title = "Set a new password"
	}
	r.Visitor = &page.Visitor{} // the link may be for somebody else
	return page.View{Page: "welcome", Status: status, Title: title, Here: "/signin", Data: d}, err
}

// acceptLink uses up the link and signs its user in.
func (s *SignIn) acceptLink(r *page.Request) (page.Answer, error) {
	if !s.Pages.KeepsCookies(r) {
		return s.showLink(r)
	}
	u, err := s.People.AcceptLink(r.Context(), r.FormValue("token"), r.FormValue("name"), r.FormValue("email"), r.FormValue("password"))
	if err == nil {
		err = s.Pages.BeginSession(r, u, "link")
	}
	return page.Redirect("/", ""), err
}
