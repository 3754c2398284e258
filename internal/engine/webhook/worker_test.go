package webhook

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/courier"
	"github.com/beeos/beeos/internal/store/outbox"
	"github.com/beeos/beeos/test/pgtest"
)

// TestEveryChangeIsTold: whatever happens to a task, in order, with the
// headers of the contract.
func TestEveryChangeIsTold(t *testing.T) {
	r, rec := newRig(t, sqliteDSN(t)).start(), newReceiver(t, nil)
	task := r.task()
	w := r.register(task, rec.URL+"/hook?a=b", "tok", "0123456789abcdef")
	r.claim()
	rec.wait(t, 1)
	r.say(task, beeos.AgentReasoning) // is no change
	r.say(task, beeos.AgentInputRequired)
	rec.wait(t, 2)
	r.say(task, beeos.Continue)
	rec.wait(t, 3)
	r.finish(task)
	r.delivery(w, "told the end", func(d outbox.Delivery) bool {
		return d.Status == outbox.Succeeded && d.Response == 204
	})
	got := rec.wait(t, 4)
	if s := statuses(got); s != "running input_required running completed" {
		t.Errorf("told %s", s)
	}
	for i, one := range got {
		e := one.Event
		if e.Type != "task_status" || e.TaskID != task.ID || e.ContextID != task.Channel || e.Final != (i == 3) || time.Since(e.Timestamp) > time.Minute {
			t.Errorf("event %s", one.body)
		}
		for name, want := range map[string]string{
			"X-BeeOS-Event": "task.state", "X-BeeOS-Task-Id": task.ID, "X-BeeOS-Webhook-Format": "openapi",
			"Authorization": "Bearer tok", "Content-Type": "application/json",
		} {
			if have := one.header.Get(name); have != want {
				t.Errorf("%s is %q, want %q", name, have, want)
			}
		}
	}
	hooks, err := r.db.Webhooks.List(t.Context(), task.ID, OpenAPI)
	if err != nil || len(hooks) != 1 || hooks[0].Watching || hooks[0].Events != 4 {
		t.Errorf("afterwards %+v, %v", hooks, err)
	}
}

// TestLateRegistrationHearsEverything: a task may be over before anybody has
// registered for it.
func TestLateRegistrationHearsEverything(t *testing.T) {
	r, rec := newRig(t, sqliteDSN(t)).start(), newReceiver(t, nil)
	task := r.task()
	r.claim()
	r.say(task, beeos.AgentAuthRequired)
	r.say(task, beeos.AuthGrant)
	r.finish(task)
	r.register(task, rec.URL, "", "")
	got := rec.wait(t, 3)
	if s := statuses(got); s != "auth_required running completed" {
		t.Errorf("told %s", s)
	}
	for _, name := range []string{"Authorization", courier.HeaderSignature, courier.HeaderStandard} {
		if v := got[0].header.Get(name); v != "" {
			t.Errorf("%s is %q without anybody having set it", name, v)
		}
	}
}

// TestLostAgent: the task goes back to the queue without a word in the log.
func TestLostAgent(t *testing.T) {
	r, rec := newRig(t, sqliteDSN(t)).start(), newReceiver(t, nil)
	task := r.task()
	r.register(task, rec.URL, "", "")
	r.claim()
	rec.wait(t, 1)
	if _, err := r.db.ExecContext(t.Context(), "UPDATE deliveries SET leased = FALSE"); err != nil {
		t.Fatal(err)
	}
	rec.wait(t, 2)
	r.claim()
	if s := statuses(rec.wait(t, 3)); s != "running queued running" {
		t.Errorf("told %s", s)
	}
}

// TestForgottenTask: a task whose conversation was deleted tells nothing more.
func TestForgottenTask(t *testing.T) {
	r, rec := newRig(t, sqliteDSN(t)), newReceiver(t, nil)
	task := r.task()
	r.finish(task)
	w := r.register(task, rec.URL, "", "")
	if err := r.ledger.DeleteChannel(t.Context(), task.Channel); err != nil {
		t.Fatal(err)
	}
	if news, err := r.hooks.recordChanges(t.Context(), w); news || err != nil {
		t.Errorf("news %v, %v", news, err)
	}
	if left, err := r.db.Webhooks.ListWatching(t.Context(), task.ID); len(left) != 0 || err != nil {
		t.Errorf("still watching: %+v, %v", left, err)
	}
}

// TestRetriesThenDeadLetter walks through the whole schedule.
func TestRetriesThenDeadLetter(t *testing.T) {
	var failed, dead atomic.Int64 // as whoever counts is told
	r := newRig(t, sqliteDSN(t), func(o *Options) {
		o.Attempted = func(s outbox.Status) {
			map[outbox.Status]*atomic.Int64{outbox.Failed: &failed, outbox.Dead: &dead}[s].Add(1)
		}
	}).start()
	rec := newReceiver(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	task := r.task()
	r.finish(task)
	w := r.register(task, rec.URL, "", "0123456789abcdef")
	for i, want := range []time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 12 * time.Hour} {
		d := r.delivery(w, "failed", tried(i+1))
		wait := d.Due.Sub(d.AttemptedAt)
		if d.Status != outbox.Failed || wait < want*9/10-time.Millisecond || wait > want*11/10+time.Millisecond {
			t.Fatalf("after attempt %d: %s, next in %s, want about %s", i+1, d.Status, wait, want)
		}
		r.later(want * 12 / 10)
	}
	d := r.delivery(w, "given up", status(outbox.Dead))
	if d.Attempts != 6 || len(d.History) != 6 || d.Response != 500 || d.Error == "" || !d.Due.IsZero() || d.CompletedAt.IsZero() {
		t.Errorf("dead letter %+v", d)
	}
	r.later(48 * time.Hour)
	if due, err := r.db.Webhooks.AnyDue(t.Context(), r.now()); due || err != nil {
		t.Errorf("a dead letter is due again: %v", err)
	}
	if n := len(rec.all()); n != 6 || failed.Load() != 5 || dead.Load() != 1 {
		t.Errorf("%d attempts, want 6; %d failed, %d given up", n, failed.Load(), dead.Load())
	}
}

// TestRetryAfterIsHeard: a receiver says when to come back.
func TestRetryAfterIsHeard(t *testing.T) {
	r := newRig(t, sqliteDSN(t)).start()
	rec := newReceiver(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	task := r.task()
	r.finish(task)
	d := r.delivery(r.register(task, rec.URL, "", ""), "failed", tried(1))
	if wait := d.Due.Sub(d.AttemptedAt); wait != time.Hour {
		t.Errorf("next attempt in %s", wait)
	}
}

// TestGoneDisables: a receiver that answers 410 is left alone, until somebody
// registers it again.
func TestGoneDisables(t *testing.T) {
	r := newRig(t, sqliteDSN(t)).start()
	rec := newReceiver(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			w.WriteHeader(http.StatusGone)
		}
	})
	task := r.task()
	w := r.register(task, rec.URL, "", "")
	r.claim()
	d := r.delivery(w, "given up", status(outbox.Dead))
	r.finish(task)
	now, err := r.db.Webhooks.Get(t.Context(), task.ID, w.ID)
	if err != nil || !now.Disabled || now.Watching {
		t.Fatalf("%+v, %v", now, err)
	}
	if _, err := r.hooks.Redeliver(t.Context(), now, d.ID); beeos.CodeOf(err) != beeos.Conflict {
		t.Errorf("redeliver to a disabled webhook: %v", err)
	}
	if again := r.register(task, rec.URL, "", ""); again.ID != w.ID {
		t.Errorf("registered again as %s, was %s", again.ID, w.ID)
	}
	if s := statuses(rec.wait(t, 2)); s != "running completed" {
		t.Errorf("told %s", s)
	}
}

// TestRedeliver: the same bytes and the same id, as often as somebody asks.
func TestRedeliver(t *testing.T) {
	r, rec := newRig(t, sqliteDSN(t)).start(), newReceiver(t, nil)
	task := r.task()
	r.finish(task)
	w := r.register(task, rec.URL, "", "0123456789abcdef")
	d := r.delivery(w, "taken", status(outbox.Succeeded))
	r.later(time.Hour)
	again, err := r.hooks.Redeliver(t.Context(), w, d.ID)
	if err != nil || again.Status != outbox.Pending || again.ID != d.ID {
		t.Fatalf("%+v, %v", again, err)
	}
	d = r.delivery(w, "taken again", tried(2))
	got := rec.wait(t, 2)
	if got[0].body != got[1].body || got[0].header.Get(courier.HeaderID) != got[1].header.Get(courier.HeaderID) {
		t.Errorf("sent %q, then %q", got[0].body, got[1].body)
	}
	if d.Status != outbox.Succeeded || len(d.History) != 2 {
		t.Errorf("%+v", d)
	}
	if _, err := r.hooks.Redeliver(t.Context(), w, "whd_other"); beeos.CodeOf(err) != beeos.NotFound {
		t.Errorf("an unknown delivery: %v", err)
	}
}

// TestEveryAttemptIsSignedAfresh: a receiver that refuses old signatures
// takes the third attempt, and what is sent again a day later.
func TestEveryAttemptIsSignedAfresh(t *testing.T) {
	r := newRig(t, sqliteDSN(t)).start()
	rec := newReceiver(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n < 3 {
			w.WriteHeader(http.StatusBadGateway)
		}
	})
	task := r.task()
	r.finish(task)
	const secret = "0123456789abcdef"
	w := r.register(task, rec.URL, "", secret)
	var sent []time.Time
	for i, wait := range []time.Duration{2 * time.Minute, 10 * time.Minute, 24 * time.Hour} {
		r.delivery(w, "tried", tried(i+1))
		sent = append(sent, r.now())
		r.later(wait)
	}
	d := r.delivery(w, "taken", status(outbox.Succeeded))
	if _, err := r.hooks.Redeliver(t.Context(), w, d.ID); err != nil {
		t.Fatal(err)
	}
	r.delivery(w, "taken again", tried(4))
	sent = append(sent, r.now())
	for i, one := range rec.wait(t, 4) {
		stamp, err := strconv.ParseInt(one.header.Get(courier.HeaderTimestamp), 10, 64)
		if off := sent[i].Sub(time.Unix(stamp, 0)); err != nil || off < 0 || off > time.Minute {
			t.Errorf("attempt %d is stamped %s off", i+1, off)
		}
		want := http.Header{}
		courier.Sign(want, d.ID, []string{secret}, time.Unix(stamp, 0), []byte(one.body))
		for name := range want {
			if one.header.Get(name) != want.Get(name) {
				t.Errorf("attempt %d: %s is %s, want %s", i+1, name, one.header.Get(name), want.Get(name))
			}
		}
	}
}

// TestSecretRotation: for a day after a secret was replaced both sign.
func TestSecretRotation(t *testing.T) {
	r, rec := newRig(t, sqliteDSN(t)).start(), newReceiver(t, nil)
	task := r.task()
	r.finish(task)
	const first, second = "first-secret-of-it", "second-secret-of-it"
	w := r.register(task, rec.URL, "", first)
	d := r.delivery(w, "taken", status(outbox.Succeeded))
	send := func(n int) received {
		t.Helper()
		if _, err := r.hooks.Redeliver(t.Context(), w, d.ID); err != nil {
			t.Fatal(err)
		}
		r.delivery(w, "taken again", tried(n))
		return rec.wait(t, n)[n-1]
	}
	check := func(one received, secrets ...string) {
		t.Helper()
		stamp, err := strconv.ParseInt(one.header.Get(courier.HeaderTimestamp), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		want := http.Header{}
		courier.Sign(want, d.ID, secrets, time.Unix(stamp, 0), []byte(one.body))
		for _, name := range []string{courier.HeaderSignature, courier.HeaderStandard} {
			if one.header.Get(name) != want.Get(name) {
				t.Errorf("%s is %s, want %s", name, one.header.Get(name), want.Get(name))
			}
		}
	}
	check(rec.wait(t, 1)[0], first)
	for range 2 { // the second time it is no other secret
		if again := r.register(task, rec.URL, "", second); again.ID != w.ID {
			t.Fatalf("registered again as %s", again.ID)
		}
	}
	check(send(2), second, first)
	r.later(23 * time.Hour)
	check(send(3), second, first)
	r.later(time.Hour)
	check(send(4), second)
}

// TestManyWorkers: processes that share a database share the work, and none
// of it is done twice.
func TestManyWorkers(t *testing.T) {
	const tasks = 60
	url := pgtest.URL(t)
	var slow atomic.Int64
	rec := newReceiver(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		slow.Add(1)
		select {
		case <-time.After(5 * time.Millisecond):
		case <-r.Context().Done():
		}
	})
	var rigs []*rig
	for range 3 {
		rigs = append(rigs, newRig(t, url))
	}
	var made []*beeos.Message
	for range tasks {
		task := rigs[0].task()
		rigs[0].register(task, rec.URL, "", "")
		made = append(made, task)
	}
	for _, r := range rigs {
		r.start()
	}
	rigs[0].claim()
	rec.wait(t, tasks)
	for i, task := range made {
		rigs[i%3].finish(task)
	}
	got := rec.wait(t, 2*tasks)
	ids := map[string]bool{}
	byTask := map[string]string{}
	for _, one := range got {
		if id := one.header.Get(courier.HeaderID); ids[id] {
			t.Errorf("delivery %s came twice", id)
		} else {
			ids[id] = true
		}
		byTask[one.Event.TaskID] += one.Event.Status + " "
	}
	for _, task := range made {
		if s := byTask[task.ID]; s != "running completed " {
			t.Errorf("task %s was told %q", task.ID, s)
		}
	}
}

func TestAtMostTenPerTask(t *testing.T) {
	r := newRig(t, sqliteDSN(t))
	task := r.task()
	for i := range maxPerTask {
		r.register(task, fmt.Sprintf("http://127.0.0.1/%d", i), "", "")
	}
	_, err := r.hooks.Register(t.Context(), Registration{Turn: task.ID, Channel: task.Channel, Format: OpenAPI, URL: "http://127.0.0.1/more"})
	if beeos.CodeOf(err) != beeos.InvalidParam {
		t.Errorf("one more: %v", err)
	}
	r.register(task, "http://127.0.0.1/0", "", "") // is not one more
}

// TestPrune: what is over is forgotten after a month, what is not is kept.
func TestPrune(t *testing.T) {
	r, rec := newRig(t, sqliteDSN(t)).start(), newReceiver(t, nil)
	over, open := r.task(), r.task()
	r.finish(over)
	w := r.register(over, rec.URL, "", "")
	r.register(open, rec.URL, "", "")
	r.delivery(w, "taken", status(outbox.Succeeded))
	var left []string
	for _, age := range []time.Duration{29 * 24 * time.Hour, 31 * 24 * time.Hour} {
		if err := r.db.Webhooks.Prune(t.Context(), time.Now().Add(age-keepClosed)); err != nil {
			t.Fatal(err)
		}
		for _, task := range []*beeos.Message{over, open} {
			list, err := r.db.Webhooks.List(t.Context(), task.ID, OpenAPI)
			if err != nil {
				t.Fatal(err)
			}
			left = append(left, strconv.Itoa(len(list)))
		}
	}
	if want := []string{"1", "1", "0", "1"}; !slices.Equal(left, want) {
		t.Errorf("left %v, want %v", left, want)
	}
}

// TestEndedTasksAreForgotten: what a process knows about tasks does not grow
// with those that have ended.
func TestEndedTasksAreForgotten(t *testing.T) {
	r, rec := newRig(t, sqliteDSN(t)).start(), newReceiver(t, nil)
	open, ended := r.task(), r.task()
	r.register(open, rec.URL, "", "")
	w := r.register(ended, rec.URL, "", "")
	r.finish(ended)
	r.delivery(w, "told", status(outbox.Succeeded))
	r.later(2 * pruneEvery)
	for end := time.Now().Add(5 * time.Second); r.hooks.watched.has(ended.ID); <-time.After(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it is still remembered")
		}
	}
	if !r.hooks.watched.has(open.ID) {
		t.Error("the other one, which goes on, is not")
	}
}
