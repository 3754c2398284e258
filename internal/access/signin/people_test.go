package signin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/people"
)

const password = "correct horse battery"

// crowd is People on a fresh database with a clock of its own. replica is a
// second one on the same.
type crowd struct {
	DB *store.Store
	*People
	t       *testing.T
	clock   time.Time
	replica *People
	file    string
	told    []string
}

func wantCode(t *testing.T, err error, code beeos.Code, words ...string) {
	t.Helper()
	if err == nil || beeos.CodeOf(err) != code {
		t.Fatalf("error %v, want %s", err, code)
	}
	for _, w := range words {
		if !strings.Contains(beeos.Public(err).Message, w) {
			t.Errorf("message %q does not say %q", beeos.Public(err).Message, w)
		}
	}
}

func newCrowd(t *testing.T) *crowd {
	t.Helper()
	c := &crowd{t: t, clock: time.Now().Truncate(time.Microsecond), file: filepath.Join(t.TempDir(), "beeos.db")}
	db, err := store.Open(t.Context(), "sqlite:"+c.file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	c.DB = db
	now := func() time.Time { return c.clock }
	c.People = &People{Table: db.People, Audit: db.Audit, Now: now, Changed: func(id string) { c.told = append(c.told, id) }}
	c.replica = &People{Table: db.People, Audit: db.Audit, Now: now}
	return c
}

// admin goes the way of the first person.
func (c *crowd) admin() beeos.User {
	c.t.Helper()
	token, err := c.CreateSetupLink(c.t.Context(), "")
	if err != nil || token == "" {
		c.t.Fatalf("setup link %q, %v", token, err)
	}
	u, err := c.AcceptLink(c.t.Context(), token, "Ann", "ann@example.com", password)
	if err != nil {
		c.t.Fatal(err)
	}
	return u
}

func (c *crowd) invited(email string) beeos.User {
	c.t.Helper()
	token, _, err := c.Invite(c.t.Context(), email, false, "operator")
	if err != nil {
		c.t.Fatal(err)
	}
	u, err := c.AcceptLink(c.t.Context(), token, "", "ignored@example.com", password)
	if err != nil {
		c.t.Fatal(err)
	}
	return u
}

// actions lists what a person's trail holds, by name.
func (c *crowd) actions(owner string) string {
	c.t.Helper()
	rows, err := c.DB.Audit.List(c.t.Context(), owner, 100)
	if err != nil {
		c.t.Fatal(err)
	}
	var list []string
	for _, r := range rows {
		list = append(list, r.Action)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

func TestFirstPersonBecomesAdmin(t *testing.T) {
	c := newCrowd(t)
	ctx := t.Context()
	old, err := c.CreateSetupLink(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	ann := c.admin() // makes a new link
	if !ann.Admin || ann.Email != "ann@example.com" {
		t.Errorf("%+v", ann)
	}
	_, err = c.AcceptLink(ctx, old, "Robber", "r@example.com", password)
	wantCode(t, err, beeos.NotFound, "ask for a new one")
	if token, err := c.CreateSetupLink(ctx, ""); token != "" || err != nil {
		t.Errorf("another setup link: %q, %v", token, err)
	}
	if u, err := c.SignIn(ctx, " ANN@example.com", password, "10.0.0.1"); err != nil || u.ID != ann.ID {
		t.Errorf("%+v, %v", u, err)
	}
	if got := c.actions(ann.ID); got != "user.accept user.sign_in" {
		t.Error(got)
	}
}

func TestSetupLinkEnds(t *testing.T) {
	c := newCrowd(t)
	token, err := c.CreateSetupLink(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if l, err := c.FindLink(t.Context(), token); err != nil || l.Kind != people.SetupLink {
		t.Errorf("%+v, %v", l, err)
	}
	c.clock = c.clock.Add(setupFor)
	_, err = c.AcceptLink(t.Context(), token, "", "ann@example.com", password)
	wantCode(t, err, beeos.NotFound)
}

func TestSetupClaimsTheDemoUser(t *testing.T) {
	c := newCrowd(t)
	demo := beeos.User{ID: beeos.NewID(), Email: "dev@localhost", Admin: true}
	if err := c.DB.People.CreateUser(t.Context(), demo); err != nil {
		t.Fatal(err)
	}
	token, err := c.CreateSetupLink(t.Context(), demo.ID)
	if err != nil {
		t.Fatal(err)
	}
	u, err := c.AcceptLink(t.Context(), token, "Ann", "ann@example.com", password)
	if err != nil || u.ID != demo.ID {
		t.Errorf("%+v, %v", u, err)
	}
}

func TestLinkIsAcceptedOnce(t *testing.T) {
	c := newCrowd(t)
	token, _, err := c.Invite(t.Context(), "bob@example.com", false, "operator")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		wg.Go(func() { _, errs[i] = c.AcceptLink(context.Background(), token, "Bob", "", password) })
	}
	wg.Wait()
	ok := 0
	for _, err := range errs {
		if err == nil {
			ok++
		} else {
			wantCode(t, err, beeos.NotFound)
		}
	}
	if ok != 1 {
		t.Errorf("accepted %d times", ok)
	}
}

func TestPasswordsAndAddressesAreChecked(t *testing.T) {
	c := newCrowd(t)
	token, err := c.CreateSetupLink(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ email, password, says string }{
		{"ann@example.com", "123456789", "longer"},
		{"ann@example.com", "ééééééééé", "longer"},
		{"ann@example.com", strings.Repeat("x", 257), "shorter"},
		{"long-enough@example.com", "Long-Enough@example.com", "another"},
		{"ann", password, "name@example.com"},
		{"a b@example.com", password, "name@example.com"},
		{"ann@@example.com", password, "name@example.com"},
		{"", password, "name@example.com"},
	} {
		_, err := c.AcceptLink(t.Context(), token, "Ann", tt.email, tt.password)
		wantCode(t, err, beeos.InvalidParam, tt.says)
	}
	if _, err := c.AcceptLink(t.Context(), token, "Ann", "ann@example.com", "éééééééééé"); err != nil {
		t.Errorf("ten letters: %v", err)
	}
}

func TestChangePassword(t *testing.T) {
	c := newCrowd(t)
	ctx := t.Context()
	ann := c.admin()
	wantCode(t, c.ChangePassword(ctx, ann, "wrong", password+"!"), beeos.LoginRejected)
	wantCode(t, c.ChangePassword(ctx, ann, password, "short"), beeos.InvalidParam)
	for range accountFree {
		if err := c.ChangePassword(ctx, ann, "wrong", password+"!"); err == nil {
			t.Fatal("a wrong password was good")
		}
	}
	wantCode(t, c.ChangePassword(ctx, ann, password, password+"!"), beeos.RateLimited)
	c.clock = c.clock.Add(accountMost)
	if err := c.ChangePassword(ctx, ann, password, password+"!"); err != nil {
		t.Fatal(err)
	}
	_, err := c.SignIn(ctx, ann.Email, password, "")
	wantCode(t, err, beeos.LoginRejected)
	if _, err := c.SignIn(ctx, ann.Email, password+"!", ""); err != nil {
		t.Error(err)
	}
}

// TestResetLinkEndsWithWhatItWasFor: a link to set a new password is worth
// nothing once there is one, or once its person was locked out, also when they
// are let in again.
func TestResetLinkEndsWithWhatItWasFor(t *testing.T) {
	for name, change := range map[string]func(c *crowd, ann, bob beeos.User) error{
		"password changed": func(c *crowd, _, bob beeos.User) error {
			return c.ChangePassword(t.Context(), bob, password, "another good password")
		},
		"locked out": func(c *crowd, ann, bob beeos.User) error {
			return errors.Join(c.SetDisabled(t.Context(), bob.ID, true), c.SetDisabled(t.Context(), bob.ID, false))
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCrowd(t)
			ann := c.admin()
			bob := c.invited("bob@example.com")
			link, err := c.CreateResetLink(t.Context(), bob.ID, "operator")
			if err == nil {
				err = change(c, ann, bob)
			}
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.AcceptLink(t.Context(), link, "", "", "a password of somebody else")
			wantCode(t, err, beeos.NotFound)
		})
	}
}

func TestLinksOnlyWhereTheyMakeSense(t *testing.T) {
	c := newCrowd(t)
	ctx := t.Context()
	ann := c.admin()
	bob := c.invited("bob@example.com")
	_, _, err := c.Invite(ctx, "Bob@example.com", false, "operator")
	wantCode(t, err, beeos.Conflict, "set a new password")
	wantCode(t, c.SetDisabled(ctx, ann.ID, true), beeos.Conflict)
	if err := errors.Join(c.SetAdmin(ctx, bob.ID, true), c.SetDisabled(ctx, bob.ID, true)); err != nil {
		t.Fatal(err)
	}
	_, err = c.CreateResetLink(ctx, bob.ID, "operator")
	wantCode(t, err, beeos.Conflict, "enable")
	if fmt.Sprint(c.told) != fmt.Sprint([]string{ann.ID, bob.ID, bob.ID, bob.ID}) {
		t.Errorf("told of %v", c.told)
	}
}

func TestSignInAs(t *testing.T) {
	c := newCrowd(t)
	ctx := t.Context()
	ann := c.admin()
	id := Identity{Issuer: "https://id.example", Subject: "1", Email: "Ann@example.com", Verified: true}
	unverified := id
	unverified.Verified = false
	_, err := c.SignInAs(ctx, unverified)
	wantCode(t, err, beeos.Forbidden, "verify it there")
	_, err = c.SignInAs(ctx, Identity{Issuer: id.Issuer, Subject: "9", Email: "stranger@example.com", Verified: true})
	wantCode(t, err, beeos.Forbidden, "ask an admin to invite")
	for _, who := range []Identity{id, id, {Issuer: id.Issuer, Subject: "1", Email: "renamed@example.com"}} {
		if u, err := c.SignInAs(ctx, who); err != nil || u.ID != ann.ID {
			t.Errorf("%+v, %v", u, err)
		}
	}
	if _, _, err := c.Invite(ctx, "bob@example.com", false, "operator"); err != nil {
		t.Fatal(err)
	}
	bob, err := c.SignInAs(ctx, Identity{Issuer: id.Issuer, Subject: "2", Email: "bob@example.com", Verified: true, Name: "Bob"})
	if err != nil || bob.Name != "Bob" || bob.Admin {
		t.Errorf("%+v, %v", bob, err)
	}
	if err := c.SetDisabled(ctx, bob.ID, true); err != nil {
		t.Fatal(err)
	}
	_, err = c.SignInAs(ctx, Identity{Issuer: id.Issuer, Subject: "2"})
	wantCode(t, err, beeos.Forbidden, "ask an admin to enable")
	if got := c.actions(bob.ID); got != "user.accept user.sign_in" {
		t.Error(got)
	}
}

// TestDatabaseShowsNoSecret: whoever reads the database learns no password, no
// token and no link.
func TestDatabaseShowsNoSecret(t *testing.T) {
	c := newCrowd(t)
	ctx := t.Context()
	setup, err := c.CreateSetupLink(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	ann, err := c.AcceptLink(ctx, setup, "Ann", "ann@example.com", password)
	if err != nil {
		t.Fatal(err)
	}
	invite, _, err1 := c.Invite(ctx, "bob@example.com", false, "operator")
	reset, err2 := c.CreateResetLink(ctx, ann.ID, "operator")
	cookie, err3 := c.BeginSession(ctx, ann, people.Login{Device: "Firefox"})
	user, userHash, prefix := auth.NewKey(beeos.UserKey)
	err4 := c.DB.Keys.Create(ctx, beeos.Key{ID: "k", Kind: beeos.UserKey, OwnerID: ann.ID, Prefix: prefix}, userHash)
	join, err5 := c.DB.Instances.CreateJoinToken(ctx, ann.ID, time.Hour)
	for _, err := range []error{err1, err2, err3, err4, err5} {
		if err != nil {
			t.Fatal(err)
		}
	}
	const mistyped = "a password in the wrong field"
	for _, email := range []string{"ann@example.com", mistyped} {
		_, err := c.SignIn(ctx, email, "a wrong password", "10.0.0.1")
		wantCode(t, err, beeos.LoginRejected)
	}
	secrets := []string{setup, invite, reset, cookie, user, join, password, "a wrong password", mistyped}
	if _, err := c.DB.Exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		t.Fatal(err)
	}
	var dump strings.Builder
	files, err := filepath.Glob(c.file + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		dump.Write(b)
	}
	if !strings.Contains(dump.String(), "ann@example.com") || !strings.Contains(dump.String(), "$argon2id$") {
		t.Fatal("this is no dump of the database")
	}
	for _, s := range secrets {
		secret := s
		if strings.Contains(s, "_") {
			secret = s[12:] // a key's first twelve characters are its public name
		}
		if len(secret) < 8 || strings.Contains(dump.String(), secret) {
			t.Errorf("the database shows %q", s)
		}
	}
}
