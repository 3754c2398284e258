package web

import (
	"encoding/base64"
	"encoding/json"
	"net/http"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/signin"
)

// oidcTrip is what a browser carries while its user is at the provider.
type oidcTrip struct {
	Pending signin.Pending
	Next    string
}

const oidcSeconds = 10 * 60

// oidcStart sends the browser to the outside provider.
func (s *Site) oidcStart(w http.ResponseWriter, r *http.Request, _ *visit) error {
	if s.OIDC == nil {
		return beeos.Errorf(beeos.NotFound, "no outside provider is set up here; sign in with your password")
	}
	if !s.safe(r) {
		return s.showSignIn(w, r, http.StatusForbidden, signInData{Next: "/"}, "")
	}
	target, pending, err := s.OIDC.Start(r.Context())
	if err != nil {
		return err
	}
	b, err := json.Marshal(oidcTrip{pending, local(r.FormValue("next"))})
	if err != nil {
		return err
	}
	s.setCookie(w, oidcCookie, base64.RawURLEncoding.EncodeToString(b), oidcSeconds)
	http.Redirect(w, r, target, http.StatusSeeOther)
	return nil
}

// oidcReturn takes the browser back from the provider.
func (s *Site) oidcReturn(w http.ResponseWriter, r *http.Request, v *visit) error {
	if s.OIDC == nil {
		return beeos.Errorf(beeos.NotFound, "no outside provider is set up here; sign in with your password")
	}
	var trip oidcTrip
	c, err := r.Cookie(oidcCookie)
	if err == nil {
		var b []byte
		if b, err = base64.RawURLEncoding.DecodeString(c.Value); err == nil {
			err = json.Unmarshal(b, &trip)
		}
	}
	if err != nil {
		return s.showSignIn(w, r, http.StatusForbidden, signInData{Next: "/"}, "This sign-in was begun in another browser, or too long ago. Try again.")
	}
	s.setCookie(w, oidcCookie, "", -1)
	next := local(trip.Next)
	id, err := s.OIDC.Finish(r.Context(), trip.Pending, r.URL.Query())
	if err != nil {
		return s.refuseOIDC(w, r, next, err)
	}
	u, err := s.People.SignInAs(r.Context(), id)
	if err != nil {
		return s.refuseOIDC(w, r, next, err)
	}
	if err := s.enter(w, r, v, u, id.Issuer); err != nil {
		return err
	}
	http.Redirect(w, r, next, http.StatusSeeOther)
	return nil
}

// refuseOIDC says on the sign-in page why it did not work.
func (s *Site) refuseOIDC(w http.ResponseWriter, r *http.Request, next string, err error) error {
	switch beeos.CodeOf(err) {
	case beeos.Forbidden, beeos.LoginRejected, beeos.Unauthorized, beeos.InvalidToken, beeos.InvalidParam, beeos.RateLimited:
		s.Log.InfoContext(r.Context(), "a sign-in through the provider was refused", "err", err)
		return s.showSignIn(w, r, http.StatusForbidden, signInData{Next: next}, sentence(beeos.Public(err).Message))
	}
	return err
}
