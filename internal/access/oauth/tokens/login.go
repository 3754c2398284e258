package tokens

import (
	"context"
	"errors"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/access/oauth/protocol"
	"github.com/beeos/beeos/internal/store/grants"
)

// Pair is what a person logs in to the REST surface for.
type Pair struct {
	Access    string
	Refresh   string
	ExpiresIn time.Duration // of Access
}

// LogIn gives a person who has just signed in tokens for the REST surface.
func (m *Minter) LogIn(ctx context.Context, u beeos.User) (Pair, error) {
	now, secret := m.Now(), newRefreshSecret()
	f := grants.Family{ID: beeos.NewID(), UserID: u.ID, Resource: restAudience, Token: auth.Hash(secret), Generation: 1, RotatedAt: now, ExpiresAt: now.Add(refreshFor)}
	if err := m.Grants.CreateFamily(ctx, f); err != nil {
		return Pair{}, err
	}
	return m.userTokens(f, secret)
}

// Refresh gives the next tokens for a refresh token of LogIn.
func (m *Minter) Refresh(ctx context.Context, refreshToken string) (Pair, error) {
	family, secret, ok := parseRefresh(refreshToken)
	if !ok {
		return Pair{}, auth.ErrUnknownKind()
	}
	f, _, next, err := m.rotate(ctx, family, secret, func(f grants.Family, _ grants.Grant) error {
		if f.GrantID != "" {
			return badRefresh()
		}
		return nil
	})
	var refused *protocol.Error
	if errors.As(err, &refused) {
		return Pair{}, auth.ErrUnknownKind()
	}
	if err != nil {
		return Pair{}, err
	}
	return m.userTokens(f, next)
}

func (m *Minter) userTokens(f grants.Family, secret string) (Pair, error) {
	now := m.Now()
	access, err := m.keys.sign(typeUser, claims{
		Issuer: m.Issuer, Subject: f.UserID, Audience: restAudience,
		IssuedAt: now.Unix(), Expires: now.Add(accessFor).Unix(), ID: beeos.NewID(), Family: f.ID,
	})
	if err != nil {
		return Pair{}, err
	}
	return Pair{Access: access, Refresh: refreshToken(f.ID, secret), ExpiresIn: accessFor}, nil
}

// EndUser ends every log-in of a person, as signing out everywhere does. What
// was granted to apps stays.
func (m *Minter) EndUser(ctx context.Context, userID string) error {
	if err := m.Grants.EndFamiliesOf(ctx, userID); err != nil {
		return err
	}
	m.Changed("user", userID)
	return nil
}
