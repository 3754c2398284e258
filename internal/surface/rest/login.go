package rest

import (
	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/oauth/tokens"
	"github.com/beeos/beeos/internal/surface/rest/route"
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
func (s *Surface) logIn(r *route.Request) (any, error) {
	var email, password string
	err := r.ReadSettings(route.Strict, route.Shape{"email": &email, "password": &password})
	if err == nil && (email == "" || password == "") {
		err = beeos.Errorf(beeos.MissingParam, "email and password are required")
	}
	if err != nil {
		return nil, err
	}
	u, err := s.opt.People.SignIn(r.Context(), email, password, httpd.ClientIP(r.Request))
	if err != nil {
		return nil, err
	}
	pair, err := s.opt.OAuth.IssueUserTokens(r.Context(), u)
	return viewTokens(r, pair), err
}

// refresh changes a refresh token into the next tokens.
func (s *Surface) refresh(r *route.Request) (any, error) {
	var token string
	err := r.ReadSettings(route.Strict, route.Shape{"refresh_token": &token})
	if err == nil && token == "" {
		err = beeos.Errorf(beeos.MissingParam, "refresh_token is required")
	}
	if err != nil {
		return nil, err
	}
	pair, err := s.opt.OAuth.RefreshUserTokens(r.Context(), token)
	return viewTokens(r, pair), err
}

func viewTokens(r *route.Request, pair tokens.Pair) tokensView {
	r.ForbidCaching()
	return tokensView{AccessToken: pair.Access, TokenType: "Bearer", ExpiresIn: int(pair.ExpiresIn), RefreshToken: pair.Refresh}
}
