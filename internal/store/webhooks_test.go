package store

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/google/go-cmp/cmp"
)

func aWebhook(t *testing.T, db *DB, turn, url string) Webhook {
	t.Helper()
	w := Webhook{
		ID: "wh_" + beeos.NewID(), Turn: turn, Channel: "ch-1", Owner: "user:u", Renderer: "openapi", URL: url,
		Seen: 1, Status: beeos.TaskQueued, Watching: true, CreatedAt: now(),
	}
	kept, err := db.PutWebhook(t.Context(), w, 10, func(*Webhook) ([]byte, error) { return []byte("sealed"), nil })
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

// news makes deliveries of a webhook, in order.
func news(t *testing.T, db *DB, w Webhook, n int) (Webhook, []string) {
	t.Helper()
	var list []WebhookDelivery
	var ids []string
	for i := range n {
		list = append(list, WebhookDelivery{ID: "whd_" + beeos.NewID(), Payload: fmt.Append(nil, i)})
		ids = append(ids, list[i].ID)
	}
	next := w
	next.Seen++
	moved, err := db.AdvanceWebhook(t.Context(), w, next, list, now())
	if err != nil || !moved {
		t.Fatalf("advance: %v, %v", moved, err)
	}
	next.Events += int64(n)
	return next, ids
}

func TestWebhookIsMovedOnce(t *testing.T) {
	each(t, func(t *testing.T, db *DB) {
		w := aWebhook(t, db, "turn-1", "https://example.com/")
		var won atomic.Int64
		together(t, 8, func(i int) error {
			next := w
			next.Seen, next.Status = 2, beeos.TaskRunning
			moved, err := db.AdvanceWebhook(t.Context(), w, next, []WebhookDelivery{{ID: fmt.Sprint("whd_", i), Payload: []byte("x")}}, now())
			if moved {
				won.Add(1)
			}
			return err
		})
		list, err := db.WebhookDeliveries(t.Context(), w.ID, 100)
		if won.Load() != 1 || len(list) != 1 || err != nil {
			t.Errorf("%d moved it, %d deliveries, %v", won.Load(), len(list), err)
		}
		got, err := db.Webhook(t.Context(), "turn-1", w.ID)
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
	each(t, func(t *testing.T, db *DB) {
		ctx := t.Context()
		var first []string
		for i := range 40 {
			_, ids := news(t, db, aWebhook(t, db, fmt.Sprint("turn-", i), "https://example.com/"), 2)
			first = append(first, ids[0])
		}
		claims := make([][]string, 8)
		together(t, 8, func(i int) error {
			for range 3 {
				list, err := db.ClaimWebhookDeliveries(ctx, fmt.Sprint("worker ", i), now(), now().Add(time.Minute), 5)
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
			list, err := db.ClaimWebhookDeliveries(ctx, "last", now(), now().Add(time.Minute), 5)
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
	each(t, func(t *testing.T, db *DB) {
		ctx := t.Context()
		w, ids := news(t, db, aWebhook(t, db, "turn-1", "https://example.com/"), 1)
		claim := func(lease string, at time.Time) []WebhookDelivery {
			t.Helper()
			list, err := db.ClaimWebhookDeliveries(ctx, lease, at, at.Add(time.Minute), 5)
			if err != nil {
				t.Fatal(err)
			}
			return list
		}
		lost := claim("dies", now())
		if len(lost) != 1 || lost[0].ID != ids[0] || len(claim("early", now().Add(30*time.Second))) != 0 {
			t.Fatalf("claimed %+v", lost)
		}
		_, err := db.RepeatWebhookDelivery(ctx, w.ID, ids[0], now())
		wantCode(t, err, beeos.Conflict)
		heir := claim("heir", now().Add(2*time.Minute))
		if len(heir) != 1 {
			t.Fatalf("the lease of a dead worker stays: %+v", heir)
		}
		done := heir[0]
		done.Status, done.Attempts, done.Tries, done.Due, done.Response, done.CompletedAt = DeliverySucceeded, 1, 1, time.Time{}, 200, now()
		done.History = []DeliveryAttempt{{At: now(), Response: 200}}
		late := lost[0]
		late.Status, late.Error = DeliveryFailed, "too late"
		for _, d := range []WebhookDelivery{done, late} { // the second has lost its lease
			if err := db.FinishWebhookDelivery(ctx, d); err != nil {
				t.Fatal(err)
			}
		}
		done.Lease = ""
		got, err := db.WebhookDelivery(ctx, w.ID, ids[0])
		if diff := cmp.Diff(done, got); diff != "" || err != nil {
			t.Errorf("%v %s", err, diff)
		}
		if list := claim("nothing", now().Add(time.Hour)); len(list) != 0 {
			t.Errorf("claimed %+v", list)
		}
		again, err := db.RepeatWebhookDelivery(ctx, w.ID, ids[0], now())
		if err != nil || again.Status != DeliveryPending || again.Attempts != 1 || again.Tries != 0 {
			t.Errorf("%+v, %v", again, err)
		}
		if err := db.DeleteWebhook(ctx, w.ID); err != nil {
			t.Fatal(err)
		}
		_, err = db.WebhookDelivery(ctx, w.ID, ids[0])
		wantCode(t, err, beeos.NotFound)
	})
}

// TestDisabledWhileOthersAreSent: what is under way to a receiver that wants no
// more is not tried again; that it was taken after all is written down.
func TestDisabledWhileOthersAreSent(t *testing.T) {
	each(t, func(t *testing.T, db *DB) {
		ctx := t.Context()
		for result, want := range map[DeliveryStatus]DeliveryStatus{DeliveryFailed: DeliveryDead, DeliverySucceeded: DeliverySucceeded} {
			w, _ := news(t, db, aWebhook(t, db, "turn-"+string(result), "https://example.com/"), 1)
			list, err := db.ClaimWebhookDeliveries(ctx, "lease", now(), now().Add(time.Minute), 10)
			if err != nil || len(list) != 1 {
				t.Fatalf("claimed %+v, %v", list, err)
			}
			if err := db.DisableWebhook(ctx, w.ID, now()); err != nil {
				t.Fatal(err)
			}
			d := list[0]
			if d.Status = result; result == DeliveryFailed {
				d.Due = now().Add(time.Minute)
			} else {
				d.Due = time.Time{}
			}
			if err := db.FinishWebhookDelivery(ctx, d); err != nil {
				t.Fatal(err)
			}
			if due, err := db.WebhooksDue(ctx, now().Add(time.Hour)); due || err != nil {
				t.Errorf("%s: there is something to be sent: %t, %v", result, due, err)
			}
			if got, err := db.WebhookDelivery(ctx, w.ID, d.ID); err != nil || got.Status != want {
				t.Errorf("%s: it is %s, %v; want %s", result, got.Status, err, want)
			}
		}
	})
}
