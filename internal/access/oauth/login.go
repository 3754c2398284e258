package oauth

import (
	"context"
	"errors"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
)

// Tokens are what a person logs in to the REST surface for.
type Tokens struct {
	Access    string
	Refresh   string
	ExpiresIn time.Duration // of Access
}

// LogIn gives a person who has just signed in tokens for the REST surface.
func (s *Server) LogIn(ctx context.Context, u beeos.User) (Tokens, error) {
	now, secret := s.opt.Now(), newRefreshSecret()
	f := store.OAuthFamily{ID: beeos.NewID(), UserID: u.ID, Resource: restAudience, Token: hashOf(secret), Generation: 1, RotatedAt: now, ExpiresAt: now.Add(refreshFor)}
	if err := s.db.CreateOAuthFamily(ctx, f); err != nil {
		return Tokens{}, err
	}
	return s.userTokens(f, secret)
}

// Refresh gives the next tokens for a refresh token of LogIn.
func (s *Server) Refresh(ctx context.Context, refreshToken string) (Tokens, error) {
	family, secret, ok := parseRefresh(refreshToken)
	if !ok {
		return Tokens{}, badToken(nil)
	}
	f, _, next, err := s.rotate(ctx, family, secret, func(f store.OAuthFamily, _ store.OAuthGrant) error {
		if f.GrantID != "" {
			return badRefresh()
		}
		return nil
	})
	var refused *oauthError
	if errors.As(err, &refused) {
		return Tokens{}, badToken(nil)
	}
	if err != nil {
		return Tokens{}, err
	}
	return s.userTokens(f, next)
}

func (s *Server) userTokens(f store.OAuthFamily, secret string) (Tokens, error) {
	now := s.opt.Now()
	access, err := s.keys.sign(typeUser, claims{
		Issuer: s.issuer, Subject: f.UserID, Audience: restAudience,
		IssuedAt: now.Unix(), Expires: now.Add(accessFor).Unix(), ID: beeos.NewID(), Family: f.ID,
	})
	if err != nil {
		return Tokens{}, err
	}
	return Tokens{Access: access, Refresh: refreshToken(f.ID, secret), ExpiresIn: accessFor}, nil
}

// EndUser ends every log-in of a person, as signing out everywhere does. What
// was granted to apps stays.
func (s *Server) EndUser(ctx context.Context, userID string) error {
	if err := s.db.EndOwnOAuthFamilies(ctx, userID); err != nil {
		return err
	}
	s.changed("user", userID)
	return nil
}
