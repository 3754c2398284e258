package a2a

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// audience is where the credentials of this surface have to be good.
var audience = auth.Audience{Surface: auth.A2A}

// access answers who is calling and which agent. The contract lets an agent's
// own keys in, and its owner; X-A2A-Agent-ID and the like are for the agent to
// read and say nothing about who may.
func (g *Gateway) access(r *http.Request, agentID string) (beeos.Caller, *beeos.Agent, error) {
	c, err := g.opt.Auth.Authenticate(r, audience)
	if err != nil {
		return c, nil, err
	}
	if c.IsAgentKey() && c.AgentID != agentID {
		return c, nil, beeos.Errorf(beeos.Unauthorized, "this agent key was issued for another agent")
	}
	a, err := g.agent(r.Context(), agentID)
	if err == nil && !c.MayReach(a) {
		err = unknownAgent()
	}
	if err != nil {
		return c, nil, err
	}
	if own := c.IsPerson() && c.UserID == a.OwnerID; !own && !c.IsAgentKey() {
		return c, nil, beeos.Errorf(beeos.Forbidden, "over A2A an agent answers to its owner and to its own keys (bak_); ask its owner for one")
	}
	return c, a, nil
}

// agent gives one answer for what does not exist and for what is not an id.
func (g *Gateway) agent(ctx context.Context, id string) (*beeos.Agent, error) {
	a, err := g.opt.Calls.Agent(ctx, id)
	if beeos.CodeOf(err) == beeos.AgentNotFound {
		err = unknownAgent()
	}
	return a, err
}

// unknownAgent does not repeat the id: what does not exist and what is not the
// caller's must not differ by a byte.
func unknownAgent() error {
	return beeos.Errorf(beeos.AgentNotFound, "there is no such agent that this credential reaches; check its id")
}

// foreignOrigin tells the pages of others: a browser says where a request
// comes from, a program does not.
func foreignOrigin(r *http.Request, public string) bool {
	for _, origin := range r.Header["Origin"] {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" {
			return true
		}
		own, _ := url.Parse(public) //nolint:errcheck // then it is nobody's
		if !strings.EqualFold(u.Host, r.Host) && (own == nil || !strings.EqualFold(u.Host, own.Host)) {
			return true
		}
	}
	return false
}

// challenge tells a client that it needs a credential.
func challenge(w http.ResponseWriter, err error) {
	if httpd.Status(beeos.CodeOf(err)) == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="A2A"`)
	}
}
