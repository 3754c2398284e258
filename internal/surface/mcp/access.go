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
	caller, err := g.caller(r, agentID)
	if err != nil {
		return caller, nil, err
	}
	if agentID == "" {
		e, err := g.catalog.Union(r.Context(), caller)
		return caller, e, err
	}
	if caller.Kind == beeos.ByAgentKey && caller.AgentID != agentID {
		return caller, nil, beeos.Errorf(beeos.Unauthorized, "this agent key was issued for another agent")
	}
	e, err := g.catalog.Agent(r.Context(), agentID)
	if err != nil && beeos.CodeOf(err) != beeos.AgentNotFound {
		return caller, nil, err
	}
	if err == nil && !caller.MayReach(e.Agent) && caller.Kind == beeos.ByOAuth && caller.UserID == e.Agent.OwnerID {
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

// caller answers who is calling: by a key, or by a token for this endpoint.
func (g *Gateway) caller(r *http.Request, agentID string) (beeos.Caller, error) {
	credential, err := auth.Credential(r)
	if err != nil {
		return beeos.Caller{}, err
	}
	if g.opt.OAuth == nil || auth.IsKey(credential) {
		return g.opt.Auth.KeyOf(r, credential)
	}
	return g.opt.OAuth.Check(r.Context(), credential, g.endpoint(agentID))
}

// endpoint is the address of an agent's endpoint, or of that for all.
func (g *Gateway) endpoint(agentID string) string {
	if agentID == "" {
		return g.opt.PublicURL + "/mcp"
	}
	return g.opt.PublicURL + "/" + agentID + "/mcp"
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
