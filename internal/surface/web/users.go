package web

import (
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/store/people"
	"github.com/beeos/beeos/internal/surface/web/page"
)

type usersData struct {
	Users       []beeos.User
	Invitations []people.Link
	Link        *freshLink
	Mailed      string // to whom a link was just mailed
	Mails       bool   // links are mailed
	Email       string // what the form had
	Me          string
}

// freshLink is a link that was just made: the only time it is shown. Why tells that it
// could not be mailed.
type freshLink struct{ For, URL, Lasts, Why string }

func (s *Surface) showUsers(r *page.Request) (page.Answer, error) {
	return s.showUsersWith(r, usersData{Email: strings.TrimSpace(r.PostFormValue("email"))})
}

func (s *Surface) showUsersWith(r *page.Request, d usersData) (_ page.Answer, err error) {
	if d.Users, err = s.Users.ListUsers(r.Context()); err != nil {
		return nil, err
	}
	d.Me, d.Mails = r.User.ID, s.Acts.Mail != nil
	d.Invitations, err = s.People.ListInvitations(r.Context())
	return page.View{Page: "users", Title: "Users", Room: "users", Here: "/users", Data: d}, err
}

// showLink shows a link that was just made for somebody, unless it was mailed.
func (s *Surface) showLink(r *page.Request, email string, letter act.Letter, lasts string) (page.Answer, error) {
	if letter.Mailed {
		return s.showUsersWith(r, usersData{Mailed: email})
	}
	return s.showUsersWith(r, usersData{Link: &freshLink{email, s.PublicURL + "/welcome?token=" + letter.Token, lasts, letter.Why}})
}

func (s *Surface) inviteUser(r *page.Request) (page.Answer, error) {
	email := strings.TrimSpace(r.FormValue("email"))
	letter, err := s.Acts.InviteUser(r.Context(), r.Caller(), email, r.FormValue("admin") == "on")
	if err != nil {
		return nil, err
	}
	return s.showLink(r, email, letter, "7 days")
}

func (s *Surface) makeResetLink(r *page.Request) (page.Answer, error) {
	u, err := s.Users.GetUser(r.Context(), r.PathValue("user"))
	if err != nil {
		return nil, err
	}
	letter, err := s.Acts.ResetPassword(r.Context(), r.Caller(), u.ID)
	if err != nil {
		return nil, err
	}
	return s.showLink(r, u.Email, letter, "one hour")
}

func (s *Surface) withdrawInvitation(r *page.Request) (page.Answer, error) {
	return page.Redirect("/users", "withdrawn"), s.Acts.WithdrawInvitation(r.Context(), r.Caller(), r.PathValue("link"))
}

func (s *Surface) setDisabled(r *page.Request) (page.Answer, error) {
	off, did := r.FormValue("off") == "1", "enabled"
	if off {
		did = "disabled"
	}
	return page.Redirect("/users", did), s.Acts.SetDisabled(r.Context(), r.Caller(), r.PathValue("user"), off)
}

func (s *Surface) setAdmin(r *page.Request) (page.Answer, error) {
	on, did := r.FormValue("on") == "1", "no-admin"
	if on {
		did = "admin"
	}
	return page.Redirect("/users", did), s.Acts.SetAdmin(r.Context(), r.Caller(), r.PathValue("user"), on)
}
