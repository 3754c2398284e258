package notify

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/courier"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/store/notifications"
	"github.com/beeos/beeos/internal/store/outbox"
	"github.com/beeos/beeos/internal/store/storetest"
)

// TestAskedAndDecided: a webhook is told who wants what, without secrets, signed, with
// a link that decides; then how it ended. Nothing that is kept has the link in it.
func TestAskedAndDecided(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		r := newRig(t, db)
		rec := newReceiver(t)
		c, secret := r.webhook(rec.URL)
		if !strings.HasPrefix(secret, "whsec_") || strings.Contains(string(c.Sealed), secret) {
			t.Fatalf("the secret is %q", secret)
		}
		r.run(r.Notifier)
		a := r.ask("turn-1")
		asked := rec.next(t)
		told := asked.Approval
		if asked.Type != ApprovalRequested || told.ID != a.ID || told.Status != approvals.Pending || told.Agent != "The clerk" || told.Tool != "pay" ||
			told.CallerName != "somebody" || !told.ExpiresAt.Equal(a.ExpiresAt) || asked.header.Get("X-BeeOS-Event") != ApprovalRequested {
			t.Errorf("%s", asked.body)
		}
		if strings.Contains(asked.body, "s3cret") || !strings.Contains(told.ArgumentsText, `"to": "bob"`) || !strings.Contains(string(told.Arguments), "•••") {
			t.Errorf("%s", asked.body)
		}
		r.checkSignature(asked, secret)

		address, err := url.Parse(told.URL)
		if err != nil || !strings.HasPrefix(told.URL, "http://console.test/approve?token=") {
			t.Fatalf("%q, %v", told.URL, err)
		}
		by, _, err := r.desk.FindByLink(t.Context(), address.Query().Get("token"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.desk.Decide(t.Context(), a.ID, by, true, "fine"); err != nil {
			t.Fatal(err)
		}
		decided := rec.next(t)
		if decided.Type != ApprovalDecided || decided.Approval.Status != approvals.Approved || decided.Approval.DecidedBy != "link" || decided.Approval.Reason != "fine" || decided.Approval.URL != "" {
			t.Errorf("%s", decided.body)
		}
		r.delivery(c, "taken", status(outbox.Succeeded))
		list, err := db.Notifications.ListDeliveries(t.Context(), c.ID, 10)
		if err != nil || len(list) != 2 {
			t.Fatalf("%+v, %v", list, err)
		}
		for _, d := range list {
			if strings.Contains(string(d.Payload), "token=") || strings.Contains(string(d.Payload), "s3cret") {
				t.Errorf("kept: %s", d.Payload)
			}
		}
		rec.quiet(t)
	})
}

func (r *rig) checkSignature(one received, secret string) {
	r.t.Helper()
	stamp, err := strconv.ParseInt(one.header.Get(courier.HeaderTimestamp), 10, 64)
	if err != nil {
		r.t.Fatal(err)
	}
	want := http.Header{}
	courier.Sign(want, one.header.Get(courier.HeaderID), []string{secret}, time.Unix(stamp, 0), []byte(one.body))
	for _, name := range []string{courier.HeaderSignature, courier.HeaderStandard} {
		if got := one.header.Get(name); got == "" || got != want.Get(name) {
			r.t.Errorf("%s is %q, want %q", name, got, want.Get(name))
		}
	}
}

// TestNobodyDecided: who was told hears that time ran out, or that the call ended.
func TestNobodyDecided(t *testing.T) {
	for state, end := range map[approvals.State]func(*rig, approvals.Approval) error{
		approvals.Expired: func(r *rig, a approvals.Approval) error {
			r.later(6 * time.Minute)
			_, err := r.desk.Find(r.t.Context(), a.ID, deciderOf(r))
			return err
		},
		approvals.Withdrawn: func(r *rig, a approvals.Approval) error {
			_, _, err := r.db.Approvals.Decide(r.t.Context(), approvals.Verdict{ID: a.ID, State: approvals.Withdrawn, By: "system", Reason: "the call has ended", At: r.now()})
			return err
		},
	} {
		t.Run(string(state), func(t *testing.T) {
			r := newRig(t, storetest.Open(t, storetest.SQLiteURL(t)))
			rec := newReceiver(t)
			c, _ := r.webhook(rec.URL)
			r.run(r.Notifier)
			a := r.ask("turn-1")
			rec.next(t)
			r.delivery(c, "taken", status(outbox.Succeeded))
			if err := end(r, a); err != nil {
				t.Fatal(err)
			}
			if one := rec.next(t); one.Type != ApprovalExpired || one.Approval.Status != state || one.Approval.Reason == "" {
				t.Errorf("%s", one.body)
			}
		})
	}
}

// TestHalfTime: whoever has not decided by then is reminded, once, with a link that works.
func TestHalfTime(t *testing.T) {
	r := newRig(t, storetest.Open(t, storetest.SQLiteURL(t)))
	rec := newReceiver(t)
	c, _ := r.webhook(rec.URL)
	r.run(r.Notifier)
	early, late := r.ask("turn-1"), r.ask("turn-2")
	for range 2 {
		if one := rec.next(t); one.Type != ApprovalRequested {
			t.Errorf("%s", one.body)
		}
	}
	r.decide(early, true)
	rec.next(t)
	r.delivery(c, "taken", status(outbox.Succeeded)) // a lease would run out with the clock
	r.later(2 * time.Minute)
	if _, err := r.Test(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if one := rec.next(t); one.Type != ChannelTest {
		t.Errorf("too early: %s", one.body)
	}
	r.delivery(c, "taken", status(outbox.Succeeded))
	r.later(31 * time.Second)
	again := rec.next(t)
	if again.Type != ApprovalReminder || again.Approval.ID != late.ID || again.Approval.Status != approvals.Pending || again.Approval.URL == "" {
		t.Errorf("%s", again.body)
	}
	r.delivery(c, "taken", status(outbox.Succeeded))
	r.later(time.Minute)
	r.decide(late, false)
	if one := rec.next(t); one.Type != ApprovalDecided {
		t.Errorf("%s", one.body)
	}
	r.delivery(c, "taken", status(outbox.Succeeded))
	rec.quiet(t)
}

// TestLateChannelHearsWhatWaits, and nothing of what is over.
func TestLateChannelHearsWhatWaits(t *testing.T) {
	r := newRig(t, storetest.Open(t, storetest.SQLiteURL(t)))
	r.run(r.Notifier)
	over, waits := r.ask("turn-1"), r.ask("turn-2")
	r.decide(over, true)
	rec := newReceiver(t)
	c, _ := r.webhook(rec.URL)
	if one := rec.next(t); one.Approval.ID != waits.ID {
		t.Errorf("%s", one.body)
	}
	r.decide(waits, false)
	if one := rec.next(t); one.Approval.Status != approvals.Rejected || one.Approval.DeciderName != r.owner.Name {
		t.Errorf("%s", one.body)
	}
	r.delivery(c, "taken", status(outbox.Succeeded))
	rec.quiet(t)
}

// TestLateQuestionIsNotAsked: what could not be delivered before somebody decided is
// no question any more. The end of it is told.
func TestLateQuestionIsNotAsked(t *testing.T) {
	r := newRig(t, storetest.Open(t, storetest.SQLiteURL(t)))
	rec := newReceiver(t)
	rec.answer.Store(http.StatusInternalServerError)
	c, _ := r.webhook(rec.URL)
	r.run(r.Notifier)
	a := r.ask("turn-1")
	rec.next(t)
	failed := r.delivery(c, "failed", status(outbox.Failed))
	r.decide(a, true)
	if one := rec.next(t); one.Type != ApprovalDecided {
		t.Errorf("%s", one.body)
	}
	rec.answer.Store(0)
	r.later(time.Minute)
	if one := rec.next(t); one.Type != ApprovalDecided {
		t.Errorf("%s", one.body)
	}
	r.delivery(c, "taken", status(outbox.Succeeded))
	for end := time.Now().Add(within); ; <-time.After(2 * time.Millisecond) {
		d, err := r.db.Notifications.GetDelivery(t.Context(), c.ID, failed.ID)
		if err != nil || time.Now().After(end) {
			t.Fatalf("%+v, %v", d, err)
		}
		if d.Status == outbox.Dead {
			if d.Attempts != 1 || !strings.Contains(d.Error, "decided") {
				t.Errorf("%+v", d)
			}
			break
		}
	}
	rec.quiet(t)
	if _, err := r.Redeliver(t.Context(), c, failed.ID); err != nil {
		t.Fatal(err)
	}
	d, err := r.Test(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if one := rec.next(t); one.Type != ChannelTest || one.header.Get(courier.HeaderID) != d.ID {
		t.Errorf("a question that is over was asked again: %s", one.body)
	}
}

// TestManyNodes tell each channel once of each thing.
func TestManyNodes(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		r := newRig(t, db)
		first, second := newReceiver(t), newReceiver(t)
		r.webhook(first.URL)
		r.webhook(second.URL)
		for range 4 {
			r.run(r.node())
		}
		asked := map[string]int{}
		for i := range 10 {
			a := r.ask("turn-" + strconv.Itoa(i))
			for _, rec := range []*receiver{first, second} {
				asked[rec.next(t).Approval.ID]++
			}
			if asked[a.ID] != 2 {
				t.Fatalf("%v", asked)
			}
			r.decide(a, i%2 == 0)
			for _, rec := range []*receiver{first, second} {
				if one := rec.next(t); one.Type != ApprovalDecided || one.Approval.ID != a.ID {
					t.Fatalf("%s", one.body)
				}
			}
		}
		first.quiet(t)
		second.quiet(t)
	})
}

// TestLockedOutIsNotAsked: neither by a message that was on its way, nor by the link
// of an earlier one.
func TestLockedOutIsNotAsked(t *testing.T) {
	r := newRig(t, storetest.Open(t, storetest.SQLiteURL(t)))
	rec := newReceiver(t)
	rec.answer.Store(http.StatusInternalServerError)
	c, _ := r.webhook(rec.URL)
	r.run(r.Notifier)
	r.ask("turn-1")
	one := rec.next(t)
	r.delivery(c, "failed", status(outbox.Failed))
	if err := r.db.People.Lock(t.Context(), r.owner.ID, database.Now()); err != nil {
		t.Fatal(err)
	}
	r.later(time.Minute)
	if d := r.delivery(c, "given up", status(outbox.Dead)); !strings.Contains(d.Error, "locked out") || d.Attempts != 1 {
		t.Errorf("%+v", d)
	}
	address, err := url.Parse(one.Approval.URL)
	if err != nil {
		t.Fatal(err)
	}
	if _, a, err := r.desk.FindByLink(t.Context(), address.Query().Get("token")); beeos.CodeOf(err) != beeos.NotFound || a.ID != "" {
		t.Errorf("the link of somebody who is locked out: %+v, %v", a, err)
	}
	rec.quiet(t)
}

// TestGoneDisables: a receiver that answers 410 is left alone until it is set up anew.
func TestGoneDisables(t *testing.T) {
	r := newRig(t, storetest.Open(t, storetest.SQLiteURL(t)))
	rec := newReceiver(t)
	rec.answer.Store(http.StatusGone)
	c, _ := r.webhook(rec.URL)
	r.run(r.Notifier)
	r.ask("turn-1")
	rec.next(t)
	r.delivery(c, "given up", status(outbox.Dead))
	for end := time.Now().Add(within); !c.Disabled; <-time.After(2 * time.Millisecond) {
		var err error
		if c, err = r.db.Notifications.Get(t.Context(), c.ID); err != nil || time.Now().After(end) {
			t.Fatalf("%+v, %v", c, err)
		}
	}
	if _, err := r.Test(t.Context(), c); beeos.CodeOf(err) != beeos.Conflict {
		t.Error(err)
	}
}

// TestWhatCannotBeAChannel is refused before anything is kept.
func TestWhatCannotBeAChannel(t *testing.T) {
	r := newRig(t, storetest.Open(t, storetest.SQLiteURL(t)), func(o *Options) { o.AllowPrivate = false })
	for name, s := range map[string]Setup{
		"no kind":        {},
		"unknown kind":   {Kind: "pigeon"},
		"no URL":         {Kind: notifications.Webhook},
		"inside":         {Kind: notifications.Webhook, URL: "http://169.254.169.254/"},
		"this machine":   {Kind: notifications.Webhook, URL: "http://127.0.0.1/"},
		"short secret":   {Kind: notifications.Webhook, URL: "https://8.8.8.8/", Secret: "short"},
		"split a header": {Kind: notifications.Webhook, URL: "https://8.8.8.8/", Token: "a\r\nX: y"},
	} {
		if _, _, err := r.Create(t.Context(), r.owner.ID, s); err == nil || beeos.CodeOf(err) == beeos.InternalError {
			t.Errorf("%s: %v", name, err)
		}
	}
	if list, err := r.db.Notifications.List(t.Context(), r.owner.ID); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestWorkerDiesBetween: what one process noted and did not live to send is sent by
// the next, and asked once.
func TestWorkerDiesBetween(t *testing.T) {
	r := newRig(t, storetest.Open(t, storetest.SQLiteURL(t)))
	rec := newReceiver(t)
	c, _ := r.webhook(rec.URL)
	a := r.ask("turn-1")
	if err := r.tellNews(t.Context()); err != nil { // and then it dies
		t.Fatal(err)
	}
	claimed, err := r.db.Notifications.ClaimDeliveries(t.Context(), "dead", r.now(), r.now().Add(20*time.Second), 10)
	if err != nil || len(claimed) != 1 {
		t.Fatalf("%+v, %v", claimed, err)
	}
	var attempts atomic.Int64
	r.run(r.node(func(o *Options) { o.Attempted = func(outbox.Status) { attempts.Add(1) } }))
	r.later(30 * time.Second)
	if one := rec.next(t); one.Approval.ID != a.ID || one.header.Get(courier.HeaderID) != claimed[0].ID {
		t.Errorf("%s", one.body)
	}
	r.delivery(c, "taken", status(outbox.Succeeded))
	if attempts.Load() != 1 {
		t.Errorf("%d attempts", attempts.Load())
	}
	late := claimed[0]
	late.Status, late.Due, late.Error = outbox.Failed, r.now(), errors.New("of the dead").Error()
	if err := r.db.Notifications.FinishDelivery(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	if d := r.delivery(c, "still taken", status(outbox.Succeeded)); d.Error != "" {
		t.Errorf("%+v", d)
	}
	rec.quiet(t)
}
