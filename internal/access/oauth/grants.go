package oauth

import (
	"context"
	"slices"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
)

// Grant is what a person allowed a client, for that person to see.
type Grant struct {
	ID         string
	UserID     string
	ClientID   string
	ClientName string
	ClientHost string
	Agents     []string
	All        bool
	Created    time.Time
	Expires    time.Time // zero = until revoked
	LastUsed   time.Time
	Revoked    time.Time
}

// Grants lists what a person has granted, the newest first, also what is over.
func (s *Server) Grants(ctx context.Context, userID string) ([]Grant, error) {
	if userID == "" {
		return nil, beeos.Errorf(beeos.NotFound, "there is no such user; check the id")
	}
	return s.grants(ctx, userID)
}

// AllGrants lists everybody's.
func (s *Server) AllGrants(ctx context.Context) ([]Grant, error) { return s.grants(ctx, "") }

func (s *Server) grants(ctx context.Context, userID string) ([]Grant, error) {
	rows, err := s.db.OAuthGrants(ctx, userID)
	if err != nil {
		return nil, err
	}
	list := make([]Grant, len(rows))
	for i, g := range rows {
		list[i] = Grant{
			ID: g.ID, UserID: g.UserID, ClientID: g.ClientID, ClientName: g.ClientName, ClientHost: g.ClientHost,
			Agents: g.Agents, All: g.All, Created: g.CreatedAt, Expires: g.ExpiresAt, LastUsed: g.UsedAt, Revoked: g.RevokedAt,
		}
	}
	return list, nil
}

// Narrow leaves a grant only some of its agents, from the next call on. It
// gives nothing that was not granted before; of all agents, those of the
// person may stay by name.
func (s *Server) Narrow(ctx context.Context, userID, grantID string, agents []string) error {
	own, err := s.grantable(ctx, userID, Choice{Agents: agents}, "")
	if err != nil {
		return err
	}
	_, err = s.db.NarrowOAuthGrant(ctx, userID, grantID, func(g store.OAuthGrant) ([]string, error) {
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
		return err
	}
	s.Changed("grant", grantID)
	s.Audit(ctx, userID, "user:"+userID, "grant.narrow", "grant:"+grantID, nil)
	return nil
}

// Revoke ends a grant with all its tokens, from the next call on.
func (s *Server) Revoke(ctx context.Context, userID, grantID string) error {
	g, err := s.db.RevokeOAuthGrant(ctx, userID, grantID, s.opt.Now())
	if err != nil {
		return err
	}
	s.Changed("grant", grantID)
	s.Audit(ctx, userID, "user:"+userID, "grant.revoke", "grant:"+grantID, map[string]string{"client": g.ClientName})
	return nil
}
