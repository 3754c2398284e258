package a2a

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
)

// audience is where the credentials of this surface have to be good.
var audience = auth.Audience{Surface: auth.A2A}

// authorize finds out who is calling and which agent. The contract lets an
// agent's own keys in, and its owner; X-A2A-Agent-ID and the like are for the
// agent to read and say nothing about who may.
func (o *operation) authorize(agentID string) error {
	c, err := o.surface.opt.Auth.Authenticate(o.r, audience)
	if err != nil {
		return err
	}
	if c.IsAgentKey() && c.AgentID != agentID {
		return beeos.Errorf(beeos.Unauthorized, "this agent key was issued for another agent")
	}
	a, err := o.surface.findAgent(o.r.Context(), agentID)
	switch {
	case err != nil:
		return err
	case !c.MayReach(a):
		return unknownAgent()
	case !c.IsAgentKey() && !(c.IsPerson() && c.UserID == a.OwnerID):
		return beeos.Errorf(beeos.Forbidden, "over A2A an agent answers to its owner and to its own keys (bak_); ask its owner for one")
	}
	o.caller, o.agent = c, a
	return nil
}

// openStream makes the answer a stream, which ends when its credential does.
func (o *operation) openStream() *auth.Stream {
	o.open, o.r = o.surface.opt.Auth.OpenStream(o.r, audience, o.caller, o.agent)
	return o.open
}

// findAgent gives one answer for what does not exist and for what is not an id.
func (s *Surface) findAgent(ctx context.Context, id string) (*beeos.Agent, error) {
	a, err := s.opt.Calls.Agent(ctx, id)
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
