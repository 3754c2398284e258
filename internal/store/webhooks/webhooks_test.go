package webhooks_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/store/outbox"
	"github.com/beeos/beeos/internal/store/storetest"
	"github.com/beeos/beeos/internal/store/webhooks"
)

func TestWebhookIsMovedOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		w := storetest.Webhook(t, db, "turn-1", "https://example.com/")
		var won atomic.Int64
		storetest.Together(t, 8, func(i int) error {
			next := w
			next.Seen, next.Status = 2, beeos.TaskRunning
			moved, err := db.Webhooks.Advance(t.Context(), w, next, []outbox.Delivery{{ID: fmt.Sprint("whd_", i), Payload: []byte("x")}}, database.Now())
			if moved {
				won.Add(1)
			}
			return err
		})
		list, err := db.Webhooks.ListDeliveries(t.Context(), w.ID, 100)
		if won.Load() != 1 || len(list) != 1 || err != nil {
			t.Errorf("%d moved it, %d deliveries, %v", won.Load(), len(list), err)
		}
		got, err := db.Webhooks.Get(t.Context(), "turn-1", w.ID)
		want := w
		want.Seen, want.Status, want.Events = 2, beeos.TaskRunning, 1
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v %s", err, diff)
		}
	})
}

// TestDeliveriesHaveOneOwner: many claim at once; each delivery goes to one of
// them, and the first attempts of a webhook one after the other.
func TestDeliveriesHaveOneOwner(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx := t.Context()
		var first []string
		for i := range 40 {
			_, ids := storetest.News(t, db, storetest.Webhook(t, db, fmt.Sprint("turn-", i), "https://example.com/"), 2)
			first = append(first, ids[0])
		}
		claims := make([][]string, 8)
		storetest.Together(t, 8, func(i int) error {
			for range 3 {
				list, err := db.Webhooks.ClaimDeliveries(ctx, fmt.Sprint("worker ", i), database.Now(), database.Now().Add(time.Minute), 5)
				if err != nil {
					return err
				}
				for _, d := range list {
					claims[i] = append(claims[i], d.ID)
				}
			}
			return nil
		})
		claimed := slices.Concat(claims...)
		for len(claimed) < 40 { // those that were passed over
			list, err := db.Webhooks.ClaimDeliveries(ctx, "last", database.Now(), database.Now().Add(time.Minute), 5)
			if err != nil || len(list) == 0 {
				t.Fatalf("%d of 40 claimed, then %v", len(claimed), err)
			}
			for _, d := range list {
				claimed = append(claimed, d.ID)
			}
		}
		slices.Sort(claimed)
		slices.Sort(first)
		if diff := cmp.Diff(first, claimed); diff != "" {
			t.Error(diff)
		}
	})
}

func TestDeliveryLease(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx := t.Context()
		unsent := func(want int) {
			t.Helper()
			if n, due, err := db.Webhooks.CountUnsent(ctx); err != nil || n != want || due.IsZero() != (want == 0) || time.Since(due) < 0 {
				t.Errorf("%d are to be sent, the first at %s, %v; want %d", n, due, err, want)
			}
		}
		unsent(0)
		w, ids := storetest.News(t, db, storetest.Webhook(t, db, "turn-1", "https://example.com/"), 1)
		unsent(1)
		claim := func(lease string, at time.Time) []outbox.Delivery {
			t.Helper()
			list, err := db.Webhooks.ClaimDeliveries(ctx, lease, at, at.Add(time.Minute), 5)
			if err != nil {
				t.Fatal(err)
			}
			return list
		}
		lost := claim("dies", database.Now())
		if len(lost) != 1 || lost[0].ID != ids[0] || len(claim("early", database.Now().Add(30*time.Second))) != 0 {
			t.Fatalf("claimed %+v", lost)
		}
		_, err := db.Webhooks.RepeatDelivery(ctx, w.ID, ids[0], database.Now())
		storetest.WantCode(t, err, beeos.Conflict)
		heir := claim("heir", database.Now().Add(2*time.Minute))
		if len(heir) != 1 {
			t.Fatalf("the lease of a dead worker stays: %+v", heir)
		}
		done := heir[0]
		done.Status, done.Attempts, done.Tries, done.Due, done.Response, done.CompletedAt = outbox.Succeeded, 1, 1, time.Time{}, 200, database.Now()
		done.History = []outbox.Attempt{{At: database.Now(), Response: 200}}
		late := lost[0]
		late.Status, late.Error = outbox.Failed, "too late"
		for _, d := range []outbox.Delivery{done, late} { // the second has lost its lease
			if err := db.Webhooks.FinishDelivery(ctx, d); err != nil {
				t.Fatal(err)
			}
		}
		unsent(0)
		done.Lease = ""
		got, err := db.Webhooks.GetDelivery(ctx, w.ID, ids[0])
		if diff := cmp.Diff(done, got); diff != "" || err != nil {
			t.Errorf("%v %s", err, diff)
		}
		if list := claim("nothing", database.Now().Add(time.Hour)); len(list) != 0 {
			t.Errorf("claimed %+v", list)
		}
		again, err := db.Webhooks.RepeatDelivery(ctx, w.ID, ids[0], database.Now())
		if err != nil || again.Status != outbox.Pending || again.Attempts != 1 || again.Tries != 0 {
			t.Errorf("%+v, %v", again, err)
		}
		if err := db.Webhooks.Delete(ctx, w.ID); err != nil {
			t.Fatal(err)
		}
		_, err = db.Webhooks.GetDelivery(ctx, w.ID, ids[0])
		storetest.WantCode(t, err, beeos.NotFound)
	})
}

// TestDisabledWhileOthersAreSent: what is under way to a receiver that wants no
// more is not tried again; that it was taken after all is written down.
func TestDisabledWhileOthersAreSent(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx := t.Context()
		for result, want := range map[outbox.Status]outbox.Status{outbox.Failed: outbox.Dead, outbox.Succeeded: outbox.Succeeded} {
			w, _ := storetest.News(t, db, storetest.Webhook(t, db, "turn-"+string(result), "https://example.com/"), 1)
			list, err := db.Webhooks.ClaimDeliveries(ctx, "lease", database.Now(), database.Now().Add(time.Minute), 10)
			if err != nil || len(list) != 1 {
				t.Fatalf("claimed %+v, %v", list, err)
			}
			if err := db.Webhooks.Disable(ctx, w.ID, database.Now()); err != nil {
				t.Fatal(err)
			}
			d := list[0]
			if d.Status = result; result == outbox.Failed {
				d.Due = database.Now().Add(time.Minute)
			} else {
				d.Due = time.Time{}
			}
			if err := db.Webhooks.FinishDelivery(ctx, d); err != nil {
				t.Fatal(err)
			}
			if due, err := db.Webhooks.AnyDue(ctx, database.Now().Add(time.Hour)); due || err != nil {
				t.Errorf("%s: there is something to be sent: %t, %v", result, due, err)
			}
			if got, err := db.Webhooks.GetDelivery(ctx, w.ID, d.ID); err != nil || got.Status != want {
				t.Errorf("%s: it is %s, %v; want %s", result, got.Status, err, want)
			}
		}
	})
}

// TestListSent: deliveries to the webhooks of some owners, newest first, page by
// page, and those that were not taken alone.
func TestListSent(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx := t.Context()
		w, ids := storetest.News(t, db, storetest.Webhook(t, db, "turn-1", "https://example.com/"), 3)
		list := func(f webhooks.SentFilter) (found []string) {
			t.Helper()
			f.Limit = max(f.Limit, 1)
			all, err := db.Webhooks.ListSent(ctx, f)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range all {
				if s.Webhook.URL != w.URL || s.Webhook.Turn != "turn-1" || s.Payload != nil || s.Webhook.Sealed != nil {
					t.Errorf("%+v", s)
				}
				found = append(found, s.ID)
			}
			return found
		}
		if diff := cmp.Diff([]string{ids[2], ids[1], ids[0]}, list(webhooks.SentFilter{Owners: []string{"key:x", "user:u"}, Limit: 10})); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{ids[1]}, list(webhooks.SentFilter{Owners: []string{"user:u"}, Before: ids[2], Limit: 1})); diff != "" {
			t.Error(diff)
		}
		if found := list(webhooks.SentFilter{Owners: []string{"user:other"}, Limit: 10}); found != nil {
			t.Errorf("of somebody else: %v", found)
		}
		if err := db.Webhooks.Disable(ctx, w.ID, database.Now()); err != nil {
			t.Fatal(err)
		}
		if found := list(webhooks.SentFilter{Owners: []string{"user:u"}, Problems: true, Limit: 10}); len(found) != 3 {
			t.Errorf("given up: %v", found)
		}
		if got, err := db.Webhooks.FindByDelivery(ctx, ids[1]); err != nil || got.ID != w.ID {
			t.Errorf("%+v %v", got, err)
		}
		if _, err := db.Webhooks.FindByDelivery(ctx, "whd_none"); beeos.CodeOf(err) != beeos.NotFound {
			t.Error(err)
		}
	})
}

// TestListEndsTaken: that receivers took the news of a task's end is known, and what
// they were told before, or did not take, is none.
func TestListEndsTaken(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx := t.Context()
		taken := func(want int) {
			t.Helper()
			if list, err := db.Webhooks.ListEndsTaken(ctx, "turn-1"); err != nil || len(list) != want {
				t.Errorf("%v, %v; want %d", list, err, want)
			}
		}
		send := func(status outbox.Status) {
			t.Helper()
			list, err := db.Webhooks.ClaimDeliveries(ctx, "worker", database.Now(), database.Now().Add(time.Minute), 5)
			if err != nil || len(list) != 1 {
				t.Fatalf("%+v, %v", list, err)
			}
			d := list[0]
			d.Status, d.Due, d.CompletedAt = status, time.Time{}, database.Now()
			if err := db.Webhooks.FinishDelivery(ctx, d); err != nil {
				t.Fatal(err)
			}
		}
		w, _ := storetest.News(t, db, storetest.Webhook(t, db, "turn-1", "https://example.com/"), 1)
		send(outbox.Succeeded) // that it runs
		taken(0)
		w.Watching = false
		w, ids := storetest.News(t, db, w, 1) // that it has ended
		taken(0)
		send(outbox.Dead)
		taken(0)
		if _, err := db.Webhooks.RepeatDelivery(ctx, w.ID, ids[0], database.Now()); err != nil {
			t.Fatal(err)
		}
		send(outbox.Succeeded)
		taken(1)
		if list, err := db.Webhooks.ListEndsTaken(ctx, "turn-2"); err != nil || len(list) != 0 {
			t.Errorf("of another task: %v, %v", list, err)
		}
	})
}
