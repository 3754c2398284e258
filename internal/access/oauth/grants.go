package oauth

import (
	"context"
	"slices"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/grants"
)

// ListGrants lists what a person has granted, the newest first, also what is
// over.
func (s *Server) ListGrants(ctx context.Context, userID string) ([]grants.Grant, error) {
	if userID == "" { // would be everybody's
		return nil, beeos.Errorf(beeos.NotFound, "there is no such user; check the id")
	}
	return s.opt.Grants.ListGrants(ctx, userID)
}

// NarrowGrant leaves a grant only some of its agents, from the next call on. It
// gives nothing that was not granted before; of all agents, those of the
// person may stay by name.
func (s *Server) NarrowGrant(ctx context.Context, userID, grantID string, agents []string) (grants.Grant, error) {
	own, err := s.grantable(ctx, userID, Choice{Agents: agents}, "")
	if err != nil {
		return grants.Grant{}, err
	}
	g, err := s.opt.Grants.NarrowGrant(ctx, userID, grantID, func(g grants.Grant) ([]string, error) {
		stay := own
		if !g.All {
			stay = slices.DeleteFunc(slices.Clone(own), func(id string) bool { return !slices.Contains(g.Agents, id) })
		}
		if len(stay) == 0 {
			return nil, beeos.Errorf(beeos.InvalidParam, "no agent would be left; revoke the grant instead")
		}
		return stay, nil
	})
	if err != nil {
		return grants.Grant{}, err
	}
	s.Changed(grantID)
	return g, nil
}
