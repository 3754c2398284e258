// Package signin lets people in. People knows them: it throttles guesses of
// passwords (signin.go, password.go, throttle.go), keeps the sessions of their
// browsers (session.go), makes the links that invite them and let them choose a
// new password (links.go), and trusts an OpenID provider to say who somebody is
// (oidc.go, identity.go).
package signin

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/store/audit"
	"github.com/beeos/beeos/internal/store/people"
)

// People is everybody with an account, and how they come in.
type People struct {
	Table *people.Table
	Audit *audit.Table
	Now   func() time.Time // nil = time.Now
	Log   *slog.Logger     // nil = slog.Default

	// Changed, when set, hears of a person who was disabled, signed out or
	// got a new password, so that whoever keeps something about
	// them, here or on another replica, forgets it.
	Changed func(userID string)

	// EndTokens, when set, ends what the person's own scripts signed in for.
	EndTokens func(ctx context.Context, userID string) error

	// Refused, when set, hears that somebody was not let in: by which method
	// (password, provider, link), and why.
	Refused func(method string, why beeos.Code)

	sessions auth.Cache[session]
}

// SetDisabled locks a person out, with all sessions, keys and instances, or
// lets them in again.
func (p *People) SetDisabled(ctx context.Context, userID string, off bool) error {
	at := time.Time{}
	if off {
		at = p.now()
	}
	if err := p.Table.Lock(ctx, userID, at); err != nil {
		return err
	}
	return p.signOut(ctx, userID)
}

// SetAdmin makes a person an admin, or no longer one.
func (p *People) SetAdmin(ctx context.Context, userID string, admin bool) error {
	if err := p.Table.SetAdmin(ctx, userID, admin); err != nil {
		return err
	}
	p.changed(userID)
	return nil
}

// Rename changes the name by which others see a person.
func (p *People) Rename(ctx context.Context, u beeos.User, name string) error {
	name = cmp.Or(strings.TrimSpace(name), u.Email)
	if err := p.Table.RenameUser(ctx, u.ID, name); err != nil {
		return err
	}
	p.changed(u.ID)
	p.audit(ctx, u.ID, audit.UserRename, map[string]string{"name": name})
	return nil
}

// audit writes what a person did with their own account into that person's trail.
// What owners and admins do is written by the package act.
func (p *People) audit(ctx context.Context, userID, action string, detail map[string]string) {
	p.record(ctx, audit.Row{OwnerID: userID, Actor: "user:" + userID, Action: action, Subject: userID, Detail: detail})
}

func (p *People) record(ctx context.Context, row audit.Row) {
	row.At = p.now()
	p.Audit.Record(ctx, cmp.Or(p.Log, slog.Default()), row)
}

// signOut ends what is left once a person's sessions are gone.
func (p *People) signOut(ctx context.Context, userID string) error {
	p.changed(userID)
	if p.EndTokens == nil {
		return nil
	}
	return p.EndTokens(ctx, userID)
}

func (p *People) changed(userID string) {
	p.Forget(userID)
	if p.Changed != nil {
		p.Changed(userID)
	}
}

// NoteRefusal tells that somebody was not let in, unless it is our own fault or
// nobody's.
func (p *People) NoteRefusal(method string, err error) {
	if err == nil || p.Refused == nil {
		return
	}
	if why := beeos.CodeOf(err); why != beeos.InternalError {
		p.Refused(method, why)
	}
}

func (p *People) now() time.Time {
	if p.Now != nil {
		return p.Now()
	}
	return time.Now()
}

const (
	leastPassword = 10  // characters
	mostPassword  = 256 // bytes
)

// CheckNewPassword says what is wrong with a password that somebody chose.
func CheckNewPassword(email, password string) error {
	switch {
	case len([]rune(password)) < leastPassword:
		return beeos.Errorf(beeos.InvalidParam, "the password is shorter than %d characters; choose a longer one", leastPassword)
	case len(password) > mostPassword:
		return beeos.Errorf(beeos.InvalidParam, "the password is longer than %d bytes; choose a shorter one", mostPassword)
	case strings.EqualFold(strings.TrimSpace(email), strings.TrimSpace(password)):
		return beeos.Errorf(beeos.InvalidParam, "the password is the e-mail address; choose another one")
	}
	return nil
}

// CheckEmail says what is wrong with an e-mail address. Only a letter to it
// could prove more than that it has the form of one.
func CheckEmail(email string) error {
	email = strings.TrimSpace(email)
	name, host, _ := strings.Cut(email, "@")
	if name == "" || host == "" || strings.Contains(host, "@") || strings.ContainsAny(email, " \t\r\n<>,;\"") {
		return beeos.Errorf(beeos.InvalidParam, "this is not an e-mail address; write it as name@example.com")
	}
	return nil
}
