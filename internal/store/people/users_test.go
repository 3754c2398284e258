package people_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/store/storetest"
)

func TestUsers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx := t.Context()
		ann := beeos.User{ID: beeos.NewID(), Email: "Ann@Example.com ", Name: "Ann", PasswordHash: "h", Admin: true, CreatedAt: database.Now()}
		bob := beeos.User{ID: beeos.NewID(), Email: "bob@example.com", CreatedAt: database.Now().Add(time.Second)}
		for _, u := range []beeos.User{ann, bob} {
			if err := db.People.CreateUser(ctx, u); err != nil {
				t.Fatal(err)
			}
		}
		ann.Email = "ann@example.com"
		storetest.WantCode(t, db.People.CreateUser(ctx, beeos.User{ID: beeos.NewID(), Email: "ANN@example.com"}), beeos.Conflict, "another address")
		storetest.WantCode(t, db.People.CreateUser(ctx, beeos.User{ID: beeos.NewID(), Email: "x\x00@example.com"}), beeos.InvalidParam)

		got, err := db.People.GetUserByEmail(ctx, " ann@EXAMPLE.com")
		if diff := cmp.Diff(ann, got); diff != "" || err != nil {
			t.Errorf("by e-mail: %v\n%s", err, diff)
		}
		all, err := db.People.ListUsers(ctx)
		if diff := cmp.Diff([]beeos.User{ann, bob}, all); diff != "" || err != nil {
			t.Errorf("all: %v\n%s", err, diff)
		}
		for _, id := range []string{"nobody", "", "zero\x00byte", "broken\xff"} {
			_, err = db.People.GetUser(ctx, id)
			storetest.WantCode(t, err, beeos.NotFound)
		}
		if err := db.People.ChangePassword(ctx, bob.ID, "new"); err != nil {
			t.Fatal(err)
		}
		at := database.Now()
		if err := db.People.Lock(ctx, bob.ID, at); err != nil {
			t.Fatal(err)
		}
		if got, err := db.People.GetUser(ctx, bob.ID); err != nil || got.PasswordHash != "new" || !got.DisabledAt.Equal(at) {
			t.Errorf("changed user: %+v, %v", got, err)
		}
		storetest.WantCode(t, db.People.Lock(ctx, "nobody", at), beeos.NotFound)
	})
}
