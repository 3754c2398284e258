package people_test

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/store/people"
	"github.com/beeos/beeos/internal/store/storetest"
)

func never(int) time.Duration { return 0 }

func person(t *testing.T, db *store.Store, email, password string, admin bool) beeos.User {
	t.Helper()
	u := beeos.User{ID: beeos.NewID(), Email: email, Name: "P", PasswordHash: password, Admin: admin, CreatedAt: database.Now()}
	if err := db.People.CreateUser(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestLogins(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx := t.Context()
		ann := person(t, db, "ann@example.com", "h", false)
		at := database.Now()
		one := people.Login{ID: "l1", UserID: ann.ID, Method: "password", Address: "10.0.0.1", Device: "Firefox", CreatedAt: at, SeenAt: at, ExpiresAt: at.Add(time.Hour)}
		two := people.Login{ID: "l2", UserID: ann.ID, CreatedAt: at.Add(time.Second), SeenAt: at, ExpiresAt: at.Add(2 * time.Hour), Device: "x\x00\xff\u202ey"}
		if err := errors.Join(db.People.CreateLogin(ctx, one, storetest.HashOf("1")), db.People.CreateLogin(ctx, two, storetest.HashOf("2"))); err != nil {
			t.Fatal(err)
		}
		two.Device = "xy"
		got, u, err := db.People.GetLogin(ctx, storetest.HashOf("1"), at)
		if diff := cmp.Diff(one, got); diff != "" || err != nil || u.ID != ann.ID {
			t.Errorf("%v %v\n%s", u, err, diff)
		}
		_, _, err = db.People.GetLogin(ctx, storetest.HashOf("1"), at.Add(time.Hour))
		storetest.WantCode(t, err, beeos.NotFound)
		list, err := db.People.ListLogins(ctx, ann.ID, at)
		if diff := cmp.Diff([]people.Login{two, one}, list); diff != "" || err != nil {
			t.Errorf("%v\n%s", err, diff)
		}
		if err := db.People.TouchLogin(ctx, storetest.HashOf("1"), at.Add(time.Minute), at.Add(3*time.Hour)); err != nil {
			t.Fatal(err)
		}
		if got, _, err := db.People.GetLogin(ctx, storetest.HashOf("1"), at.Add(2*time.Hour)); err != nil || !got.SeenAt.Equal(at.Add(time.Minute)) {
			t.Errorf("touched: %+v, %v", got, err)
		}
		storetest.WantCode(t, db.People.EndLoginByID(ctx, "somebody else", "l1"), beeos.NotFound)
		storetest.WantCode(t, db.People.EndLoginByID(ctx, ann.ID, "zero\x00"), beeos.NotFound)
		if err := errors.Join(db.People.EndLoginByID(ctx, ann.ID, "l1"), db.People.EndLogin(ctx, storetest.HashOf("1"))); err != nil {
			t.Fatal(err)
		}
		if list, err := db.People.ListLogins(ctx, ann.ID, at); len(list) != 1 || err != nil {
			t.Errorf("left: %v, %v", list, err)
		}
		if err := db.People.Lock(ctx, ann.ID, at); err != nil {
			t.Fatal(err)
		}
		if list, err := db.People.ListLogins(ctx, ann.ID, at); len(list) != 0 || err != nil {
			t.Errorf("a locked person is signed in: %v, %v", list, err)
		}
	})
}

func TestLinksReplaceEachOther(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx, at := t.Context(), database.Now()
		make := func(id string, kind people.LinkKind, email, user string) {
			t.Helper()
			if err := db.People.CreateLink(ctx, people.Link{ID: id, Kind: kind, Email: email, UserID: user, CreatedAt: at, ExpiresAt: at.Add(time.Hour)}, storetest.HashOf(id)); err != nil {
				t.Fatal(err)
			}
		}
		make("setup1", people.SetupLink, "", "")
		make("setup2", people.SetupLink, "", "claimed")
		make("ann1", people.InviteLink, "Ann@example.com", "")
		make("ann2", people.InviteLink, "ann@example.com", "")
		make("bob", people.InviteLink, "bob@example.com", "")
		make("reset", people.ResetLink, "ann@example.com", "u1")
		for id, alive := range map[string]bool{"setup1": false, "setup2": true, "ann1": false, "ann2": true, "bob": true, "reset": true, "never": false} {
			if _, err := db.People.LinkByHash(ctx, storetest.HashOf(id), at); (err == nil) != alive {
				t.Errorf("%s: %v", id, err)
			}
		}
		_, err := db.People.LinkByHash(ctx, storetest.HashOf("bob"), at.Add(time.Hour))
		storetest.WantCode(t, err, beeos.NotFound, "ask for a new one")
		open, err := db.People.Invitations(ctx, at)
		if len(open) != 2 || err != nil {
			t.Fatalf("%v, %v", open, err)
		}
		if err := db.People.DropInvitation(ctx, "bob"); err != nil {
			t.Fatal(err)
		}
		storetest.WantCode(t, db.People.DropInvitation(ctx, "bob"), beeos.NotFound)
		storetest.WantCode(t, db.People.DropInvitation(ctx, "setup2"), beeos.NotFound)
	})
}

func TestLinkIsUsedOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx, at := t.Context(), database.Now()
		ann := person(t, db, "ann@example.com", "", false)
		for _, kind := range []people.LinkKind{people.SetupLink, people.InviteLink, people.ResetLink} {
			l := people.Link{ID: string(kind), Kind: kind, CreatedAt: at, ExpiresAt: at.Add(time.Hour)}
			switch kind {
			case people.InviteLink:
				l.Email = "new@example.com"
			case people.ResetLink:
				l.UserID = ann.ID
			}
			if err := db.People.CreateLink(ctx, l, storetest.HashOf(l.ID)); err != nil {
				t.Fatal(err)
			}
			ok, codes := storetest.Together(t, 8, func(int) error {
				_, _, err := db.People.AcceptLink(ctx, storetest.HashOf(l.ID), beeos.User{ID: beeos.NewID(), Email: "first@example.com", PasswordHash: "h"}, at)
				return err
			})
			if ok != 1 || codes[beeos.NotFound] != 7 {
				t.Errorf("%s: %d used it, %v", kind, ok, codes)
			}
		}
		users, err := db.People.ListUsers(ctx)
		if len(users) != 3 || err != nil {
			t.Errorf("%v, %v", users, err)
		}
	})
}

// Two servers that start at once may both have made a setup link.
func TestTwoSetupLinksMakeOneAdmin(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx, at := t.Context(), database.Now()
		for _, id := range []string{"a", "b"} {
			_, err := db.Exec("INSERT INTO links (hash, "+people.LinkColumns+") VALUES ($1, $2, 'setup', '', '', TRUE, '', 0, $3)", storetest.HashOf(id), id, database.Micros(at.Add(time.Hour)))
			if err != nil {
				t.Fatal(err)
			}
		}
		ok, codes := storetest.Together(t, 2, func(i int) error {
			id := string(rune('a' + i))
			_, _, err := db.People.AcceptLink(ctx, storetest.HashOf(id), beeos.User{ID: beeos.NewID(), Email: id + "@example.com", PasswordHash: "h"}, at)
			return err
		})
		if ok != 1 || codes[beeos.NotFound] != 1 {
			t.Errorf("%d, %v", ok, codes)
		}
	})
}

func TestAcceptLink(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx, at := t.Context(), database.Now()
		make := func(l people.Link) {
			t.Helper()
			l.CreatedAt, l.ExpiresAt = at, at.Add(time.Hour)
			if err := db.People.CreateLink(ctx, l, storetest.HashOf(l.ID)); err != nil {
				t.Fatal(err)
			}
		}
		accept := func(id, email string) (beeos.User, error) {
			u, _, err := db.People.AcceptLink(ctx, storetest.HashOf(id), beeos.User{ID: beeos.NewID(), Name: "N", Email: email, PasswordHash: "h"}, at)
			return u, err
		}
		demo := person(t, db, "dev@localhost", "", true)
		person(t, db, "other@example.com", "", false)
		make(people.Link{ID: "s", Kind: people.SetupLink, UserID: demo.ID})
		_, err := accept("s", "other@example.com")
		storetest.WantCode(t, err, beeos.Conflict)
		_, err = accept("s", "bad\x00@example.com")
		storetest.WantCode(t, err, beeos.InvalidParam)
		u, err := accept("s", "Me@example.com") // a failure has not used it up
		if err != nil || u.ID != demo.ID || !u.Admin || u.Email != "me@example.com" {
			t.Fatalf("%+v, %v", u, err)
		}
		make(people.Link{ID: "late", Kind: people.SetupLink})
		_, err = accept("late", "robber@example.com")
		storetest.WantCode(t, err, beeos.NotFound)

		make(people.Link{ID: "i", Kind: people.InviteLink, Email: "bob@example.com", Admin: true})
		bob, err := accept("i", "someone@else.com")
		if err != nil || bob.Email != "bob@example.com" || !bob.Admin {
			t.Fatalf("%+v, %v", bob, err)
		}
		if err := db.People.CreateLogin(ctx, people.Login{ID: "l", UserID: bob.ID, CreatedAt: at, ExpiresAt: at.Add(time.Hour)}, storetest.HashOf("l")); err != nil {
			t.Fatal(err)
		}
		make(people.Link{ID: "r", Kind: people.ResetLink, UserID: bob.ID})
		if u, err := accept("r", ""); err != nil || u.ID != bob.ID {
			t.Fatalf("%+v, %v", u, err)
		}
		if list, err := db.People.ListLogins(ctx, bob.ID, at); len(list) != 0 || err != nil {
			t.Errorf("sessions outlive the password: %v, %v", list, err)
		}
		make(people.Link{ID: "r2", Kind: people.ResetLink, UserID: bob.ID})
		if err := db.People.Lock(ctx, bob.ID, at); err != nil {
			t.Fatal(err)
		}
		_, err = accept("r2", "")
		storetest.WantCode(t, err, beeos.NotFound)
	})
}

func TestLastAdminStays(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx := t.Context()
		ann, bob := person(t, db, "ann@example.com", "h", true), person(t, db, "bob@example.com", "h", true)
		person(t, db, "key@example.com", "", true) // an admin who cannot sign in is none
		ok, codes := storetest.Together(t, 2, func(i int) error {
			return db.People.Lock(ctx, []string{ann.ID, bob.ID}[i], database.Now())
		})
		if ok != 1 || codes[beeos.Conflict] != 1 {
			t.Errorf("%d locked, %v", ok, codes)
		}
		for _, id := range []string{ann.ID, bob.ID} {
			if err := db.People.Lock(ctx, id, time.Time{}); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.People.SetAdmin(ctx, ann.ID, false); err != nil {
			t.Fatal(err)
		}
		storetest.WantCode(t, db.People.SetAdmin(ctx, bob.ID, false), beeos.Conflict, "make somebody else an admin")
		storetest.WantCode(t, db.People.Lock(ctx, bob.ID, database.Now()), beeos.Conflict)
		storetest.WantCode(t, db.People.SetAdmin(ctx, "nobody", true), beeos.NotFound)
		storetest.WantCode(t, db.People.Lock(ctx, "nobody", database.Now()), beeos.NotFound)
		storetest.WantCode(t, db.People.RenameUser(ctx, "nobody", "N"), beeos.NotFound)
		storetest.WantCode(t, db.People.RenameUser(ctx, ann.ID, "a\x00"), beeos.InvalidParam)
		if err := db.People.RenameUser(ctx, ann.ID, "Ann B."); err != nil {
			t.Fatal(err)
		}
		if u, err := db.People.GetUser(ctx, ann.ID); u.Name != "Ann B." || err != nil {
			t.Errorf("%+v, %v", u, err)
		}
	})
}

func TestFailuresMakeWait(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx, at := t.Context(), database.Now()
		try := func(at time.Time) (int, error) {
			a := &people.Attempt{Hash: storetest.HashOf("ann"), Wait: func(n int) time.Duration {
				if n < 3 {
					return 0
				}
				return time.Duration(n) * time.Second
			}}
			err := db.People.CountAttempt(ctx, []*people.Attempt{a, {Hash: storetest.HashOf("10.0.0.1"), Wait: never}}, at)
			return a.Failures, err
		}
		ok, codes := storetest.Together(t, 10, func(int) error {
			_, err := try(at)
			return err
		})
		if ok != 3 || codes[beeos.RateLimited] != 7 {
			t.Errorf("%d tries at once, %v", ok, codes)
		}
		_, err := try(at.Add(2 * time.Second))
		storetest.WantCode(t, err, beeos.RateLimited, "wait")
		if e := beeos.Public(err); e.RetryAfter != time.Second {
			t.Errorf("wait %s", e.RetryAfter)
		}
		if n, err := try(at.Add(3 * time.Second)); err != nil || n != 4 {
			t.Errorf("after the wait: %d, %v", n, err)
		}
		if err := db.People.ForgiveAttempt(ctx, []*people.Attempt{{Hash: storetest.HashOf("ann")}}); err != nil {
			t.Fatal(err)
		}
		if n, err := try(at.Add(3 * time.Second)); err != nil || n != 4 {
			t.Errorf("after a success: %d, %v", n, err)
		}
		if n, err := try(at.Add(3*time.Second + people.FailuresFor)); err != nil || n != 1 {
			t.Errorf("after a long time: %d, %v", n, err)
		}
		if err := db.People.ForgetFailures(ctx, storetest.HashOf("ann")); err != nil {
			t.Fatal(err)
		}
		if n, err := try(at); err != nil || n != 1 {
			t.Errorf("forgotten: %d, %v", n, err)
		}
	})
}

func TestIdentities(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx, at := t.Context(), database.Now()
		ann := person(t, db, "ann@example.com", "", true)
		id := people.Identity{Issuer: "https://id.example", Subject: "1", Email: "Ann@example.com"}
		if yes, err := db.People.AnyoneCanSignIn(ctx); yes || err != nil {
			t.Errorf("%v, %v", yes, err)
		}
		u, invited, err := db.People.LinkIdentity(ctx, id, beeos.User{}, at)
		if err != nil || invited || u.ID != ann.ID {
			t.Errorf("%v, %v, %v", u, invited, err)
		}
		if yes, err := db.People.AnyoneCanSignIn(ctx); !yes || err != nil {
			t.Errorf("%v, %v", yes, err)
		}
		if u, err := db.People.UserByIdentity(ctx, id.Issuer, "1"); err != nil || u.ID != ann.ID {
			t.Errorf("%v, %v", u, err)
		}
		for _, subject := range []string{"2", "zero\x00"} {
			_, err = db.People.UserByIdentity(ctx, id.Issuer, subject)
			storetest.WantCode(t, err, beeos.NotFound)
		}
		_, _, err = db.People.LinkIdentity(ctx, people.Identity{Issuer: id.Issuer, Subject: "2", Email: "ann@example.com"}, beeos.User{}, at)
		storetest.WantCode(t, err, beeos.Conflict, "ask an admin")
		bob := people.Identity{Issuer: id.Issuer, Subject: "3", Email: "bob@example.com"}
		_, _, err = db.People.LinkIdentity(ctx, bob, beeos.User{ID: "b"}, at)
		storetest.WantCode(t, err, beeos.NotFound)
		if err := db.People.CreateLink(ctx, people.Link{ID: "i", Kind: people.InviteLink, Email: "bob@example.com", Admin: true, CreatedAt: at, ExpiresAt: at.Add(time.Hour)}, storetest.HashOf("i")); err != nil {
			t.Fatal(err)
		}
		u, invited, err = db.People.LinkIdentity(ctx, bob, beeos.User{ID: "b", Name: "Bob"}, at)
		if err != nil || !invited || !u.Admin || u.ID != "b" {
			t.Errorf("%v, %v, %v", u, invited, err)
		}
		_, err = db.People.LinkByHash(ctx, storetest.HashOf("i"), at)
		storetest.WantCode(t, err, beeos.NotFound)
		if list, err := db.People.Identities(ctx, ann.ID); len(list) != 1 || list[0].Email != "ann@example.com" || err != nil {
			t.Errorf("%v, %v", list, err)
		}
	})
}

// TestOneIdentityPerIssuer: of several accounts of a provider that come with one
// address at once, one becomes the person's.
func TestOneIdentityPerIssuer(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		u, _ := storetest.Owner(t, db, "a@example.com")
		for round := range 20 { // the first ones open connections
			issuer := fmt.Sprintf("https://id%d.example", round)
			ok, codes := storetest.Together(t, 8, func(i int) error {
				_, _, err := db.People.LinkIdentity(t.Context(), people.Identity{Issuer: issuer, Subject: strconv.Itoa(i), Email: u.Email}, beeos.User{}, database.Now())
				return err
			})
			list, err := db.People.Identities(t.Context(), u.ID)
			if ok != 1 || codes[beeos.Conflict] != 7 || len(list) != round+1 || err != nil {
				t.Fatalf("%d were linked, %v, the person has %d, %v", ok, codes, len(list), err)
			}
		}
	})
}
