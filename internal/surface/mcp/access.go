package mcp

import (
	"net/http"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/surface/mcp/catalog"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// authorize answers who is calling and which agent; none is all of them. An
// agent that is not there and one that this caller may not see are the same
// error.
func (s *Surface) authorize(r *http.Request, agentID string) (beeos.Caller, *catalog.Server, error) {
	caller, err := s.opt.Auth.Authenticate(r, s.audience(agentID))
	if err != nil {
		return caller, nil, err
	}
	if agentID == "" {
		e, err := s.catalog.Union(r.Context(), caller)
		return caller, e, err
	}
	if caller.IsAgentKey() && caller.AgentID != agentID {
		return caller, nil, beeos.Errorf(beeos.Unauthorized, "this agent key was issued for another agent")
	}
	e, err := s.catalog.Agent(r.Context(), agentID)
	if err != nil && beeos.CodeOf(err) != beeos.AgentNotFound {
		return caller, nil, err
	}
	if err == nil && !caller.MayReach(e.Agent) && caller.IsApp() && caller.UserID == e.Agent.OwnerID {
		return caller, nil, notGranted()
	}
	if err != nil || !caller.MayReach(e.Agent) {
		return caller, nil, beeos.Errorf(beeos.AgentNotFound, "no agent %s is known to this credential", agentID)
	}
	if !e.Agent.MCPEnabled {
		return caller, nil, beeos.Errorf(beeos.Unauthorized, "MCP is off for this agent: its owner can turn it on (mcp_enabled)")
	}
	return caller, e, nil
}

// audience is an agent's endpoint, or that for all.
func (s *Surface) audience(agentID string) auth.Audience {
	if agentID == "" {
		return auth.Audience{Surface: auth.MCP, Resource: s.opt.PublicURL + "/mcp"}
	}
	return auth.Audience{Surface: auth.MCP, Resource: s.opt.PublicURL + "/" + agentID + "/mcp"}
}

// notGranted is for an app that its person has let at other agents: it may ask
// for this one, too.
func notGranted() error {
	return wire.WithStatus(http.StatusForbidden, beeos.Errorf(beeos.Forbidden, "this agent is not among those that this app was granted; authorize again and pick it"))
}

// refuse answers a request that never became a JSON-RPC message of a known
// caller. The answer is JSON-RPC all the same, with the id that the client waits
// for, if it can be read.
func (x *request) refuse(err error) {
	f := wire.FaultOf(err)
	if f.Status == http.StatusUnauthorized || f.Status == http.StatusForbidden {
		x.w.Header()["Www-Authenticate"] = []string{x.surface.challenge(x.HTTP, x.EndpointAgent, f.Err)}
	}
	x.Out.SendError(x.HTTP, x.refusedID(), wire.Unversioned, err)
}

// refusedID is the id of the request that is refused, or nil.
func (x *request) refusedID() []byte {
	body := x.body
	if body == nil {
		body = httpd.ReadRefused(x.w, x.HTTP)
	}
	if m, err := wire.ParseMessage(body); err == nil && !m.IsResponse() {
		return m.ID
	}
	return nil
}

// challenge tells clients where to learn how to get a credential.
func (s *Surface) challenge(r *http.Request, agentID string, err error) string {
	if s.opt.OAuth == nil {
		return `Bearer realm="MCP"`
	}
	return s.opt.OAuth.Challenge(r, agentID, err)
}
