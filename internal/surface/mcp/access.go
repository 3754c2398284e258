package mcp

import (
	"context"
	"net/http"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// access answers who is calling and which agent; none is all of them. An agent that is not there
// and one that this caller may not see are the same error.
func (g *Gateway) access(r *http.Request, agentID string) (beeos.Caller, *entry, error) {
	caller, err := g.opt.Auth.Authenticate(r, g.audience(agentID))
	if err != nil {
		return caller, nil, err
	}
	if agentID == "" {
		e, err := g.union(r.Context(), caller)
		return caller, e, err
	}
	if caller.IsAgentKey() && caller.AgentID != agentID {
		return caller, nil, beeos.Errorf(beeos.Unauthorized, "this agent key was issued for another agent")
	}
	e, err := g.catalog.agent(r.Context(), agentID)
	if err != nil && beeos.CodeOf(err) != beeos.AgentNotFound {
		return caller, nil, err
	}
	if err == nil && !caller.MayReach(e.agent) && caller.IsApp() && caller.UserID == e.agent.OwnerID {
		return caller, nil, notGranted()
	}
	if err != nil || !caller.MayReach(e.agent) {
		return caller, nil, beeos.Errorf(beeos.AgentNotFound, "no agent %s is known to this credential", agentID)
	}
	if !e.agent.MCPEnabled {
		return caller, nil, beeos.Errorf(beeos.Unauthorized, "MCP is off for this agent: its owner can turn it on (mcp_enabled)")
	}
	return caller, e, nil
}

// audience is an agent's endpoint, or that for all.
func (g *Gateway) audience(agentID string) auth.Audience {
	if agentID == "" {
		return auth.Audience{Surface: auth.MCP, Resource: g.opt.PublicURL + "/mcp"}
	}
	return auth.Audience{Surface: auth.MCP, Resource: g.opt.PublicURL + "/" + agentID + "/mcp"}
}

// notGranted is for an app that its person has let at other agents: it may ask
// for this one, too.
func notGranted() error {
	return &fault{
		err:    beeos.Errorf(beeos.Forbidden, "this agent is not among those that this app was granted; authorize again and pick it"),
		number: numbers[beeos.Forbidden],
		status: http.StatusForbidden,
	}
}

// reach returns an agent that the caller may call at this endpoint.
func (x *exchange) reach(ctx context.Context, agentID string) (*beeos.Agent, error) {
	if x.home == agentID {
		return x.agent, nil
	}
	e, err := x.g.catalog.agent(ctx, agentID)
	if err == nil && (x.home != "" || !x.caller.MayReach(e.agent) || !e.agent.MCPEnabled) {
		err = beeos.Errorf(beeos.AgentNotFound, "no agent %s is known to this credential", agentID)
	}
	if err != nil {
		return nil, err
	}
	return e.agent, nil
}

// responder is newResponder with the limits of the gateway.
func (g *Gateway) responder(w http.ResponseWriter, r *http.Request) *responder {
	o := newResponder(w, r)
	o.within = g.opt.WriteWithin
	return o
}

// refuse answers a request that never became a JSON-RPC message of a known
// caller. The answer has no id, but is JSON-RPC all the same.
func (g *Gateway) refuse(w http.ResponseWriter, r *http.Request, agentID string, err error) {
	f := faultOf(err)
	if f.status == http.StatusUnauthorized || f.status == http.StatusForbidden {
		w.Header()["Www-Authenticate"] = []string{g.challenge(agentID, f.err)}
	}
	newResponder(w, r).fail(r, nil, bare, err)
}

// challenge tells clients where to learn how to get a credential.
func (g *Gateway) challenge(agentID string, err error) string {
	if g.opt.OAuth == nil {
		return `Bearer realm="MCP"`
	}
	return g.opt.OAuth.Challenge(agentID, err)
}

// delete ends a session, at every replica.
func (g *Gateway) delete(w http.ResponseWriter, r *http.Request, agentID string) {
	caller, _, err := g.access(r, agentID)
	var s *session
	if err == nil {
		s, err = g.session(agentID, caller.Principal(), r.Header.Get(headerSession))
	}
	if err == nil {
		err = g.endSession(r.Context(), s, s.expires())
	}
	if err != nil {
		g.refuse(w, r, agentID, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// fail sends an error as the answer to id. A fault of ours goes to the log
// with its cause, and never further.
func (o *responder) fail(r *http.Request, id []byte, v version, err error) {
	f := faultOf(err)
	status := f.statusFor(v)
	if f.ours() {
		httpd.Report(r, err)
	}
	if status == http.StatusTooManyRequests {
		httpd.SetRetryAfter(o.w, f.err)
	}
	o.send(status, nil, f.append(nil, id, v), nil)
}
