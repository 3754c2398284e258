package store

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/google/go-cmp/cmp"
)

// fillPeople puts something into every table of how people get in.
func fillPeople(t *testing.T, db *DB, u beeos.User) {
	t.Helper()
	ctx := t.Context()
	_, _, identity := db.LinkIdentity(ctx, Identity{Issuer: "https://id.example", Subject: "s", Email: u.Email}, beeos.User{}, now())
	err := errors.Join(identity,
		db.CreateLogin(ctx, Login{ID: "l", UserID: u.ID, CreatedAt: now(), SeenAt: now(), ExpiresAt: now()}, hashOf("l")),
		db.CreateLink(ctx, Link{ID: "i", Kind: InviteLink, Email: "x@example.com", Admin: true, CreatedAt: now(), ExpiresAt: now()}, hashOf("i")),
		db.CountAttempt(ctx, []*Attempt{{Hash: hashOf("account"), Wait: never}}, now()))
	if err != nil {
		t.Fatal(err)
	}
}

func never(int) time.Duration { return 0 }

func person(t *testing.T, db *DB, email, password string, admin bool) beeos.User {
	t.Helper()
	u := beeos.User{ID: beeos.NewID(), Email: email, Name: "P", PasswordHash: password, Admin: admin, CreatedAt: now()}
	if err := db.CreateUser(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestLogins(t *testing.T) {
	each(t, func(t *testing.T, db *DB) {
		ctx := t.Context()
		ann := person(t, db, "ann@example.com", "h", false)
		at := now()
		one := Login{ID: "l1", UserID: ann.ID, Method: "password", Address: "10.0.0.1", Device: "Firefox", CreatedAt: at, SeenAt: at, ExpiresAt: at.Add(time.Hour)}
		two := Login{ID: "l2", UserID: ann.ID, CreatedAt: at.Add(time.Second), SeenAt: at, ExpiresAt: at.Add(2 * time.Hour), Device: "x\x00\xff\u202ey"}
		if err := errors.Join(db.CreateLogin(ctx, one, hashOf("1")), db.CreateLogin(ctx, two, hashOf("2"))); err != nil {
			t.Fatal(err)
		}
		two.Device = "xy"
		got, u, err := db.LoginByHash(ctx, hashOf("1"), at)
		if diff := cmp.Diff(one, got); diff != "" || err != nil || u.ID != ann.ID {
			t.Errorf("%v %v\n%s", u, err, diff)
		}
		_, _, err = db.LoginByHash(ctx, hashOf("1"), at.Add(time.Hour))
		wantCode(t, err, beeos.NotFound)
		list, err := db.Logins(ctx, ann.ID, at)
		if diff := cmp.Diff([]Login{two, one}, list); diff != "" || err != nil {
			t.Errorf("%v\n%s", err, diff)
		}
		if err := db.TouchLogin(ctx, hashOf("1"), at.Add(time.Minute), at.Add(3*time.Hour)); err != nil {
			t.Fatal(err)
		}
		if got, _, err := db.LoginByHash(ctx, hashOf("1"), at.Add(2*time.Hour)); err != nil || !got.SeenAt.Equal(at.Add(time.Minute)) {
			t.Errorf("touched: %+v, %v", got, err)
		}
		wantCode(t, db.EndLoginByID(ctx, "somebody else", "l1"), beeos.NotFound)
		wantCode(t, db.EndLoginByID(ctx, ann.ID, "zero\x00"), beeos.NotFound)
		if err := errors.Join(db.EndLoginByID(ctx, ann.ID, "l1"), db.EndLogin(ctx, hashOf("1"))); err != nil {
			t.Fatal(err)
		}
		if list, err := db.Logins(ctx, ann.ID, at); len(list) != 1 || err != nil {
			t.Errorf("left: %v, %v", list, err)
		}
		if err := db.Lock(ctx, ann.ID, at); err != nil {
			t.Fatal(err)
		}
		if list, err := db.Logins(ctx, ann.ID, at); len(list) != 0 || err != nil {
			t.Errorf("a locked person is signed in: %v, %v", list, err)
		}
	})
}

func TestLinksReplaceEachOther(t *testing.T) {
	each(t, func(t *testing.T, db *DB) {
		ctx, at := t.Context(), now()
		make := func(id string, kind LinkKind, email, user string) {
			t.Helper()
			if err := db.CreateLink(ctx, Link{ID: id, Kind: kind, Email: email, UserID: user, CreatedAt: at, ExpiresAt: at.Add(time.Hour)}, hashOf(id)); err != nil {
				t.Fatal(err)
			}
		}
		make("setup1", SetupLink, "", "")
		make("setup2", SetupLink, "", "claimed")
		make("ann1", InviteLink, "Ann@example.com", "")
		make("ann2", InviteLink, "ann@example.com", "")
		make("bob", InviteLink, "bob@example.com", "")
		make("reset", ResetLink, "ann@example.com", "u1")
		for id, alive := range map[string]bool{"setup1": false, "setup2": true, "ann1": false, "ann2": true, "bob": true, "reset": true, "never": false} {
			if _, err := db.LinkByHash(ctx, hashOf(id), at); (err == nil) != alive {
				t.Errorf("%s: %v", id, err)
			}
		}
		_, err := db.LinkByHash(ctx, hashOf("bob"), at.Add(time.Hour))
		wantCode(t, err, beeos.NotFound, "ask for a new one")
		open, err := db.Invitations(ctx, at)
		if len(open) != 2 || err != nil {
			t.Fatalf("%v, %v", open, err)
		}
		if err := db.DropInvitation(ctx, "bob"); err != nil {
			t.Fatal(err)
		}
		wantCode(t, db.DropInvitation(ctx, "bob"), beeos.NotFound)
		wantCode(t, db.DropInvitation(ctx, "setup2"), beeos.NotFound)
	})
}

func TestLinkIsUsedOnce(t *testing.T) {
	each(t, func(t *testing.T, db *DB) {
		ctx, at := t.Context(), now()
		ann := person(t, db, "ann@example.com", "", false)
		for _, kind := range []LinkKind{SetupLink, InviteLink, ResetLink} {
			l := Link{ID: string(kind), Kind: kind, CreatedAt: at, ExpiresAt: at.Add(time.Hour)}
			switch kind {
			case InviteLink:
				l.Email = "new@example.com"
			case ResetLink:
				l.UserID = ann.ID
			}
			if err := db.CreateLink(ctx, l, hashOf(l.ID)); err != nil {
				t.Fatal(err)
			}
			ok, codes := together(t, 8, func(int) error {
				_, _, err := db.AcceptLink(ctx, hashOf(l.ID), beeos.User{ID: beeos.NewID(), Email: "first@example.com", PasswordHash: "h"}, at)
				return err
			})
			if ok != 1 || codes[beeos.NotFound] != 7 {
				t.Errorf("%s: %d used it, %v", kind, ok, codes)
			}
		}
		users, err := db.Users(ctx)
		if len(users) != 3 || err != nil {
			t.Errorf("%v, %v", users, err)
		}
	})
}

// Two servers that start at once may both have made a setup link.
func TestTwoSetupLinksMakeOneAdmin(t *testing.T) {
	each(t, func(t *testing.T, db *DB) {
		ctx, at := t.Context(), now()
		for _, id := range []string{"a", "b"} {
			_, err := db.Exec("INSERT INTO links (hash, "+linkColumns+") VALUES ($1, $2, 'setup', '', '', TRUE, '', 0, $3)", hashOf(id), id, micros(at.Add(time.Hour)))
			if err != nil {
				t.Fatal(err)
			}
		}
		ok, codes := together(t, 2, func(i int) error {
			id := string(rune('a' + i))
			_, _, err := db.AcceptLink(ctx, hashOf(id), beeos.User{ID: beeos.NewID(), Email: id + "@example.com", PasswordHash: "h"}, at)
			return err
		})
		if ok != 1 || codes[beeos.NotFound] != 1 {
			t.Errorf("%d, %v", ok, codes)
		}
	})
}

func TestAcceptLink(t *testing.T) {
	each(t, func(t *testing.T, db *DB) {
		ctx, at := t.Context(), now()
		make := func(l Link) {
			t.Helper()
			l.CreatedAt, l.ExpiresAt = at, at.Add(time.Hour)
			if err := db.CreateLink(ctx, l, hashOf(l.ID)); err != nil {
				t.Fatal(err)
			}
		}
		accept := func(id, email string) (beeos.User, error) {
			u, _, err := db.AcceptLink(ctx, hashOf(id), beeos.User{ID: beeos.NewID(), Name: "N", Email: email, PasswordHash: "h"}, at)
			return u, err
		}
		demo := person(t, db, "dev@localhost", "", true)
		person(t, db, "other@example.com", "", false)
		make(Link{ID: "s", Kind: SetupLink, UserID: demo.ID})
		_, err := accept("s", "other@example.com")
		wantCode(t, err, beeos.Conflict)
		_, err = accept("s", "bad\x00@example.com")
		wantCode(t, err, beeos.InvalidParam)
		u, err := accept("s", "Me@example.com") // a failure has not used it up
		if err != nil || u.ID != demo.ID || !u.Admin || u.Email != "me@example.com" {
			t.Fatalf("%+v, %v", u, err)
		}
		make(Link{ID: "late", Kind: SetupLink})
		_, err = accept("late", "robber@example.com")
		wantCode(t, err, beeos.NotFound)

		make(Link{ID: "i", Kind: InviteLink, Email: "bob@example.com", Admin: true})
		bob, err := accept("i", "someone@else.com")
		if err != nil || bob.Email != "bob@example.com" || !bob.Admin {
			t.Fatalf("%+v, %v", bob, err)
		}
		if err := db.CreateLogin(ctx, Login{ID: "l", UserID: bob.ID, CreatedAt: at, ExpiresAt: at.Add(time.Hour)}, hashOf("l")); err != nil {
			t.Fatal(err)
		}
		make(Link{ID: "r", Kind: ResetLink, UserID: bob.ID})
		if u, err := accept("r", ""); err != nil || u.ID != bob.ID {
			t.Fatalf("%+v, %v", u, err)
		}
		if list, err := db.Logins(ctx, bob.ID, at); len(list) != 0 || err != nil {
			t.Errorf("sessions outlive the password: %v, %v", list, err)
		}
		make(Link{ID: "r2", Kind: ResetLink, UserID: bob.ID})
		if err := db.Lock(ctx, bob.ID, at); err != nil {
			t.Fatal(err)
		}
		_, err = accept("r2", "")
		wantCode(t, err, beeos.NotFound)
	})
}

func TestLastAdminStays(t *testing.T) {
	each(t, func(t *testing.T, db *DB) {
		ctx := t.Context()
		ann, bob := person(t, db, "ann@example.com", "h", true), person(t, db, "bob@example.com", "h", true)
		person(t, db, "key@example.com", "", true) // an admin who cannot sign in is none
		ok, codes := together(t, 2, func(i int) error {
			return db.Lock(ctx, []string{ann.ID, bob.ID}[i], now())
		})
		if ok != 1 || codes[beeos.Conflict] != 1 {
			t.Errorf("%d locked, %v", ok, codes)
		}
		for _, id := range []string{ann.ID, bob.ID} {
			if err := db.Lock(ctx, id, time.Time{}); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.SetAdmin(ctx, ann.ID, false); err != nil {
			t.Fatal(err)
		}
		wantCode(t, db.SetAdmin(ctx, bob.ID, false), beeos.Conflict, "make somebody else an admin")
		wantCode(t, db.Lock(ctx, bob.ID, now()), beeos.Conflict)
		wantCode(t, db.SetAdmin(ctx, "nobody", true), beeos.NotFound)
		wantCode(t, db.Lock(ctx, "nobody", now()), beeos.NotFound)
		wantCode(t, db.RenameUser(ctx, "nobody", "N"), beeos.NotFound)
		wantCode(t, db.RenameUser(ctx, ann.ID, "a\x00"), beeos.InvalidParam)
		if err := db.RenameUser(ctx, ann.ID, "Ann B."); err != nil {
			t.Fatal(err)
		}
		if u, err := db.User(ctx, ann.ID); u.Name != "Ann B." || err != nil {
			t.Errorf("%+v, %v", u, err)
		}
	})
}

func TestFailuresMakeWait(t *testing.T) {
	each(t, func(t *testing.T, db *DB) {
		ctx, at := t.Context(), now()
		try := func(at time.Time) (int, error) {
			a := &Attempt{Hash: hashOf("ann"), Wait: func(n int) time.Duration {
				if n < 3 {
					return 0
				}
				return time.Duration(n) * time.Second
			}}
			err := db.CountAttempt(ctx, []*Attempt{a, {Hash: hashOf("10.0.0.1"), Wait: never}}, at)
			return a.Failures, err
		}
		ok, codes := together(t, 10, func(int) error {
			_, err := try(at)
			return err
		})
		if ok != 3 || codes[beeos.RateLimited] != 7 {
			t.Errorf("%d tries at once, %v", ok, codes)
		}
		_, err := try(at.Add(2 * time.Second))
		wantCode(t, err, beeos.RateLimited, "wait")
		if e := beeos.Public(err); e.RetryAfter != time.Second {
			t.Errorf("wait %s", e.RetryAfter)
		}
		if n, err := try(at.Add(3 * time.Second)); err != nil || n != 4 {
			t.Errorf("after the wait: %d, %v", n, err)
		}
		if err := db.ForgiveAttempt(ctx, []*Attempt{{Hash: hashOf("ann")}}); err != nil {
			t.Fatal(err)
		}
		if n, err := try(at.Add(3 * time.Second)); err != nil || n != 4 {
			t.Errorf("after a success: %d, %v", n, err)
		}
		if n, err := try(at.Add(3*time.Second + failuresFor)); err != nil || n != 1 {
			t.Errorf("after a long time: %d, %v", n, err)
		}
		if err := db.ForgetFailures(ctx, hashOf("ann")); err != nil {
			t.Fatal(err)
		}
		if n, err := try(at); err != nil || n != 1 {
			t.Errorf("forgotten: %d, %v", n, err)
		}
	})
}

func TestIdentities(t *testing.T) {
	each(t, func(t *testing.T, db *DB) {
		ctx, at := t.Context(), now()
		ann := person(t, db, "ann@example.com", "", true)
		id := Identity{Issuer: "https://id.example", Subject: "1", Email: "Ann@example.com"}
		if yes, err := db.AnyoneCanSignIn(ctx); yes || err != nil {
			t.Errorf("%v, %v", yes, err)
		}
		u, invited, err := db.LinkIdentity(ctx, id, beeos.User{}, at)
		if err != nil || invited || u.ID != ann.ID {
			t.Errorf("%v, %v, %v", u, invited, err)
		}
		if yes, err := db.AnyoneCanSignIn(ctx); !yes || err != nil {
			t.Errorf("%v, %v", yes, err)
		}
		if u, err := db.UserByIdentity(ctx, id.Issuer, "1"); err != nil || u.ID != ann.ID {
			t.Errorf("%v, %v", u, err)
		}
		for _, subject := range []string{"2", "zero\x00"} {
			_, err = db.UserByIdentity(ctx, id.Issuer, subject)
			wantCode(t, err, beeos.NotFound)
		}
		_, _, err = db.LinkIdentity(ctx, Identity{Issuer: id.Issuer, Subject: "2", Email: "ann@example.com"}, beeos.User{}, at)
		wantCode(t, err, beeos.Conflict, "ask an admin")
		bob := Identity{Issuer: id.Issuer, Subject: "3", Email: "bob@example.com"}
		_, _, err = db.LinkIdentity(ctx, bob, beeos.User{ID: "b"}, at)
		wantCode(t, err, beeos.NotFound)
		if err := db.CreateLink(ctx, Link{ID: "i", Kind: InviteLink, Email: "bob@example.com", Admin: true, CreatedAt: at, ExpiresAt: at.Add(time.Hour)}, hashOf("i")); err != nil {
			t.Fatal(err)
		}
		u, invited, err = db.LinkIdentity(ctx, bob, beeos.User{ID: "b", Name: "Bob"}, at)
		if err != nil || !invited || !u.Admin || u.ID != "b" {
			t.Errorf("%v, %v, %v", u, invited, err)
		}
		_, err = db.LinkByHash(ctx, hashOf("i"), at)
		wantCode(t, err, beeos.NotFound)
		if list, err := db.Identities(ctx, ann.ID); len(list) != 1 || list[0].Email != "ann@example.com" || err != nil {
			t.Errorf("%v, %v", list, err)
		}
	})
}

// TestOneIdentityPerIssuer: of several accounts of a provider that come with one
// address at once, one becomes the person's.
func TestOneIdentityPerIssuer(t *testing.T) {
	each(t, func(t *testing.T, db *DB) {
		u, _ := owner(t, db, "a@example.com")
		for round := range 20 { // the first ones open connections
			issuer := fmt.Sprintf("https://id%d.example", round)
			ok, codes := together(t, 8, func(i int) error {
				_, _, err := db.LinkIdentity(t.Context(), Identity{Issuer: issuer, Subject: strconv.Itoa(i), Email: u.Email}, beeos.User{}, now())
				return err
			})
			list, err := db.Identities(t.Context(), u.ID)
			if ok != 1 || codes[beeos.Conflict] != 7 || len(list) != round+1 || err != nil {
				t.Fatalf("%d were linked, %v, the person has %d, %v", ok, codes, len(list), err)
			}
		}
	})
}
