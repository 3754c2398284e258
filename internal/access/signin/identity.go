package signin

import (
	"cmp"
	"context"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/audit"
	"github.com/beeos/beeos/internal/store/people"
)

// Identity is who an outside provider says that somebody is.
type Identity struct {
	Issuer   string
	Subject  string
	Email    string
	Verified bool // the provider made sure that the address is theirs
	Name     string
}

// SignInAs returns whose identity it is. One that is new here goes to the
// user, or the invitation, with its address, when the provider has verified
// that; nobody else gets in.
func (p *People) SignInAs(ctx context.Context, id Identity) (u beeos.User, err error) {
	defer func() { p.NoteRefusal("provider", err) }()
	u, err = p.Table.UserByIdentity(ctx, id.Issuer, id.Subject)
	if beeos.CodeOf(err) == beeos.NotFound {
		u, err = p.adoptIdentity(ctx, id)
	}
	if err != nil {
		return beeos.User{}, err
	}
	if !u.DisabledAt.IsZero() {
		return beeos.User{}, beeos.Errorf(beeos.Forbidden, "this account is disabled; ask an admin to enable it")
	}
	p.audit(ctx, u.ID, audit.UserSignIn, map[string]string{"method": id.Issuer})
	return u, nil
}

func (p *People) adoptIdentity(ctx context.Context, id Identity) (beeos.User, error) {
	if id.Email == "" || !id.Verified {
		return beeos.User{}, beeos.Errorf(beeos.Forbidden, "your provider did not say that your e-mail address is verified; verify it there, or sign in with a password")
	}
	who := beeos.User{ID: beeos.NewID(), Name: cmp.Or(strings.TrimSpace(id.Name), id.Email)}
	u, invited, err := p.Table.LinkIdentity(ctx, people.Identity{Issuer: id.Issuer, Subject: id.Subject, Email: id.Email}, who, p.now())
	if beeos.CodeOf(err) == beeos.NotFound {
		return beeos.User{}, beeos.Errorf(beeos.Forbidden, "nobody here has the address %s; ask an admin to invite it", id.Email)
	}
	if err != nil {
		return beeos.User{}, err
	}
	if invited {
		p.audit(ctx, u.ID, audit.UserAccept, map[string]string{"link": string(people.InviteLink), "method": id.Issuer})
	}
	return u, nil
}
