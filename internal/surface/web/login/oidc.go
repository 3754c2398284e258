package login

import (
	"encoding/base64"
	"encoding/json"
	"net/http"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/signin"
	"github.com/beeos/beeos/internal/surface/web/page"
)

// pendingSignIn is what a browser carries while its user is at the provider.
type pendingSignIn struct {
	Pending signin.Pending
	Next    string
}

const (
	oidcCookie  = "__Host-beeos_oidc" // no other host or path can set it
	oidcSeconds = 10 * 60
)

// startOIDC sends the browser to the outside provider.
func (s *SignIn) startOIDC(r *page.Request) (page.Answer, error) {
	if s.OIDC == nil {
		return nil, noProvider()
	}
	if !s.Pages.KeepsCookies(r) {
		return s.showFormFor(r, "/")
	}
	target, pending, err := s.OIDC.Start(r.Context())
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(pendingSignIn{pending, page.LocalPath(r.FormValue("next"))})
	r.SetCookie(oidcCookie, base64.RawURLEncoding.EncodeToString(b), oidcSeconds)
	return page.Redirect(target, ""), err
}

func noProvider() error {
	return beeos.Errorf(beeos.NotFound, "no outside provider is set up here; sign in with your password")
}

// finishOIDC takes the browser back from the provider.
func (s *SignIn) finishOIDC(r *page.Request) (page.Answer, error) {
	if s.OIDC == nil {
		return nil, noProvider()
	}
	var begun pendingSignIn
	c, err := r.Cookie(oidcCookie)
	if err == nil {
		var b []byte
		if b, err = base64.RawURLEncoding.DecodeString(c.Value); err == nil {
			err = json.Unmarshal(b, &begun)
		}
	}
	if err != nil {
		r.SetProblem("This sign-in was started in another browser, or too long ago. Try again.", http.StatusForbidden)
		return s.showFormFor(r, "/")
	}
	r.SetCookie(oidcCookie, "", -1)
	next := page.LocalPath(begun.Next)
	id, err := s.OIDC.Finish(r.Context(), begun.Pending, r.URL.Query())
	if err != nil {
		s.People.NoteRefusal("provider", err)
		return s.showRefusal(r, next, err)
	}
	u, err := s.People.SignInAs(r.Context(), id)
	if err != nil {
		return s.showRefusal(r, next, err)
	}
	return page.Redirect(next, ""), s.Pages.BeginSession(r, u, id.Issuer)
}

// showRefusal says on the sign-in page why the provider's user is not let in.
func (s *SignIn) showRefusal(r *page.Request, next string, err error) (page.Answer, error) {
	switch beeos.CodeOf(err) {
	case beeos.Forbidden, beeos.LoginRejected, beeos.Unauthorized, beeos.InvalidToken, beeos.InvalidParam, beeos.RateLimited:
		s.Log.InfoContext(r.Context(), "a sign-in through the provider was refused", "err", err)
		r.SetProblem(beeos.Public(err).Message, http.StatusForbidden)
		return s.showFormFor(r, next)
	}
	return nil, err
}
