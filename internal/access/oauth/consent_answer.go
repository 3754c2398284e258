package oauth

import (
	"context"
	"crypto/subtle"
	"net/http"
	"net/url"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/store/audit"
	"github.com/beeos/beeos/internal/store/grants"
)

const codePrefix = "mcp_code_"

// returnFromConsole receives the browser with the ticket that the console gave
// it, and sends it to the client. A ticket that another browser brings than the
// one that began is used up and good for nothing: somebody was talked into
// consenting to another person's request.
func (s *Server) returnFromConsole(_ http.ResponseWriter, r *http.Request) (location string, err error) {
	q, err := authorizeQuery(r.URL.RawQuery)
	if err != nil {
		return "", err
	}
	t, err := s.opt.Grants.TakeFlow(r.Context(), q.Get("tx"), auth.Hash(q.Get("_bt")), s.opt.Now())
	if beeos.CodeOf(err) == beeos.NotFound {
		err = beeos.Errorf(beeos.Forbidden, "This request to connect an app is over or too old. Start again in the app.")
	}
	if err != nil {
		return "", err
	}
	if binder := readBinder(r); binder == "" || subtle.ConstantTimeCompare(auth.Hash(binder), t.Binder) != 1 {
		s.Audit(r.Context(), t.UserID, "user:"+t.UserID, audit.GrantRefuse, t.ClientID, map[string]string{"client": t.ClientName, "reason": "another browser began the request"})
		return "", beeos.Errorf(beeos.Forbidden, "Another browser began this request to connect an app, so it ends here. If you did not start it yourself, somebody may have tried to get at your agents; they did not.")
	}
	if !t.Allowed {
		return s.errorURL(t.RedirectURI, t.State, refusal("access_denied", "the person said no")), nil
	}
	code, err := s.grantAccess(r.Context(), t)
	return s.answerURL(t.RedirectURI, t.State, url.Values{"code": {code}}), err
}

// grantAccess writes what a consent was about, and returns the code for it.
func (s *Server) grantAccess(ctx context.Context, t grants.Flow) (string, error) {
	at, code := s.opt.Now(), beeos.NewSecret(codePrefix)
	shown := shownClient(t.ClientID, t.ClientName, t.RedirectURI)
	id, err := s.opt.Grants.GrantOAuth(ctx, grants.Grant{
		ID: beeos.NewID(), UserID: t.UserID, ClientID: t.ClientID, ClientName: t.ClientName, ClientHost: shown.Host,
		Agents: t.Agents, All: t.All, CreatedAt: at, ExpiresAt: t.Until,
	}, grants.Code{
		Hash: auth.Hash(code), FamilyID: beeos.NewID(), ClientID: t.ClientID, RedirectURI: t.RedirectURI,
		Challenge: t.Challenge, Resource: t.Resource, ExpiresAt: at.Add(codeFor),
	}, at.Add(usedFor))
	if err != nil {
		return "", err
	}
	s.Changed(id)
	s.Audit(ctx, t.UserID, "user:"+t.UserID, audit.GrantAllow, id, map[string]string{"client": t.ClientName, "host": shown.Host})
	return code, nil
}
