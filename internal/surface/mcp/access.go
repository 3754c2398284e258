package mcp

import (
	"net/http"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/surface/mcp/catalog"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
)

// access answers who is calling and which agent; none is all of them. An agent that is not there
// and one that this caller may not see are the same error.
func (g *Gateway) access(r *http.Request, agentID string) (beeos.Caller, *catalog.Server, error) {
	caller, err := g.opt.Auth.Authenticate(r, g.audience(agentID))
	if err != nil {
		return caller, nil, err
	}
	if agentID == "" {
		e, err := g.catalog.Union(r.Context(), caller)
		return caller, e, err
	}
	if caller.IsAgentKey() && caller.AgentID != agentID {
		return caller, nil, beeos.Errorf(beeos.Unauthorized, "this agent key was issued for another agent")
	}
	e, err := g.catalog.Agent(r.Context(), agentID)
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
func (g *Gateway) audience(agentID string) auth.Audience {
	if agentID == "" {
		return auth.Audience{Surface: auth.MCP, Resource: g.opt.PublicURL + "/mcp"}
	}
	return auth.Audience{Surface: auth.MCP, Resource: g.opt.PublicURL + "/" + agentID + "/mcp"}
}

// notGranted is for an app that its person has let at other agents: it may ask
// for this one, too.
func notGranted() error {
	return wire.WithStatus(http.StatusForbidden, beeos.Errorf(beeos.Forbidden, "this agent is not among those that this app was granted; authorize again and pick it"))
}

// refuse answers a request that never became a JSON-RPC message of a known
// caller. The answer has no id, but is JSON-RPC all the same.
func (g *Gateway) refuse(w http.ResponseWriter, r *http.Request, agentID string, err error) {
	f := wire.FaultOf(err)
	if f.Status == http.StatusUnauthorized || f.Status == http.StatusForbidden {
		w.Header()["Www-Authenticate"] = []string{g.challenge(agentID, f.Err)}
	}
	wire.NewResponder(w, r).SendError(r, nil, wire.Unversioned, err)
}

// challenge tells clients where to learn how to get a credential.
func (g *Gateway) challenge(agentID string, err error) string {
	if g.opt.OAuth == nil {
		return `Bearer realm="MCP"`
	}
	return g.opt.OAuth.Challenge(agentID, err)
}
