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
func (s *SignIn) startOIDC(w http.ResponseWriter, r *http.Request, _ *page.Visitor) error {
	if s.OIDC == nil {
		return beeos.Errorf(beeos.NotFound, "no outside provider is set up here; sign in with your password")
	}
	if !s.Pages.KeepsCookies(r) {
		return s.showFormWith(w, r, http.StatusForbidden, formData{Next: "/"}, "")
	}
	target, pending, err := s.OIDC.Start(r.Context())
	if err != nil {
		return err
	}
	b, err := json.Marshal(pendingSignIn{pending, page.LocalPath(r.FormValue("next"))})
	if err != nil {
		return err
	}
	page.SetCookie(w, oidcCookie, base64.RawURLEncoding.EncodeToString(b), oidcSeconds)
	http.Redirect(w, r, target, http.StatusSeeOther)
	return nil
}

// finishOIDC takes the browser back from the provider.
func (s *SignIn) finishOIDC(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	if s.OIDC == nil {
		return beeos.Errorf(beeos.NotFound, "no outside provider is set up here; sign in with your password")
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
		return s.showFormWith(w, r, http.StatusForbidden, formData{Next: "/"}, "This sign-in was started in another browser, or too long ago. Try again.")
	}
	page.SetCookie(w, oidcCookie, "", -1)
	next := page.LocalPath(begun.Next)
	id, err := s.OIDC.Finish(r.Context(), begun.Pending, r.URL.Query())
	if err != nil {
		return s.showRefusal(w, r, next, err)
	}
	u, err := s.People.SignInAs(r.Context(), id)
	if err != nil {
		return s.showRefusal(w, r, next, err)
	}
	if err := s.Pages.BeginSession(w, r, v, u, id.Issuer); err != nil {
		return err
	}
	http.Redirect(w, r, next, http.StatusSeeOther)
	return nil
}

// showRefusal says on the sign-in page why the provider's user is not let in.
func (s *SignIn) showRefusal(w http.ResponseWriter, r *http.Request, next string, err error) error {
	switch beeos.CodeOf(err) {
	case beeos.Forbidden, beeos.LoginRejected, beeos.Unauthorized, beeos.InvalidToken, beeos.InvalidParam, beeos.RateLimited:
		s.Log.InfoContext(r.Context(), "a sign-in through the provider was refused", "err", err)
		return s.showFormWith(w, r, http.StatusForbidden, formData{Next: next}, page.Sentence(beeos.Public(err).Message))
	}
	return err
}
