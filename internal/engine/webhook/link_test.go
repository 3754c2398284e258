package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/outbox"
	"github.com/beeos/beeos/internal/store/webhooks"
)

func hexMAC(secret, text string) string {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte(text))
	return hex.EncodeToString(m.Sum(nil))
}

// asks pauses a task for an approval.
func (r *rig) asks(task *beeos.Message, approval string) {
	r.t.Helper()
	m := beeos.Message{
		Channel: task.Channel, InReplyTo: task.ID, Type: beeos.AgentInputRequired, Publisher: "agent_a",
		Payload: json.RawMessage(`{"approval":{"id":"` + approval + `","tool":"save_csv"}}`),
	}
	if _, err := r.ledger.Append(r.t.Context(), m); err != nil {
		r.t.Fatal(err)
	}
}

// approvalIn is what a body says about an approval.
func approvalIn(t *testing.T, body string) (a taskEventApproval) {
	t.Helper()
	var b taskEventBody
	if err := json.Unmarshal([]byte(body), &b); err != nil || b.Approval == nil {
		t.Fatalf("%s: %v", body, err)
	}
	return *b.Approval
}

// TestLinksAreMadeForEachAttempt: what is sent has a link and is signed with
// it; what is kept, listed and logged has none.
func TestLinksAreMadeForEachAttempt(t *testing.T) {
	var trouble atomic.Bool
	var asked atomic.Pointer[webhooks.Webhook]
	r := newRig(t, sqliteDSN(t), func(o *Options) {
		o.ApprovalLink = func(_ context.Context, id string, w webhooks.Webhook) (string, error) {
			asked.Store(&w)
			if trouble.Load() {
				return "", errors.New("no link today")
			}
			return "https://console.test/approve?token=s3cret-" + id, nil
		}
	}).start()
	rec := newReceiver(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 2 { // the first about the approval
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	task := r.task()
	const secret = "0123456789abcdef"
	w := r.register(task, rec.URL, "", secret)
	r.claim()
	rec.wait(t, 1)
	r.asks(task, "ask-1")
	about := func(id string, is func(outbox.Delivery) bool) func(outbox.Delivery) bool {
		return func(d outbox.Delivery) bool { return strings.Contains(string(d.Payload), id) && is(d) }
	}
	r.delivery(w, "refused once", about("ask-1", tried(1)))
	r.later(2 * time.Minute)
	d := r.delivery(w, "taken", about("ask-1", status(outbox.Succeeded)))
	got := rec.wait(t, 3)
	for _, one := range got[1:] {
		if a := approvalIn(t, one.body); a.ID != "ask-1" || a.URL != "https://console.test/approve?token=s3cret-ask-1" || one.Event.Status != "input_required" {
			t.Errorf("told %s", one.body)
		}
		stamp, _, _ := strings.Cut(strings.TrimPrefix(one.header.Get("X-BeeOS-Signature"), "t="), ",")
		if want := "v1=" + hexMAC(secret, stamp+"."+one.body); !strings.HasSuffix(one.header.Get("X-BeeOS-Signature"), want) {
			t.Errorf("the signature %s is not over %s", one.header.Get("X-BeeOS-Signature"), one.body)
		}
	}
	if strings.Contains(got[0].body, "approval") || strings.Contains(string(d.Payload)+r.log.String(), "s3cret") || !strings.Contains(string(d.Payload), "ask-1") {
		t.Errorf("first %s\nkept %s\nlogged %s", got[0].body, d.Payload, r.log)
	}
	if by := asked.Load(); by.Turn != task.ID || by.Owner != "user:u" {
		t.Errorf("asked for %+v", by)
	}

	// A second question while the first is open is told, too.
	r.asks(task, "ask-2")
	if a := approvalIn(t, rec.wait(t, 4)[3].body); a.ID != "ask-2" {
		t.Errorf("told %+v", a)
	}

	// Without a link nothing is sent, and it is tried again.
	r.delivery(w, "taken", about("ask-2", status(outbox.Succeeded)))
	trouble.Store(true)
	r.asks(task, "ask-3")
	d = r.delivery(w, "put off", about("ask-3", status(outbox.Failed)))
	if !strings.Contains(d.Error, "link") || strings.Contains(d.Error, "today") || len(rec.all()) != 4 {
		t.Errorf("%+v", d)
	}
	trouble.Store(false)
	r.later(2 * time.Minute)
	if a := approvalIn(t, rec.wait(t, 5)[4].body); a.URL == "" {
		t.Errorf("told %+v", a)
	}
}

// TestNoLink: for somebody else's agent, and for what is decided, the id is
// all there is.
func TestNoLink(t *testing.T) {
	r := newRig(t, sqliteDSN(t), func(o *Options) {
		o.ApprovalLink = func(context.Context, string, webhooks.Webhook) (string, error) { return "", nil }
	})
	rec := newReceiver(t, nil)
	task := r.task()
	r.register(task, rec.URL, "", "")
	r.claim()
	r.asks(task, "ask-1")
	r.start()
	got := rec.wait(t, 1)
	if last := got[len(got)-1]; strings.Contains(last.body, "url") || approvalIn(t, last.body).ID != "ask-1" {
		t.Errorf("told %s", last.body)
	}
}

// TestSecondQuestionIsFound: also when nobody told the worker about it.
func TestSecondQuestionIsFound(t *testing.T) {
	r := newRig(t, sqliteDSN(t))
	task := r.task()
	r.register(task, "http://127.0.0.1:9/", "", "")
	r.claim()
	for _, id := range []string{"ask-1", "ask-2"} {
		r.asks(task, id)
		for _, want := range []int{1, 0} {
			stale, err := r.db.Webhooks.ListStale(t.Context(), 10)
			if err != nil || len(stale) != want {
				t.Fatalf("%s: %+v, %v; want %d", id, stale, err, want)
			}
			if err := r.hooks.catchUp(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}
