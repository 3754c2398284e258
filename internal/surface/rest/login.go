package rest

import (
	"net/http"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/oauth/tokens"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// tokensView is what a log-in gives: an access token for one hour, and a
// refresh token that gives the next two, once.
type tokensView struct {
	AccessToken  string `json:"access_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int    `json:"expires_in"` // seconds
	RefreshToken string `json:"refresh_token"`
}

// logIn is for scripts of a person who has no key at hand. It is open to
// anybody, so the throttle of sign-in stands in front.
func (s *Surface) logIn(w http.ResponseWriter, r *http.Request, _ beeos.Caller) error {
	var email, password string
	err := read(w, r, settingLimit, true, shape{"email": &email, "password": &password})
	if err == nil && (email == "" || password == "") {
		err = beeos.Errorf(beeos.MissingParam, "email and password are required")
	}
	if err != nil {
		return err
	}
	u, err := s.People.SignIn(r.Context(), email, password, httpd.ClientIP(r))
	if err != nil {
		return err
	}
	t, err := s.OAuth.LogIn(r.Context(), u)
	return answerTokens(w, t, err)
}

// refresh changes a refresh token into the next tokens.
func (s *Surface) refresh(w http.ResponseWriter, r *http.Request, _ beeos.Caller) error {
	var token string
	err := read(w, r, settingLimit, true, shape{"refresh_token": &token})
	if err == nil && token == "" {
		err = beeos.Errorf(beeos.MissingParam, "refresh_token is required")
	}
	if err != nil {
		return err
	}
	t, err := s.OAuth.Refresh(r.Context(), token)
	return answerTokens(w, t, err)
}

func answerTokens(w http.ResponseWriter, t tokens.Pair, err error) error {
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	httpd.WriteData(w, http.StatusOK, tokensView{
		AccessToken: t.Access, TokenType: "Bearer", ExpiresIn: int(t.ExpiresIn / time.Second), RefreshToken: t.Refresh,
	})
	return nil
}
