package web

import (
	"net/http"

	"github.com/beeos/beeos/internal/store/people"
	"github.com/beeos/beeos/internal/surface/web/page"
)

type accountData struct {
	Logins      []people.Login
	This        string // the session that is looking
	HasPassword bool
}

func (s *Site) account(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	return s.showAccount(w, r, v, http.StatusOK, "")
}

func (s *Site) showAccount(w http.ResponseWriter, r *http.Request, v *page.Visitor, status int, problem string) error {
	logins, err := s.People.Logins(r.Context(), v.User.ID)
	if err != nil {
		return err
	}
	return s.ShowPage(w, r, v, status, "account", page.View{
		Title: "Account", Room: "account", Problem: problem, Here: "/account",
		Data: accountData{Logins: logins, This: v.Login.ID, HasPassword: v.User.PasswordHash != ""},
	})
}

func (s *Site) rename(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	err := s.People.Rename(r.Context(), v.User, r.FormValue("name"))
	if message, status, ok := page.FormProblem(err); ok {
		return s.showAccount(w, r, v, status, message)
	}
	if err != nil {
		return err
	}
	return page.Redirect(w, r, "/account", "renamed")
}

// changePassword ends all sessions, this one included, and begins a new one
// here.
func (s *Site) changePassword(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	err := s.People.ChangePassword(r.Context(), v.User, r.FormValue("old"), r.FormValue("new"))
	if message, status, ok := page.FormProblem(err); ok {
		return s.showAccount(w, r, v, status, message)
	}
	if err != nil {
		return err
	}
	if err := s.BeginSession(w, r, &page.Visitor{}, v.User, "password"); err != nil {
		return err
	}
	return page.Redirect(w, r, "/account", "password")
}

func (s *Site) endSession(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	if err := s.People.EndOne(r.Context(), v.User, r.PathValue("login")); err != nil {
		return err
	}
	return page.Redirect(w, r, "/account", "ended")
}

func (s *Site) signOutEverywhere(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	if err := s.Acts.SignOutEverywhere(r.Context(), v.Caller(), v.User.ID); err != nil {
		return err
	}
	page.ForgetSession(w)
	return page.Redirect(w, r, "/signin", "everywhere")
}
