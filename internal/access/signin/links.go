package signin

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/store/audit"
	"github.com/beeos/beeos/internal/store/people"
)

// How long a link waits to be used.
const (
	setupFor   = 30 * time.Minute
	inviteFor  = 7 * 24 * time.Hour
	resetFor   = time.Hour
	linkPrefix = "bol_"
)

// CreateSetupLink returns the token of a link that makes its user the first
// admin; "" when somebody can sign in already. It replaces the one before.
// claim is the user to take over, or "".
func (p *People) CreateSetupLink(ctx context.Context, claim string) (token string, err error) {
	if taken, err := p.Table.AnyoneCanSignIn(ctx); err != nil || taken {
		return "", err
	}
	return p.createLink(ctx, people.Link{ID: beeos.NewID(), Kind: people.SetupLink, UserID: claim, Admin: true, MadeBy: "operator"}, setupFor)
}

// Invite returns the token of a link that makes the owner of an address a
// user, and the link. It replaces an earlier invitation of that address.
func (p *People) Invite(ctx context.Context, email string, admin bool, madeBy string) (token string, l people.Link, err error) {
	if err := CheckEmail(email); err != nil {
		return "", l, err
	}
	email = strings.ToLower(strings.TrimSpace(email))
	switch _, err := p.Table.GetUserByEmail(ctx, email); {
	case err == nil:
		return "", l, beeos.Errorf(beeos.Conflict, "%s is a user already; make a link to set a new password instead", email)
	case beeos.CodeOf(err) != beeos.NotFound:
		return "", l, err
	}
	l = people.Link{ID: beeos.NewID(), Kind: people.InviteLink, Email: email, Admin: admin, MadeBy: madeBy}
	token, err = p.createLink(ctx, l, inviteFor)
	return token, l, err
}

// ListInvitations returns the invitations that nobody has taken up.
func (p *People) ListInvitations(ctx context.Context) ([]people.Link, error) {
	return p.Table.Invitations(ctx, p.now())
}

// CreateResetLink returns the token of a link with which a person sets a new
// password.
func (p *People) CreateResetLink(ctx context.Context, userID, madeBy string) (token string, err error) {
	u, err := p.Table.GetUser(ctx, userID)
	if err != nil {
		return "", err
	}
	if !u.DisabledAt.IsZero() {
		return "", beeos.Errorf(beeos.Conflict, "%s is disabled; enable the account first", u.Email)
	}
	l := people.Link{ID: beeos.NewID(), Kind: people.ResetLink, UserID: u.ID, Email: u.Email, Admin: u.Admin, MadeBy: madeBy}
	return p.createLink(ctx, l, resetFor)
}

func (p *People) createLink(ctx context.Context, l people.Link, lasts time.Duration) (string, error) {
	token := beeos.NewSecret(linkPrefix)
	l.CreatedAt = p.now()
	l.ExpiresAt = l.CreatedAt.Add(lasts)
	return token, p.Table.CreateLink(ctx, l, auth.Hash(token))
}

// FindLink returns what a link is for; NotFound when it was used or is too old.
func (p *People) FindLink(ctx context.Context, token string) (people.Link, error) {
	l, err := p.Table.LinkByHash(ctx, auth.Hash(token), p.now())
	p.NoteRefusal("link", err)
	return l, err
}

// AcceptLink uses a link up, exactly once: the person it makes, or whose
// password it changes, comes back. An invitation and a reset bring their own
// address.
func (p *People) AcceptLink(ctx context.Context, token, name, email, password string) (beeos.User, error) {
	l, err := p.FindLink(ctx, token)
	if err != nil {
		return beeos.User{}, err
	}
	if l.Kind != people.SetupLink {
		email = l.Email
	} else if err := CheckEmail(email); err != nil {
		return beeos.User{}, err
	}
	if err := CheckNewPassword(email, password); err != nil {
		return beeos.User{}, err
	}
	hash, err := HashPassword(ctx, password)
	if err != nil {
		return beeos.User{}, err
	}
	who := beeos.User{ID: beeos.NewID(), Name: cmp.Or(strings.TrimSpace(name), strings.TrimSpace(email)), Email: email, PasswordHash: hash}
	u, l, err := p.Table.AcceptLink(ctx, auth.Hash(token), who, p.now())
	if err != nil {
		p.NoteRefusal("link", err)
		return beeos.User{}, err
	}
	if err := p.signOut(ctx, u.ID); err != nil {
		return beeos.User{}, err
	}
	if err := p.Table.ForgetFailures(ctx, accountHash(u.Email)); err != nil {
		return beeos.User{}, err
	}
	action := audit.UserAccept
	if l.Kind == people.ResetLink {
		action = audit.UserPassword
	}
	p.audit(ctx, u.ID, action, map[string]string{"link": string(l.Kind)})
	return u, nil
}
