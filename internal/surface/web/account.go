package web

import (
	"github.com/beeos/beeos/internal/store/people"
	"github.com/beeos/beeos/internal/surface/web/page"
)

type accountData struct {
	Logins      []people.Login
	This        string // the session that is looking
	HasPassword bool
}

func (s *Surface) showAccount(r *page.Request) (page.Answer, error) {
	logins, err := s.People.ListSessions(r.Context(), r.User.ID)
	d := accountData{Logins: logins, This: r.Login.ID, HasPassword: r.User.PasswordHash != ""}
	return page.View{Page: "account", Title: "Account", Room: "account", Here: "/account", Data: d}, err
}

func (s *Surface) renameUser(r *page.Request) (page.Answer, error) {
	return page.Redirect("/account", "renamed"), s.People.Rename(r.Context(), r.User, r.FormValue("name"))
}

// changePassword ends all sessions, this one included, and begins a new one
// here.
func (s *Surface) changePassword(r *page.Request) (page.Answer, error) {
	err := s.People.ChangePassword(r.Context(), r.User, r.FormValue("old"), r.FormValue("new"))
	if err == nil {
		err = s.BeginSession(r, r.User, "password")
	}
	return page.Redirect("/account", "password"), err
}

func (s *Surface) endSession(r *page.Request) (page.Answer, error) {
	return page.Redirect("/account", "ended"), s.People.EndSessionByID(r.Context(), r.User, r.PathValue("login"))
}

func (s *Surface) signOutEverywhere(r *page.Request) (page.Answer, error) {
	err := s.Acts.SignOutEverywhere(r.Context(), r.Caller(), r.User.ID)
	if err == nil {
		r.ForgetSession()
	}
	return page.Redirect("/signin", "everywhere"), err
}
