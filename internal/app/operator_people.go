package app

import (
	"context"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/access/signin"
	"github.com/beeos/beeos/internal/config"
	"github.com/beeos/beeos/internal/store"
)

// Directory is the people of a server and what they allowed, straight in its
// database, for whoever can reach that: an operator needs no browser. A
// server that runs notices within half a minute.
type Directory struct {
	db     *store.Store // whole: acts are handed it so
	people *signin.People
	acts   *act.Acts
	web    string
}

// OpenDirectory opens the database that a configuration names.
func OpenDirectory(ctx context.Context, cfg config.Config) (*Directory, error) {
	db, err := openStore(ctx, cfg)
	if err != nil {
		return nil, err
	}
	people := &signin.People{Table: db.People, Audit: db.Audit, EndTokens: db.Grants.EndFamiliesOf}
	return &Directory{db: db, people: people, acts: act.New(act.Options{DB: db, People: people}), web: cfg.Web.PublicURL}, nil
}

// Close gives the database back.
func (d *Directory) Close() error { return d.db.Close() }

// Person is somebody who has an account, or an invitation to one.
type Person struct {
	ID        string    `json:"id,omitempty"`
	Email     string    `json:"email"`
	Name      string    `json:"name,omitempty"`
	State     string    `json:"state"` // active, disabled, invited, or no sign-in: keys alone
	Admin     bool      `json:"admin"`
	CreatedAt time.Time `json:"created_at"`
	SeenAt    time.Time `json:"seen_at,omitzero"`
}

// People lists everybody, the first comers first, then the invited.
func (d *Directory) People(ctx context.Context) ([]Person, error) {
	users, err := d.db.People.ListUsers(ctx)
	if err != nil {
		return nil, err
	}
	list := []Person{}
	for _, u := range users {
		p := Person{ID: u.ID, Email: u.Email, Name: u.Name, State: "active", Admin: u.Admin, CreatedAt: u.CreatedAt}
		identities, err := d.db.People.Identities(ctx, u.ID)
		if err != nil {
			return nil, err
		}
		switch {
		case !u.DisabledAt.IsZero():
			p.State = "disabled"
		case u.PasswordHash == "" && len(identities) == 0:
			p.State = "no sign-in"
		}
		logins, err := d.people.ListSessions(ctx, u.ID)
		if err != nil {
			return nil, err
		}
		for _, l := range logins {
			if l.SeenAt.After(p.SeenAt) {
				p.SeenAt = l.SeenAt
			}
		}
		list = append(list, p)
	}
	invited, err := d.people.ListInvitations(ctx)
	if err != nil {
		return nil, err
	}
	for _, l := range invited {
		list = append(list, Person{Email: l.Email, State: "invited", Admin: l.Admin, CreatedAt: l.CreatedAt})
	}
	return list, nil
}

// Invite returns the link that makes the owner of an address a user.
func (d *Directory) Invite(ctx context.Context, email string, admin bool) (string, error) {
	letter, err := d.acts.InviteUser(ctx, act.OperatorFor(""), email, admin)
	return d.link(letter.Token), err
}

// SetupLink returns a new link that makes its user the first admin, and the
// owner of the demo where there is one.
func (d *Directory) SetupLink(ctx context.Context) (string, error) {
	demo, err := d.db.People.GetUserByEmail(ctx, demoEmail)
	if err != nil && beeos.CodeOf(err) != beeos.NotFound {
		return "", err
	}
	token, err := d.people.CreateSetupLink(ctx, demo.ID)
	if err == nil && token == "" {
		err = beeos.Errorf(beeos.Conflict, "somebody can sign in already; let others in with: beeos users invite EMAIL, or back in with: beeos users reset EMAIL")
	}
	return d.link(token), err
}

// Reset returns the link with which a person sets a new password.
func (d *Directory) Reset(ctx context.Context, email string) (string, error) {
	u, err := d.user(ctx, email)
	if err != nil {
		return "", err
	}
	letter, err := d.acts.ResetPassword(ctx, act.OperatorFor(u.ID), u.ID)
	return d.link(letter.Token), err
}

// SetDisabled locks a person out, or lets them in again.
func (d *Directory) SetDisabled(ctx context.Context, email string, off bool) error {
	u, err := d.user(ctx, email)
	if err != nil {
		return err
	}
	return d.acts.SetDisabled(ctx, act.OperatorFor(u.ID), u.ID, off)
}

// SignOut ends all sessions of a person.
func (d *Directory) SignOut(ctx context.Context, email string) error {
	u, err := d.user(ctx, email)
	if err != nil {
		return err
	}
	return d.acts.SignOutEverywhere(ctx, act.OperatorFor(u.ID), u.ID)
}

func (d *Directory) user(ctx context.Context, email string) (beeos.User, error) {
	u, err := d.db.People.GetUserByEmail(ctx, email)
	if err != nil && beeos.CodeOf(err) == beeos.NotFound {
		return u, beeos.Errorf(beeos.NotFound, "nobody has the address %s; see who is there with: beeos users list", email)
	}
	return u, err
}

func (d *Directory) link(token string) string {
	if token == "" {
		return ""
	}
	return welcomeURL(d.web, token)
}
