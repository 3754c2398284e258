package tokens

import (
	"context"
	"errors"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/access/oauth/protocol"
	"github.com/beeos/beeos/internal/store/grants"
)

// IssueUserTokens gives a person who has just signed in tokens for the REST
// surface.
func (m *Minter) IssueUserTokens(ctx context.Context, u beeos.User) (Pair, error) {
	now, secret := m.Now(), newRefreshSecret()
	f := grants.Family{ID: beeos.NewID(), UserID: u.ID, Resource: restAudience, Token: auth.Hash(secret), Generation: 1, RotatedAt: now, ExpiresAt: now.Add(refreshFor)}
	if err := m.Grants.CreateFamily(ctx, f); err != nil {
		return Pair{}, err
	}
	return m.mint(f, grants.Grant{}, secret)
}

// RefreshUserTokens gives the next tokens for a refresh token of a
// person's own.
func (m *Minter) RefreshUserTokens(ctx context.Context, refreshToken string) (Pair, error) {
	family, secret, ok := parseRefresh(refreshToken)
	if !ok {
		return Pair{}, auth.RefuseCredential()
	}
	f, _, next, err := m.rotate(ctx, family, secret, func(f grants.Family, _ grants.Grant) error {
		if f.GrantID != "" {
			return badRefresh()
		}
		return nil
	})
	if _, refused := errors.AsType[*protocol.Error](err); refused {
		err = auth.RefuseCredential()
	}
	if err != nil {
		return Pair{}, err
	}
	return m.mint(f, grants.Grant{}, next)
}

// EndUserTokens ends all of a person's own tokens, as signing out everywhere
// does. What was granted to apps stays.
func (m *Minter) EndUserTokens(ctx context.Context, userID string) error {
	if err := m.Grants.EndFamiliesOf(ctx, userID); err != nil {
		return err
	}
	m.Changed(userID)
	return nil
}
