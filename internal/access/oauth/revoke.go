package oauth

import (
	"context"
	"net/http"

	"github.com/beeos/beeos"
)

// revoke ends the chain that a token belongs to (RFC 7009). The answer does
// not tell whether there was one.
func (s *Server) revoke(w http.ResponseWriter, r *http.Request) {
	form, err := readForm(w, r)
	if err == nil && form.Get("token") == "" {
		err = refusal("invalid_request", "token is missing")
	}
	if err == nil {
		err = s.end(r.Context(), form.Get("token"), form.Get("client_id"))
	}
	if err != nil {
		failWith(w, r, err)
		return
	}
	send(w, http.StatusOK, struct{}{})
}

func (s *Server) end(ctx context.Context, token, clientID string) error {
	family, secret, isRefresh := parseRefresh(token)
	if !isRefresh {
		c, err := s.keys.verify(ctx, token, typeAccess, s.issuer)
		if err != nil {
			return nil //nolint:nilerr // whatever it is, it is good for nothing
		}
		family = c.Family
	}
	f, _, err := s.db.OAuthFamily(ctx, family, s.opt.Now())
	if beeos.CodeOf(err) == beeos.NotFound && err != nil {
		return nil
	}
	if err != nil {
		return err
	}
	if f.GrantID == "" || clientID != "" && clientID != f.ClientID || isRefresh && !s.wasGood(f, secret) {
		return nil
	}
	if err := s.db.EndOAuthFamily(ctx, f.ID); err != nil {
		return err
	}
	s.changed("family", f.ID)
	return nil
}
