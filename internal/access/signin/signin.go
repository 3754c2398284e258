package signin

import (
	"cmp"
	"context"
	"math/bits"
	"strconv"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/audit"
)

// SignIn returns whose address and password these are. An unknown account, a
// disabled one and a wrong password get one and the same answer, after the
// same work. Too many failures of the account or from the address are
// RateLimited for a while.
func (p *People) SignIn(ctx context.Context, email, password, from string) (u beeos.User, err error) {
	defer func() { p.NoteRefusal("password", err) }()
	try := newAttempt(email, from)
	if err := p.Table.CountAttempt(ctx, try, p.now()); err != nil {
		return beeos.User{}, err
	}
	u, err = p.Table.GetUserByEmail(ctx, email)
	if err != nil && beeos.CodeOf(err) != beeos.NotFound {
		return beeos.User{}, err
	}
	ok, err := p.checkPassword(ctx, u, password)
	if err != nil {
		return beeos.User{}, err
	}
	if !ok || !u.DisabledAt.IsZero() {
		p.auditFailure(ctx, u, try.account(), from)
		return beeos.User{}, beeos.Errorf(beeos.LoginRejected, "e-mail address and password do not fit; check both, or ask an admin for a link to set a new password")
	}
	if err := p.forgiveAttempt(ctx, try); err != nil {
		return beeos.User{}, err
	}
	p.audit(ctx, u.ID, audit.UserSignIn, map[string]string{"from": from, "method": "password"})
	return u, nil
}

// checkPassword checks a password that nobody may use to keep the machine busy.
func (p *People) checkPassword(ctx context.Context, u beeos.User, password string) (bool, error) {
	hash := u.PasswordHash
	if len(password) > mostPassword {
		hash, password = "", ""
	}
	return CheckPassword(ctx, hash, password)
}

// auditFailure writes the 1st, 2nd, 4th, 8th ... failure in a row: who tries
// a thousand times must not fill the trail. What was typed as an address that
// nobody has is not kept, since it may be a password.
func (p *People) auditFailure(ctx context.Context, u beeos.User, failures int, from string) {
	if bits.OnesCount(uint(failures)) != 1 {
		return
	}
	p.record(ctx, audit.Row{
		OwnerID: u.ID, Actor: "anyone", Action: audit.UserSignInFailed, Subject: cmp.Or(u.ID, "unknown account"),
		Detail: map[string]string{"from": from, "failures": strconv.Itoa(failures)},
	})
}

// ChangePassword gives a person who knows the old password a new one. All
// sessions end, the one in use too: begin a new one for this browser.
func (p *People) ChangePassword(ctx context.Context, u beeos.User, old, password string) error {
	if err := CheckNewPassword(u.Email, password); err != nil {
		return err
	}
	u, err := p.Table.GetUser(ctx, u.ID)
	if err != nil {
		return err
	}
	try := newAttempt(u.Email, "")
	if err := p.Table.CountAttempt(ctx, try, p.now()); err != nil {
		return err
	}
	ok, err := p.checkPassword(ctx, u, old)
	if err != nil {
		return err
	}
	if !ok {
		return beeos.Errorf(beeos.LoginRejected, "the old password is another one; check it, or ask an admin for a link to set a new password")
	}
	hash, err := HashPassword(ctx, password)
	if err != nil {
		return err
	}
	if err := p.Table.ChangePassword(ctx, u.ID, hash); err != nil {
		return err
	}
	if err := p.signOut(ctx, u.ID); err != nil {
		return err
	}
	if err := p.forgiveAttempt(ctx, try); err != nil {
		return err
	}
	p.audit(ctx, u.ID, audit.UserPassword, nil)
	return nil
}
