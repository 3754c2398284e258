package webhook

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/outbox"
	"github.com/beeos/beeos/test/dnstest"
)

// TestPrivateReceiversAreRefused when somebody registers them.
func TestPrivateReceiversAreRefused(t *testing.T) {
	r := newRig(t, sqliteDSN(t), func(o *Options) { o.AllowPrivate = false })
	for _, url := range []string{"http://127.0.0.1:8080/", "http://[fd00:ec2::254]/", "http://169.254.169.254/", "http://8.8.8.8:25/", "http://u:p@8.8.8.8/"} {
		if err := r.hooks.Check(t.Context(), &Registration{URL: url}); beeos.CodeOf(err) != beeos.InvalidParam {
			t.Errorf("%s: %v", url, err)
		}
	}
	r = newRig(t, sqliteDSN(t))
	for url, fine := range map[string]bool{"http://127.0.0.1:1234/": true, "http://[fd00:ec2::254]/": false, "http://169.254.169.254/": false} {
		if err := r.hooks.Check(t.Context(), &Registration{URL: url}); (err == nil) != fine {
			t.Errorf("private receivers allowed, %s: %v", url, err)
		}
	}
}

// TestRebindingMeetsAClosedDoor: a name that was public when it was registered and is not
// any more when something is sent.
func TestRebindingMeetsAClosedDoor(t *testing.T) {
	var dialled atomic.Int64
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { dialled.Add(1) }))
	t.Cleanup(inside.Close)
	answers := []string{"8.8.8.8"}
	var at atomic.Pointer[[]string]
	at.Store(&answers)
	r := newRig(t, sqliteDSN(t), func(o *Options) {
		o.AllowPrivate, o.Resolver = false, dnstest.Resolver(t, func() []string { return *at.Load() })
	})
	task := r.task()
	r.finish(task)
	w := r.register(task, "http://rebind.test:8080/", "", "0123456789abcdef")
	at.Store(&[]string{"127.0.0.1"})
	r.start()
	d := r.delivery(w, "refused", tried(1))
	if d.Status != outbox.Failed || d.Response != 0 || !strings.Contains(d.Error, "not in the public Internet") || strings.Contains(d.Error, "127.0.0.1") {
		t.Errorf("%+v", d)
	}
	if dialled.Load() != 0 {
		t.Error("it was sent all the same")
	}
	// Of two addresses one is enough to be refused.
	at.Store(&[]string{"8.8.8.8", "10.0.0.1"})
	if err := r.hooks.Check(t.Context(), &Registration{URL: "http://rebind.test/"}); beeos.CodeOf(err) != beeos.InvalidParam {
		t.Errorf("a name with a private address: %v", err)
	}
}

// TestRedirectsAreNotFollowed: they count as a failure.
func TestRedirectsAreNotFollowed(t *testing.T) {
	inside := newReceiver(t, nil)
	r := newRig(t, sqliteDSN(t)).start()
	for _, code := range []int{301, 302, 303, 307, 308} {
		rec := newReceiver(t, func(_ int, w http.ResponseWriter, req *http.Request) { http.Redirect(w, req, inside.URL, code) })
		task := r.task()
		r.finish(task)
		d := r.delivery(r.register(task, rec.URL, "", ""), "failed", tried(1))
		if d.Status != outbox.Failed || d.Response != code || !strings.Contains(d.Error, "redirects are not followed") {
			t.Errorf("%d: %+v", code, d)
		}
	}
	if n := len(inside.all()); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

// TestAnswersAreCut: neither a body without an end nor a huge header is
// read, and neither holds anybody up.
func TestAnswersAreCut(t *testing.T) {
	var wrote atomic.Int64
	ended := make(chan struct{})
	endless := newReceiver(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		chunk := bytes.Repeat([]byte("x"), 32<<10)
		for r.Context().Err() == nil && wrote.Load() < 1<<30 {
			n, err := w.Write(chunk)
			wrote.Add(int64(n))
			if err != nil {
				return
			}
		}
	})
	boastful := newReceiver(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		for i := range 16 {
			w.Header().Set("X-Long-"+string(rune('a'+i)), strings.Repeat("y", 64<<10))
		}
	})
	r := newRig(t, sqliteDSN(t)).start()
	one, other := r.task(), r.task()
	r.finish(one)
	r.finish(other)
	if d := r.delivery(r.register(one, endless.URL, "", ""), "taken", tried(1)); d.Status != outbox.Succeeded {
		t.Errorf("%+v", d)
	}
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("the answer is still being read")
	}
	if n := wrote.Load(); n > 16<<20 { // what fits into the buffers between, no more
		t.Errorf("%d bytes of the answer were taken", n)
	}
	if d := r.delivery(r.register(other, boastful.URL, "", ""), "failed", tried(1)); d.Status != outbox.Failed {
		t.Errorf("%+v", d)
	}
}

// TestAttemptsHaveTenSeconds in all.
func TestAttemptsHaveTenSeconds(t *testing.T) {
	r := newRig(t, sqliteDSN(t))
	if r.hooks.client.Timeout != 10*time.Second {
		t.Errorf("%s", r.hooks.client.Timeout)
	}
}
