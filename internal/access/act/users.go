package act

import (
	"context"
	"strconv"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/audit"
)

// CreateUser makes an account with nothing but keys, for somebody who has no
// way to ask for one; the first is an admin. An operator alone does this.
func (a *Acts) CreateUser(ctx context.Context, c beeos.Caller, id, email string) (beeos.User, error) {
	if c.Kind != beeos.ByOperator {
		return beeos.User{}, beeos.Errorf(beeos.Forbidden, "accounts are made by invitation; ask an admin for one")
	}
	everybody, err := a.DB.People.ListUsers(ctx)
	if err != nil {
		return beeos.User{}, err
	}
	u := beeos.User{ID: id, Email: email, Name: email, Admin: len(everybody) == 0, CreatedAt: a.Now()}
	if err := a.DB.People.CreateUser(ctx, u); err != nil {
		return u, err
	}
	a.record(ctx, c, u.ID, audit.UserCreate, u.ID, map[string]string{"email": email, "admin": strconv.FormatBool(u.Admin)})
	return u, nil
}

// InviteUser makes a link that makes the owner of an address a user. It replaces an
// earlier invitation of that address.
func (a *Acts) InviteUser(ctx context.Context, c beeos.Caller, email string, admin bool) (Letter, error) {
	if err := a.requireAdmin(ctx, c); err != nil {
		return Letter{}, err
	}
	token, l, err := a.People.Invite(ctx, email, admin, actorOf(c))
	if err != nil {
		return Letter{}, err
	}
	a.record(ctx, c, c.UserID, audit.UserInvite, l.ID, map[string]string{"email": l.Email, "admin": strconv.FormatBool(admin)})
	return a.mailLink(ctx, l.Email, token, "You are invited to BeeOS", "You are invited to BeeOS. This link makes you an account; it works once, within 7 days:"), nil
}

// WithdrawInvitation takes an invitation back.
func (a *Acts) WithdrawInvitation(ctx context.Context, c beeos.Caller, id string) error {
	if err := a.requireAdmin(ctx, c); err != nil {
		return err
	}
	if err := a.DB.People.DropInvitation(ctx, id); err != nil {
		return err
	}
	a.record(ctx, c, c.UserID, audit.UserWithdraw, id, nil)
	return nil
}

// ResetPassword makes a link with which a person sets a new password.
func (a *Acts) ResetPassword(ctx context.Context, c beeos.Caller, userID string) (Letter, error) {
	var token string
	var u beeos.User
	err := a.manageUser(ctx, c, userID, audit.UserResetLink, nil, func() (err error) {
		if u, err = a.DB.People.GetUser(ctx, userID); err == nil {
			token, err = a.People.CreateResetLink(ctx, userID, actorOf(c))
		}
		return err
	})
	if err != nil {
		return Letter{}, err
	}
	return a.mailLink(ctx, u.Email, token, "Set a new password for BeeOS", "An admin lets you set a new password. This link works once, within an hour:"), nil
}

// SetDisabled locks a person out, with all sessions, keys and instances, or
// lets them in again.
func (a *Acts) SetDisabled(ctx context.Context, c beeos.Caller, userID string, off bool) error {
	action := audit.UserEnable
	if off {
		action = audit.UserDisable
	}
	return a.manageUser(ctx, c, userID, action, nil, func() error { return a.People.SetDisabled(ctx, userID, off) })
}

// SetAdmin makes a person an admin, or no longer one.
func (a *Acts) SetAdmin(ctx context.Context, c beeos.Caller, userID string, admin bool) error {
	detail := map[string]string{"admin": strconv.FormatBool(admin)}
	return a.manageUser(ctx, c, userID, audit.UserAdmin, detail, func() error { return a.People.SetAdmin(ctx, userID, admin) })
}

// SignOutEverywhere ends all sessions of a person: the caller's own, or as an
// admin somebody else's.
func (a *Acts) SignOutEverywhere(ctx context.Context, c beeos.Caller, userID string) error {
	return a.manageUser(ctx, c, userID, audit.UserSignOut, nil, func() error { return a.People.EndSessions(ctx, userID) })
}

// manageUser does something to a person, which is for admins; people sign
// themselves out.
func (a *Acts) manageUser(ctx context.Context, c beeos.Caller, userID string, action string, detail map[string]string, do func() error) error {
	err := RequirePerson(c)
	if err == nil && (action != audit.UserSignOut || c.UserID != userID) {
		err = a.requireAdmin(ctx, c)
	}
	if err == nil {
		err = do()
	}
	if err == nil {
		a.record(ctx, c, userID, action, userID, detail)
	}
	return err
}
