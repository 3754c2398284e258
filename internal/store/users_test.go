package store

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/audit"
	"github.com/beeos/beeos/internal/store/database"
)

func TestUsers(t *testing.T) {
	each(t, func(t *testing.T, db *Store) {
		ctx := t.Context()
		ann := beeos.User{ID: beeos.NewID(), Email: "Ann@Example.com ", Name: "Ann", PasswordHash: "h", Admin: true, CreatedAt: database.Now()}
		bob := beeos.User{ID: beeos.NewID(), Email: "bob@example.com", CreatedAt: database.Now().Add(time.Second)}
		for _, u := range []beeos.User{ann, bob} {
			if err := db.People.CreateUser(ctx, u); err != nil {
				t.Fatal(err)
			}
		}
		ann.Email = "ann@example.com"
		wantCode(t, db.People.CreateUser(ctx, beeos.User{ID: beeos.NewID(), Email: "ANN@example.com"}), beeos.Conflict, "another address")
		wantCode(t, db.People.CreateUser(ctx, beeos.User{ID: beeos.NewID(), Email: "x\x00@example.com"}), beeos.InvalidParam)

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
			wantCode(t, err, beeos.NotFound)
		}
		if err := db.People.SetPassword(ctx, bob.ID, "new"); err != nil {
			t.Fatal(err)
		}
		at := database.Now()
		if err := db.People.DisableUser(ctx, bob.ID, at); err != nil {
			t.Fatal(err)
		}
		if got, err := db.People.GetUser(ctx, bob.ID); err != nil || got.PasswordHash != "new" || !got.DisabledAt.Equal(at) {
			t.Errorf("changed user: %+v, %v", got, err)
		}
		wantCode(t, db.People.DisableUser(ctx, "nobody", at), beeos.NotFound)
	})
}

func TestAudit(t *testing.T) {
	each(t, func(t *testing.T, db *Store) {
		ctx := t.Context()
		rows := []audit.Row{
			{OwnerID: "u1", At: database.Now(), Actor: "user:u1", Action: "key.create", Subject: "k1", Detail: map[string]string{"name": "ci \x00"}},
			{OwnerID: "u2", At: database.Now().Add(time.Second), Actor: "user:u2", Action: "agent.delete", Subject: "a1"},
			{OwnerID: "u1", At: database.Now().Add(2 * time.Second), Actor: "user:u1", Action: "key.revoke", Subject: "k1"},
		}
		for _, r := range rows {
			if err := db.Audit.Add(ctx, r); err != nil {
				t.Fatal(err)
			}
		}
		read := func(owner string, limit int) (actions []string) {
			list, err := db.Audit.List(ctx, owner, limit)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range list {
				actions = append(actions, r.OwnerID+" "+r.Action)
			}
			return actions
		}
		if diff := cmp.Diff([]string{"u1 key.revoke", "u1 key.create"}, read("u1", 10)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"u1 key.revoke", "u2 agent.delete"}, read("", 2)); diff != "" {
			t.Error(diff)
		}
		list, err := db.Audit.List(ctx, "u1", 10)
		if err != nil || list[1].Detail["name"] != "ci \x00" || !list[1].At.Equal(rows[0].At) {
			t.Errorf("row came back as %+v, %v", list[1], err)
		}
	})
}
