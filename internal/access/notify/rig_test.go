package notify

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/approval"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/store/notifications"
	"github.com/beeos/beeos/internal/store/outbox"
	"github.com/beeos/beeos/internal/store/storetest"
)

// rig is approvals and their notifications with a clock that can be moved.
type rig struct {
	*Notifier
	t     *testing.T
	db    *store.Store
	desk  *approval.Approvals
	owner beeos.User
	agent string
	ahead atomic.Int64
}

// within is what a test waits for at most.
const within = 15 * time.Second

func newRig(t *testing.T, db *store.Store, change ...func(*Options)) *rig {
	t.Helper()
	r := &rig{t: t, db: db}
	owner, inst := storetest.Owner(t, db, "ann@example.com")
	r.owner = owner
	pay := beeos.Skill{Name: "pay", InputSchema: json.RawMessage(`{"type":"object","properties":{"pin":{"type":"string","writeOnly":true}}}`)}
	r.agent = storetest.Sync(t, db, inst, beeos.Definition{Name: "clerk", DisplayName: "The clerk", Skills: []beeos.Skill{pay}}).IDs()["clerk"]
	r.desk = approval.New(approval.Options{
		Table: db.Approvals, Agents: db.Agents, Tools: db.Builtins, People: db.People, Cluster: db.Cluster, Budgets: db.Budgets, Now: r.now, Web: "http://console.test",
	})
	r.Notifier = r.node(change...)
	return r
}

// node is the notifications of one process.
func (r *rig) node(change ...func(*Options)) *Notifier {
	r.t.Helper()
	opt := Options{
		Table: r.db.Notifications, Approvals: r.desk, Agents: r.db.Agents, People: r.db.People, Keys: r.db.Keys, Cluster: r.db.Cluster, Now: r.now,
		Log: slog.New(slog.NewTextHandler(r.t.Output(), nil)), Web: "http://console.test", AllowPrivate: true, Every: 5 * time.Millisecond,
	}
	for _, f := range change {
		f(&opt)
	}
	n, err := New(r.t.Context(), opt)
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

func (r *rig) now() time.Time { return time.Now().Add(time.Duration(r.ahead.Load())) }

func (r *rig) later(d time.Duration) { r.ahead.Add(int64(d)) }

// run lets a process send until the test, or stop, ends it.
func (r *rig) run(n *Notifier) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := n.Run(ctx); err != nil {
			r.t.Error(err)
		}
	})
	stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	r.t.Cleanup(stop)
	return stop
}

// ask makes an approval that waits for the owner, for five minutes.
func (r *rig) ask(turn string) approvals.Approval {
	r.t.Helper()
	q := storetest.Question(r.owner.ID, turn, `{"to":"bob","pin":"s3cret"}`, r.now())
	q.AgentID, q.Tool, q.ExpiresAt = r.agent, "pay", r.now().Add(5*time.Minute)
	a, _, err := r.db.Approvals.Ask(r.t.Context(), q, "r")
	if err != nil {
		r.t.Fatal(err)
	}
	return a
}

func (r *rig) decide(a approvals.Approval, approve bool) {
	r.t.Helper()
	if _, err := r.desk.Decide(r.t.Context(), a.ID, deciderOf(r), approve, "because"); err != nil {
		r.t.Fatal(err)
	}
}

// webhook sets up a channel to a receiver.
func (r *rig) webhook(url string) (notifications.Channel, string) {
	r.t.Helper()
	c, secret, err := r.Create(r.t.Context(), r.owner.ID, Setup{Kind: notifications.Webhook, URL: url})
	if err != nil {
		r.t.Fatal(err)
	}
	return c, secret
}

// delivery waits until the newest delivery of a channel is as it should be.
func (r *rig) delivery(c notifications.Channel, what string, is func(outbox.Delivery) bool) outbox.Delivery {
	r.t.Helper()
	var last []outbox.Delivery
	for end := time.Now().Add(within); time.Now().Before(end); <-time.After(2 * time.Millisecond) {
		list, err := r.db.Notifications.ListDeliveries(r.t.Context(), c.ID, 10)
		if err != nil {
			r.t.Fatal(err)
		}
		if last = list; len(list) > 0 && is(list[0]) {
			return list[0]
		}
	}
	r.t.Fatalf("never %s: %+v", what, last)
	return outbox.Delivery{}
}

func status(s outbox.Status) func(outbox.Delivery) bool {
	return func(d outbox.Delivery) bool { return d.Status == s }
}

// received is one request that came to a receiver.
type received struct {
	Event
	header http.Header
	body   string
}

// receiver is a program that is told.
type receiver struct {
	*httptest.Server
	got    chan received
	answer atomic.Int64 // the status; 0 = 204
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	rec := &receiver{got: make(chan received, 100)}
	rec.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		one := received{header: req.Header.Clone(), body: string(body)}
		if err != nil || json.Unmarshal(body, &one.Event) != nil {
			t.Errorf("%s: %v", body, err)
		}
		status := http.StatusNoContent
		if s := rec.answer.Load(); s != 0 {
			status = int(s)
		}
		w.WriteHeader(status)
		rec.got <- one
	}))
	t.Cleanup(rec.Close)
	return rec
}

// next is what comes next.
func (rec *receiver) next(t *testing.T) received {
	t.Helper()
	select {
	case one := <-rec.got:
		return one
	case <-time.After(within):
		t.Fatal("nothing came")
		return received{}
	}
}

// quiet fails when something has come besides.
func (rec *receiver) quiet(t *testing.T) {
	t.Helper()
	select {
	case one := <-rec.got:
		t.Errorf("it was also told %s", one.body)
	default:
	}
}

func deciderOf(r *rig) approval.Decider { return approval.Decider{User: r.owner, Via: "rest"} }
