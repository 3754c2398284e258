// Package route holds what all routes of the REST surface share: which
// credentials they take, how a body, a page and an idempotency key are read,
// and how an answer is written. The routes themselves are in package rest and
// in package calls.
package route

import (
	"net/http"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// Table is a part of the site map: what is done at which method and path.
type Table map[string]Action

// Action does what a route is for and returns its answer: the data of a 200,
// or what one of the functions in answer.go returns. An error goes first.
type Action func(r *Request) (any, error)

// With is an action on the thing that the path names: find returns it if it is
// the caller's to see.
func With[T any](find func(r *Request) (*T, error), do func(r *Request, thing *T) (any, error)) Action {
	return func(r *Request) (any, error) {
		thing, err := find(r)
		if err != nil {
			return nil, err
		}
		return do(r, thing)
	}
}

// Request is an HTTP request whose caller has proved who it is.
type Request struct {
	*http.Request
	Caller beeos.Caller
	w      http.ResponseWriter
}

// Permission says which credentials a route takes.
type Permission int

const (
	UsersOnly Permission = iota // a person's own key or token
	AnyKey                      // also the key of one agent
	Public                      // nobody has a credential yet
)

// Router serves routes.
type Router struct {
	Auth   *auth.Authenticator
	Ledger *ledger.Ledger // remembers idempotency keys
	Now    func() time.Time
}

// Handle adds the routes of a table to mux.
func (rt *Router) Handle(mux *http.ServeMux, accepts Permission, table Table) {
	for pattern, do := range table {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, req *http.Request) {
			r := &Request{Request: req, w: w}
			answer, err := rt.perform(r, accepts, do)
			if err == nil {
				err = writeAnswer(w, answer)
			}
			if err != nil {
				writeError(w, r.Request, err)
			}
		})
	}
}

// perform checks the credential before anything of the request is looked at.
// The caller's name is then in every line that is logged about the request.
func (rt *Router) perform(r *Request, accepts Permission, do Action) (any, error) {
	if accepts != Public {
		var err error
		if r.Caller, err = rt.Auth.Authenticate(r.Request, audience); err != nil {
			return nil, err
		}
		if err := accepts.check(r.Caller); err != nil {
			return nil, err
		}
		r.Request = r.WithContext(httpd.With(r.Context(), "caller", r.Caller.Principal()))
	}
	return do(r)
}

// audience is where the credentials of this surface have to be good.
var audience = auth.Audience{Surface: auth.REST}

// OpenStream makes the answer to a request a stream, which ends when its
// credential does: the request's context is over then. Close it in the end.
func (rt *Router) OpenStream(r *Request) *auth.Stream {
	st, req := rt.Auth.OpenStream(r.Request, audience, r.Caller, nil)
	r.Request = req
	return st
}

// check refuses callers of a kind that a route does not take.
func (p Permission) check(c beeos.Caller) error {
	switch {
	case c.IsPerson(), c.IsAgentKey() && p == AnyKey:
		return nil
	case c.IsAgentKey():
		return beeos.Errorf(beeos.Unauthorized, "an agent key (bak_) only calls its own agent and sees to those calls; use a user key (oag_) here")
	}
	return beeos.Errorf(beeos.Unauthorized, "this kind of credential is not good here; use a user key (oag_)")
}

// ReachableAgent takes what a look-up of an agent returned. It has one answer
// for an agent that does not exist and for one out of the caller's reach, so
// that nobody can tell them apart.
func (r *Request) ReachableAgent(id string, a *beeos.Agent, err error) (*beeos.Agent, error) {
	if err != nil && beeos.CodeOf(err) != beeos.AgentNotFound {
		return nil, err
	}
	if err != nil || !r.Caller.MayReach(a) {
		return nil, beeos.Errorf(beeos.AgentNotFound, "you have no agent %q; GET /api/v1/agents lists those you have", id)
	}
	return a, nil
}
