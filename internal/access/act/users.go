package act

import (
	"context"
	"strconv"
	"strings"

	"github.com/beeos/beeos"
)

// CreateUser makes an account with nothing but keys, for somebody who has no
// way to ask for one; the first is an admin. An operator alone does this.
func (a *Acts) CreateUser(ctx context.Context, c beeos.Caller, id, email string) (beeos.User, error) {
	if c.Kind != beeos.ByOperator {
		return beeos.User{}, beeos.Errorf(beeos.Forbidden, "accounts are made by invitation; ask an admin for one")
	}
	everybody, err := a.DB.Users(ctx)
	if err != nil {
		return beeos.User{}, err
	}
	u := beeos.User{ID: id, Email: email, Name: email, Admin: len(everybody) == 0, CreatedAt: a.Now()}
	if err := a.DB.CreateUser(ctx, u); err != nil {
		return u, err
	}
	a.record(ctx, c, u.ID, UserCreate, u.ID, map[string]string{"email": email, "admin": strconv.FormatBool(u.Admin)})
	return u, nil
}

// InviteUser returns the token of a link that makes the owner of an address a
// user. It replaces an earlier invitation of that address.
func (a *Acts) InviteUser(ctx context.Context, c beeos.Caller, email string, admin bool) (token string, err error) {
	if err := a.requireAdmin(ctx, c); err != nil {
		return "", err
	}
	token, l, err := a.People.Invite(ctx, email, admin, actorOf(c))
	if err != nil {
		return "", err
	}
	a.record(ctx, c, c.UserID, UserInvite, l.ID, map[string]string{"email": l.Email, "admin": strconv.FormatBool(admin)})
	return token, nil
}

// WithdrawInvitation takes an invitation back.
func (a *Acts) WithdrawInvitation(ctx context.Context, c beeos.Caller, id string) error {
	if err := a.requireAdmin(ctx, c); err != nil {
		return err
	}
	if err := a.DB.DropInvitation(ctx, id); err != nil {
		return err
	}
	a.record(ctx, c, c.UserID, UserWithdraw, id, nil)
	return nil
}

// ResetPassword returns the token of a link with which a person sets a new
// password.
func (a *Acts) ResetPassword(ctx context.Context, c beeos.Caller, userID string) (token string, err error) {
	if err := a.requireAdmin(ctx, c); err != nil {
		return "", err
	}
	if token, err = a.People.Reset(ctx, userID, actorOf(c)); err != nil {
		return "", err
	}
	a.record(ctx, c, userID, UserResetLink, userID, nil)
	return token, nil
}

// SetDisabled locks a person out, with all sessions, keys and instances, or
// lets them in again.
func (a *Acts) SetDisabled(ctx context.Context, c beeos.Caller, userID string, off bool) error {
	if err := a.requireAdmin(ctx, c); err != nil {
		return err
	}
	if err := a.People.SetDisabled(ctx, userID, off); err != nil {
		return err
	}
	action := UserEnable
	if off {
		action = UserDisable
	}
	a.record(ctx, c, userID, action, userID, nil)
	return nil
}

// SetAdmin makes a person an admin, or no longer one.
func (a *Acts) SetAdmin(ctx context.Context, c beeos.Caller, userID string, admin bool) error {
	if err := a.requireAdmin(ctx, c); err != nil {
		return err
	}
	if err := a.People.SetAdmin(ctx, userID, admin); err != nil {
		return err
	}
	a.record(ctx, c, userID, UserAdmin, userID, map[string]string{"admin": strconv.FormatBool(admin)})
	return nil
}

// SignOutEverywhere ends all sessions of a person: the caller's own, or as an
// admin somebody else's.
func (a *Acts) SignOutEverywhere(ctx context.Context, c beeos.Caller, userID string) error {
	if err := RequirePerson(c); err != nil {
		return err
	}
	if c.UserID != userID {
		if err := a.requireAdmin(ctx, c); err != nil {
			return err
		}
	}
	if err := a.People.EndAll(ctx, userID); err != nil {
		return err
	}
	a.record(ctx, c, userID, UserSignOut, userID, nil)
	return nil
}

// RenameUser changes the name by which others see the caller; empty is the
// address.
func (a *Acts) RenameUser(ctx context.Context, c beeos.Caller, name string) error {
	if err := RequirePerson(c); err != nil {
		return err
	}
	name = strings.TrimSpace(name)
	if err := a.People.Rename(ctx, c.UserID, name); err != nil {
		return err
	}
	a.record(ctx, c, c.UserID, UserRename, c.UserID, map[string]string{"name": name})
	return nil
}
