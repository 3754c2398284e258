package web

import (
	"net/http"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/people"
	"github.com/beeos/beeos/internal/surface/web/page"
)

type usersData struct {
	Users       []beeos.User
	Invitations []people.Link
	Link        *freshLink
	Email       string // what the form had
	Me          string
}

// freshLink is a link that was just made: the only time it is shown.
type freshLink struct{ For, URL, Lasts string }

func (s *Site) users(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	return s.showUsers(w, r, v, http.StatusOK, usersData{}, "")
}

func (s *Site) showUsers(w http.ResponseWriter, r *http.Request, v *page.Visitor, status int, d usersData, problem string) (err error) {
	if d.Users, err = s.DB.People.ListUsers(r.Context()); err != nil {
		return err
	}
	if d.Invitations, err = s.People.Invitations(r.Context()); err != nil {
		return err
	}
	d.Me = v.User.ID
	return s.ShowPage(w, r, v, status, "users", page.View{Title: "Users", Room: "users", Problem: problem, Here: "/users", Data: d})
}

func (s *Site) invite(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	d := usersData{Email: strings.TrimSpace(r.FormValue("email"))}
	token, err := s.Acts.InviteUser(r.Context(), v.Caller(), d.Email, r.FormValue("admin") == "on")
	if message, status, ok := page.FormProblem(err); ok {
		return s.showUsers(w, r, v, status, d, message)
	}
	if err != nil {
		return err
	}
	return s.showUsers(w, r, v, http.StatusOK, usersData{Link: &freshLink{d.Email, s.PublicURL + "/welcome?token=" + token, "7 days"}}, "")
}

func (s *Site) resetLink(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	u, err := s.DB.People.GetUser(r.Context(), r.PathValue("user"))
	if err != nil {
		return err
	}
	token, err := s.Acts.ResetPassword(r.Context(), v.Caller(), u.ID)
	if message, status, ok := page.FormProblem(err); ok {
		return s.showUsers(w, r, v, status, usersData{}, message)
	}
	if err != nil {
		return err
	}
	return s.showUsers(w, r, v, http.StatusOK, usersData{Link: &freshLink{u.Email, s.PublicURL + "/welcome?token=" + token, "one hour"}}, "")
}

func (s *Site) withdraw(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	if err := s.Acts.WithdrawInvitation(r.Context(), v.Caller(), r.PathValue("link")); err != nil {
		return err
	}
	return page.Redirect(w, r, "/users", "withdrawn")
}

func (s *Site) setDisabled(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	off := r.FormValue("off") == "1"
	did := "enabled"
	if off {
		did = "disabled"
	}
	return s.changeUser(w, r, v, did, s.Acts.SetDisabled(r.Context(), v.Caller(), r.PathValue("user"), off))
}

func (s *Site) setAdmin(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	on := r.FormValue("on") == "1"
	did := "no-admin"
	if on {
		did = "admin"
	}
	return s.changeUser(w, r, v, did, s.Acts.SetAdmin(r.Context(), v.Caller(), r.PathValue("user"), on))
}

// changeUser says how a change went on the page that it was made on.
func (s *Site) changeUser(w http.ResponseWriter, r *http.Request, v *page.Visitor, did string, err error) error {
	if message, status, ok := page.FormProblem(err); ok {
		return s.showUsers(w, r, v, status, usersData{}, message)
	}
	if err != nil {
		return err
	}
	return page.Redirect(w, r, "/users", did)
}
