package notifications_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/store/notifications"
	"github.com/beeos/beeos/internal/store/outbox"
	"github.com/beeos/beeos/internal/store/storetest"
)

// channel makes a webhook of somebody's.
func channel(t *testing.T, db *store.Store, owner, id string) notifications.Channel {
	t.Helper()
	c := notifications.Channel{ID: id, OwnerID: owner, Kind: notifications.Webhook, Target: "https://example.com/" + id, Sealed: []byte{0}, CreatedAt: database.Now()}
	if err := db.Notifications.Create(t.Context(), c, 10); err != nil {
		t.Fatal(err)
	}
	return c
}

// asked makes an approval that waits for somebody.
func asked(t *testing.T, db *store.Store, owner, turn string) approvals.Approval {
	t.Helper()
	a, _, err := db.Approvals.Ask(t.Context(), storetest.Question(owner, turn, "{}", database.Now()), "r")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// untold lists what channels do not know of, as APPROVAL>CHANNEL.
func untold(t *testing.T, db *store.Store, now time.Time) []string {
	t.Helper()
	list, err := db.Notifications.ListUntold(t.Context(), now, 100)
	return pairs(t, list, err)
}

func ended(t *testing.T, db *store.Store) []string {
	t.Helper()
	list, err := db.Notifications.ListEnded(t.Context(), 100)
	return pairs(t, list, err)
}

func pairs(t *testing.T, list []notifications.News, err error) (all []string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range list {
		all = append(all, n.Approval+">"+n.Channel.ID)
	}
	return all
}

// TestEachIsToldOnce: of many nodes that tell the same channel of the same approval
// one does, and so it is with its end.
func TestEachIsToldOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		u, _ := storetest.Owner(t, db, "ann@example.com")
		other, _ := storetest.Owner(t, db, "bob@example.com")
		c := channel(t, db, u.ID, "nch_1")
		channel(t, db, other.ID, "nch_2")
		a := asked(t, db, u.ID, "m1")
		if got := untold(t, db, database.Now()); len(got) != 1 || got[0] != a.ID+">nch_1" {
			t.Fatalf("untold %v", got)
		}
		if got := untold(t, db, a.ExpiresAt); len(got) != 0 {
			t.Errorf("too late to be told: %v", got)
		}
		news := notifications.News{Approval: a.ID, Channel: c}
		told := make([]bool, 8)
		storetest.Together(t, 8, func(i int) (err error) {
			told[i], err = db.Notifications.TellAsked(t.Context(), news, outbox.Delivery{ID: fmt.Sprint("asked-", i), Payload: []byte("{}")}, database.Now().Add(time.Minute), database.Now())
			return err
		})
		if got := untold(t, db, database.Now()); count(told) != 1 || len(got) != 0 || len(ended(t, db)) != 0 {
			t.Fatalf("%v told, untold %v", told, got)
		}
		if _, _, err := db.Approvals.Decide(t.Context(), approvals.Verdict{ID: a.ID, State: approvals.Rejected, By: "user:" + u.ID, At: database.Now()}); err != nil {
			t.Fatal(err)
		}
		if got := ended(t, db); len(got) != 1 || got[0] != a.ID+">nch_1" {
			t.Fatalf("ended %v", got)
		}
		storetest.Together(t, 8, func(i int) (err error) {
			told[i], err = db.Notifications.TellEnded(t.Context(), news, &outbox.Delivery{ID: fmt.Sprint("ended-", i), Payload: []byte("{}")}, database.Now())
			return err
		})
		sent, err := db.Notifications.ListDeliveries(t.Context(), c.ID, 10)
		if err != nil || count(told) != 1 || len(sent) != 2 || len(ended(t, db)) != 0 || len(untold(t, db, database.Now())) != 0 {
			t.Errorf("%v told, %d sent, %v", told, len(sent), err)
		}
	})
}

func count(list []bool) (n int) {
	for _, b := range list {
		if b {
			n++
		}
	}
	return n
}

// TestNobodyElseIsTold: neither who is locked out, nor a channel that is gone or
// wants no more; and what was to be sent to those goes with them.
func TestNobodyElseIsTold(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		u, _ := storetest.Owner(t, db, "ann@example.com")
		locked, _ := storetest.Owner(t, db, "bob@example.com")
		off, gone := channel(t, db, u.ID, "nch_off"), channel(t, db, u.ID, "nch_gone")
		channel(t, db, locked.ID, "nch_locked")
		a := asked(t, db, u.ID, "m1")
		asked(t, db, locked.ID, "m2")
		for _, c := range []notifications.Channel{off, gone} {
			if _, err := db.Notifications.TellAsked(t.Context(), notifications.News{Approval: a.ID, Channel: c}, outbox.Delivery{ID: "nd_" + c.ID, Payload: []byte("{}")}, database.Now().Add(time.Minute), database.Now()); err != nil {
				t.Fatal(err)
			}
		}
		asked(t, db, u.ID, "m3")
		for _, err := range []error{db.People.Lock(t.Context(), locked.ID, database.Now()), db.Notifications.Disable(t.Context(), off.ID, database.Now()), db.Notifications.Delete(t.Context(), gone.ID)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if got := untold(t, db, database.Now()); len(got) != 0 {
			t.Errorf("%v", got)
		}
		if due, err := db.Notifications.AnyDue(t.Context(), database.Now().Add(time.Minute)); due || err != nil {
			t.Errorf("something is still to be sent: %v", err)
		}
		if told, err := db.Notifications.TellAsked(t.Context(), notifications.News{Approval: "a", Channel: gone}, outbox.Delivery{ID: "late", Payload: []byte("{}")}, database.Now().Add(time.Minute), database.Now()); told || err != nil {
			t.Errorf("a channel that is gone was told: %v", err)
		}
	})
}

// TestEachIsRemindedOnce: when it is time, and of what still waits.
func TestEachIsRemindedOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		u, _ := storetest.Owner(t, db, "ann@example.com")
		c := channel(t, db, u.ID, "nch_1")
		waits, over := asked(t, db, u.ID, "m1"), asked(t, db, u.ID, "m2")
		soon := database.Now().Add(30 * time.Second)
		for _, a := range []approvals.Approval{waits, over} {
			if _, err := db.Notifications.TellAsked(t.Context(), notifications.News{Approval: a.ID, Channel: c}, outbox.Delivery{ID: "nd_" + a.ID, Payload: []byte("{}")}, soon, database.Now()); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := db.Notifications.TellEnded(t.Context(), notifications.News{Approval: over.ID, Channel: c}, nil, database.Now()); err != nil {
			t.Fatal(err)
		}
		due := func(at time.Time) []string {
			list, err := db.Notifications.ListToRemind(t.Context(), at, 10)
			return pairs(t, list, err)
		}
		if early, late := due(soon.Add(-time.Second)), due(soon); len(early) != 0 || len(late) != 1 || late[0] != waits.ID+">nch_1" {
			t.Fatalf("%v, then %v", early, late)
		}
		told := make([]bool, 8)
		storetest.Together(t, 8, func(i int) (err error) {
			told[i], err = db.Notifications.TellAgain(t.Context(), notifications.News{Approval: waits.ID, Channel: c}, &outbox.Delivery{ID: fmt.Sprint("again-", i), Payload: []byte("{}")}, soon)
			return err
		})
		if left := due(soon); count(told) != 1 || len(left) != 0 {
			t.Errorf("%v told, left %v", told, left)
		}
	})
}

func TestOneOfAKind(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		u, _ := storetest.Owner(t, db, "ann@example.com")
		c := channel(t, db, u.ID, "nch_1")
		c.ID = "nch_2"
		storetest.WantCode(t, db.Notifications.Create(t.Context(), c, 10), beeos.Conflict, "already")
		c.Target = "https://example.com/another"
		storetest.WantCode(t, db.Notifications.Create(t.Context(), c, 1), beeos.InvalidParam, "most")
	})
}

// TestOldNewsAreForgotten, but not what is still to be sent, nor what still waits:
// that would be told again.
func TestOldNewsAreForgotten(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		u, _ := storetest.Owner(t, db, "ann@example.com")
		c := channel(t, db, u.ID, "nch_1")
		a := asked(t, db, u.ID, "m1")
		if _, err := db.Notifications.TellAsked(t.Context(), notifications.News{Approval: a.ID, Channel: c}, outbox.Delivery{ID: "nd_1", Payload: []byte("{}")}, database.Now().Add(time.Minute), database.Now()); err != nil {
			t.Fatal(err)
		}
		later := database.Now().Add(time.Hour)
		if err := db.Notifications.Prune(t.Context(), later); err != nil {
			t.Fatal(err)
		}
		list, err := db.Notifications.ListDeliveries(t.Context(), c.ID, 10)
		if got := untold(t, db, database.Now()); err != nil || len(list) != 1 || len(got) != 0 {
			t.Fatalf("%d deliveries, untold %v, %v", len(list), got, err)
		}
		claimed, err := db.Notifications.ClaimDeliveries(t.Context(), "w", database.Now(), later, 10)
		if err != nil || len(claimed) != 1 {
			t.Fatalf("%+v, %v", claimed, err)
		}
		claimed[0].Status, claimed[0].Due = outbox.Succeeded, time.Time{}
		if err := db.Notifications.FinishDelivery(t.Context(), claimed[0]); err != nil {
			t.Fatal(err)
		}
		if err := db.Notifications.Prune(t.Context(), later); err != nil {
			t.Fatal(err)
		}
		if list, err = db.Notifications.ListDeliveries(t.Context(), c.ID, 10); err != nil || len(list) != 0 {
			t.Errorf("%+v, %v", list, err)
		}
	})
}

// TestLooksReadIndexes: what happens every second reads what is open, and no table of
// what has been.
func TestLooksReadIndexes(t *testing.T) {
	db := storetest.Open(t, storetest.SQLiteURL(t))
	for query, index := range notifications.Looks {
		var id, parent, unused int
		plan, err := database.List(t.Context(), db, "explain", func(step *string) []any { return []any{&id, &parent, &unused, step} },
			"EXPLAIN QUERY PLAN "+strings.NewReplacer("$1", "1", "$2", "1").Replace(query))
		all := strings.Join(plan, "\n")
		if err != nil || !strings.Contains(all, index) {
			t.Errorf("%s\n%s\n%v", query, all, err)
		}
		for _, step := range plan {
			if strings.HasPrefix(step, "SCAN") && step != "SCAN CONSTANT ROW" && !strings.Contains(step, "INDEX") {
				t.Errorf("%s\n%s", query, all)
			}
		}
	}
}
