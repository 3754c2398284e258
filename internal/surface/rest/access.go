package rest

import (
	"context"
	"net/http"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// action is one route for a caller who has proved who it is. The error it
// returns is written by guard, unless the answer has already begun.
type action func(w http.ResponseWriter, r *http.Request, c beeos.Caller) error

// audience is where the credentials of this surface have to be good.
var audience = auth.Audience{Surface: auth.REST}

// permission says which credentials a route takes.
type permission int

const (
	usersOnly permission = iota // a person's own key or token
	anyKey                      // also the key of one agent
	public                      // nobody has a credential yet
)

// guard checks the credential before anything of the request is looked at.
func (s *Surface) guard(may permission, do action) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r, c, err := s.admit(r, may)
		if err == nil {
			err = do(w, r, c)
		}
		if err != nil {
			s.refuse(w, r, err)
		}
	})
}

// admit returns the request with its caller, whose name is then in every line
// that is logged about it.
func (s *Surface) admit(r *http.Request, may permission) (_ *http.Request, c beeos.Caller, err error) {
	if may != public {
		if c, err = s.Auth.Authenticate(r, audience); err == nil {
			err = may.admits(c)
		}
	}
	if err != nil {
		return r, c, err
	}
	return r.WithContext(httpd.With(r.Context(), "caller", c.Principal())), c, nil
}

// admits refuses callers of a kind that a route does not take.
func (may permission) admits(c beeos.Caller) error {
	switch {
	case c.IsPerson(), c.IsAgentKey() && may == anyKey:
		return nil
	case c.IsAgentKey():
		return beeos.Errorf(beeos.Unauthorized, "an agent key (bak_) only invokes its own agent; use a user key (oag_) here")
	}
	return beeos.Errorf(beeos.Unauthorized, "this kind of credential is not good here; use a user key (oag_)")
}

func (s *Surface) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if httpd.Status(beeos.CodeOf(err)) == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="BeeOS"`)
	}
	httpd.WriteError(w, r, err)
}

// reachable returns the agent of the path if the caller may call it, as it was
// a moment ago.
func (s *Surface) reachable(r *http.Request, c beeos.Caller) (*beeos.Agent, error) {
	id := r.PathValue("agentId")
	a, err := s.Calls.Agent(r.Context(), id)
	return within(id, a, err, c)
}

// agentFor returns an agent as it is now.
func (s *Surface) agentFor(ctx context.Context, id string, c beeos.Caller) (*beeos.Agent, error) {
	a, err := s.DB.Agents.Get(ctx, id)
	return within(id, a, err, c)
}

// within gives one answer for what does not exist and for what is out of
// the caller's reach, so that nobody can tell them apart.
func within(id string, a *beeos.Agent, err error, c beeos.Caller) (*beeos.Agent, error) {
	if err != nil && beeos.CodeOf(err) != beeos.AgentNotFound {
		return nil, err
	}
	if err != nil || !c.MayReach(a) {
		return nil, beeos.Errorf(beeos.AgentNotFound, "you have no agent %q; GET /api/v1/agents lists those you have", id)
	}
	return a, nil
}

// owned returns the agent of the path if it is the caller's own.
func (s *Surface) owned(r *http.Request, c beeos.Caller) (*beeos.Agent, error) {
	return s.Acts.OwnAgent(r.Context(), c, r.PathValue("agentId"))
}
