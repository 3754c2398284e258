package notify

import (
	"net/url"
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

// person makes somebody with a webhook of their own.
func (r *rig) person(email string) (beeos.User, *receiver, notifications.Channel) {
	r.t.Helper()
	u, _ := storetest.Owner(r.t, r.db, email)
	rec := newReceiver(r.t)
	c, _, err := r.Create(r.t.Context(), u.ID, Setup{Kind: notifications.Webhook, URL: rec.URL})
	if err != nil {
		r.t.Fatal(err)
	}
	return u, rec, c
}

// askReviewers makes an approval that people decide about, some of them from half time on.
func (r *rig) askReviewers(turn string, change func(q *approvals.Approval), first, second []string) approvals.Approval {
	r.t.Helper()
	q := storetest.Question(r.owner.ID, turn, `{"to":"bob","pin":"s3cret"}`, r.now())
	q.AgentID, q.Tool, q.ExpiresAt = r.agent, "pay", q.CreatedAt.Add(5*time.Minute)
	for _, id := range first {
		q.Reviewers = append(q.Reviewers, approvals.Reviewer{UserID: id, Since: q.CreatedAt})
	}
	for _, id := range second {
		q.Reviewers = append(q.Reviewers, approvals.Reviewer{UserID: id, Since: q.CreatedAt.Add(150 * time.Second)})
	}
	if change != nil {
		change(&q)
	}
	a, _, err := r.db.Approvals.Ask(r.t.Context(), q, "r")
	if err != nil {
		r.t.Fatal(err)
	}
	return a
}

// TestReviewersAreTold: all who may decide, and nobody else; second reviewers at half time,
// when the others are reminded unless they have said yes.
func TestReviewersAreTold(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		r := newRig(t, db)
		owner := newReceiver(t)
		r.webhook(owner.URL)
		bob, first, toBob := r.person("bob@example.com")
		carol, other, toCarol := r.person("carol@example.com")
		eve, second, _ := r.person("eve@example.com")
		r.run(r.Notifier)
		a := r.askReviewers("turn-1", func(q *approvals.Approval) { q.OnlyReviewers, q.Need = true, 2 }, []string{bob.ID, carol.ID}, []string{eve.ID})
		asked := first.next(t)
		if asked.Type != ApprovalRequested || asked.Approval.ID != a.ID || asked.Approval.Needed != 2 {
			t.Errorf("%s", asked.body)
		}
		alsoAsked := other.next(t)
		address, err := url.Parse(asked.Approval.URL)
		if err != nil {
			t.Fatal(err)
		}
		by, _, err := r.desk.FindByLink(t.Context(), address.Query().Get("token"))
		if err != nil || !by.IsFor(bob.ID) {
			t.Fatalf("the link is not the reviewer's own: %+v, %v", by, err)
		}
		if got, err := r.desk.Decide(t.Context(), a.ID, by, true, ""); err != nil || !got.Open() {
			t.Fatalf("%+v, %v", got, err)
		}
		second.quiet(t)
		r.delivery(toBob, "taken", status(outbox.Succeeded)) // else what is on its way comes twice
		r.delivery(toCarol, "taken", status(outbox.Succeeded))
		r.later(151 * time.Second)
		if late := second.next(t); late.Type != ApprovalRequested || late.Approval.ID != a.ID || late.Approval.URL == "" {
			t.Errorf("a second reviewer is told %s", late.body)
		}
		if again := other.next(t); again.Type != ApprovalReminder {
			t.Errorf("%s", again.body)
		}
		address, err = url.Parse(alsoAsked.Approval.URL)
		if err != nil {
			t.Fatal(err)
		}
		if by, _, err = r.desk.FindByLink(t.Context(), address.Query().Get("token")); err != nil {
			t.Fatal(err)
		}
		if got, err := r.desk.Decide(t.Context(), a.ID, by, true, ""); err != nil || got.State != approvals.Approved {
			t.Fatalf("%+v, %v", got, err)
		}
		for _, rec := range []*receiver{first, other, second} { // who has said yes was not reminded
			if ended := rec.next(t); ended.Type != ApprovalDecided {
				t.Errorf("%s", ended.body)
			}
		}
		owner.quiet(t)
	})
}

// TestWhomTheCallIsForIsNotTold: neither as the owner nor as a reviewer.
func TestWhomTheCallIsForIsNotTold(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		r := newRig(t, db)
		owner := newReceiver(t)
		r.webhook(owner.URL)
		bob, told, _ := r.person("bob@example.com")
		r.run(r.Notifier)
		r.askReviewers("turn-1", func(q *approvals.Approval) { q.Barred = r.owner.ID }, []string{bob.ID, r.owner.ID}, nil)
		told.next(t)
		owner.quiet(t)
	})
}

// TestExReviewerHearsNothingMore: a message on its way is not sent to who is no reviewer
// any more, their buttons decide nothing, and of the end they are told no arguments.
func TestExReviewerHearsNothingMore(t *testing.T) {
	slack := newService(t, slackDemands)
	r := newRig(t, storetest.Open(t, storetest.SQLiteURL(t)), func(o *Options) { o.Slack, o.REST = slack.URL, "https://api.test/" })
	bob, _ := storetest.Owner(t, r.db, "bob@example.com")
	c, _, err := r.Create(t.Context(), bob.ID, Setup{Kind: notifications.Slack, To: "U024BE7LH", Token: botToken, Secret: signing})
	if err != nil {
		t.Fatal(err)
	}
	hook := newReceiver(t)
	hook.answer.Store(500)
	w, _, err := r.Create(t.Context(), bob.ID, Setup{Kind: notifications.Webhook, URL: hook.URL})
	if err != nil {
		t.Fatal(err)
	}
	r.run(r.Notifier)
	a := r.askReviewers("turn-1", nil, []string{bob.ID}, nil)
	slack.call(t, "chat.postMessage")
	hook.next(t)
	r.delivery(w, "failed", status(outbox.Failed))
	r.delivery(c, "taken", status(outbox.Succeeded))
	rule := approvals.Rule{AgentID: r.agent, Mode: approvals.ModeAsk, UpdatedAt: database.Now(), Review: &approvals.Review{Reviewers: []string{"carol"}}}
	if err := r.db.Approvals.SetRules(t.Context(), []approvals.Rule{rule}); err != nil {
		t.Fatal(err)
	}
	hook.answer.Store(0)
	r.later(time.Minute)
	if d := r.delivery(w, "given up", status(outbox.Dead)); !strings.Contains(d.Error, "does not decide") {
		t.Errorf("%+v", d)
	}
	header, body := slackPress("U024BE7LH", "approve", a.ID, signing, r.now())
	if _, err := r.Press(t.Context(), c.ID, header, body); err != nil {
		t.Error(err)
	}
	if row, err := r.db.Approvals.Get(t.Context(), a.ID); err != nil || !row.Open() {
		t.Fatalf("an old button decides: %+v, %v", row, err)
	}
	r.decide(a, false)
	slack.call(t, "chat.update")
	if ended := hook.next(t); ended.Type != ApprovalDecided || len(ended.Approval.Arguments) != 0 || strings.Contains(ended.body, "bob") {
		t.Errorf("%s", ended.body)
	}
}
