package webhook

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/engine/task"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/outbox"
	"github.com/beeos/beeos/internal/store/webhooks"
)

// rig is the real thing with a clock that can be moved.
type rig struct {
	t      *testing.T
	db     *store.Store
	ledger *ledger.Ledger
	bus    *bus.Bus
	hooks  *Hooks
	log    *logged
	ahead  atomic.Int64 // how far the clock is, in nanoseconds
}

// logged is what was logged.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func sqliteDSN(t *testing.T) string {
	return "sqlite:" + filepath.Join(t.TempDir(), "test.db") + "?durability=os"
}

// newRig opens a system whose worker does not run yet.
func newRig(t *testing.T, dsn string, change ...func(*Options)) *rig {
	t.Helper()
	r := &rig{t: t, log: &logged{}}
	var err error
	if r.db, err = store.Open(t.Context(), dsn); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.db.Close() })
	if r.bus, err = bus.Open(t.Context(), bus.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.bus.Close)
	if r.ledger, err = ledger.Open(t.Context(), r.db.DB, ledger.Options{Committed: invoke.Committed(r.bus)}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.ledger.Close)
	opt := Options{
		Webhooks: r.db.Webhooks, Cluster: r.db.Cluster, Ledger: r.ledger, Bus: r.bus, Log: slog.New(slog.NewTextHandler(r.log, nil)), Now: r.now,
		Status: task.StatusOf, AllowPrivate: true, Every: 5 * time.Millisecond,
	}
	for _, f := range change {
		f(&opt)
	}
	if r.hooks, err = New(t.Context(), opt); err != nil {
		t.Fatal(err)
	}
	return r
}

// start runs the worker until the test ends.
func (r *rig) start() *rig {
	r.t.Helper()
	r.run(r.hooks)
	return r
}

func (r *rig) run(h *Hooks) {
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := h.Run(ctx); err != nil {
			r.t.Error(err)
		}
	})
	r.t.Cleanup(func() { stop(); running.Wait() })
}

func (r *rig) now() time.Time { return time.Now().Add(time.Duration(r.ahead.Load())) }

func (r *rig) later(d time.Duration) { r.ahead.Add(int64(d)) }

// task makes a request that waits for its agent.
func (r *rig) task() *beeos.Message {
	r.t.Helper()
	channel := beeos.Channel{ID: beeos.NewChannelID(), AgentID: "agent_a", Owner: "user:u", Kind: beeos.KindTask, SingleShot: true}
	o := &ledger.Opening{
		Channel: channel, Fresh: true,
		Message:  beeos.Message{ID: beeos.NewID(), Channel: channel.ID, Type: beeos.ChatMessage, Publisher: "user:u", Body: "hi"},
		Delivery: &ledger.Delivery{AgentID: "agent_a", Mode: beeos.DeliverQueue, Redelivery: beeos.RedeliverAlways},
	}
	if _, _, err := r.ledger.BeginRequest(r.t.Context(), o); err != nil {
		r.t.Fatal(err)
	}
	return &o.Message
}

// claim makes an agent take what waits.
func (r *rig) claim() {
	r.t.Helper()
	if _, err := r.ledger.ClaimDeliveries(r.t.Context(), "agent_a", time.Now().Add(time.Hour), 1000); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) say(task *beeos.Message, kind beeos.MessageType) {
	r.t.Helper()
	m := beeos.Message{Channel: task.Channel, InReplyTo: task.ID, Type: kind, Publisher: "agent_a"}
	if _, err := r.ledger.Append(r.t.Context(), m); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) finish(task *beeos.Message) {
	r.t.Helper()
	m := beeos.Message{Channel: task.Channel, InReplyTo: task.ID, Type: beeos.AgentReply, State: beeos.StateCompleted, Publisher: "agent_a", Body: "done"}
	if _, err := r.ledger.Finish(r.t.Context(), m); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) register(task *beeos.Message, url, token, secret string) webhooks.Webhook {
	r.t.Helper()
	w, err := r.hooks.Register(r.t.Context(), Registration{
		Turn: task.ID, Channel: task.Channel, Offset: task.Offset, Owner: "user:u", Format: OpenAPI, URL: url, Token: token, Secret: secret,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return w
}

// delivery waits until the newest delivery of a webhook is as it should be.
func (r *rig) delivery(w webhooks.Webhook, what string, is func(outbox.Delivery) bool) outbox.Delivery {
	r.t.Helper()
	var last []outbox.Delivery
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); <-time.After(2 * time.Millisecond) {
		list, err := r.db.Webhooks.ListDeliveries(r.t.Context(), w.ID, 10)
		if err != nil {
			r.t.Fatal(err)
		}
		if last = list; len(list) > 0 && is(list[0]) {
			return list[0]
		}
	}
	r.t.Fatalf("never %s: %+v\n%s", what, last, r.log)
	return outbox.Delivery{}
}

func status(s outbox.Status) func(outbox.Delivery) bool {
	return func(d outbox.Delivery) bool { return d.Status == s }
}

func tried(n int) func(outbox.Delivery) bool {
	return func(d outbox.Delivery) bool { return d.Attempts == n && d.Status != outbox.Pending }
}

// received is one request that came to a receiver.
type received struct {
	header http.Header
	body   string
	Event  struct {
		Type, Status string
		Final        bool
		TaskID       string    `json:"task_id"`
		ContextID    string    `json:"context_id"`
		Timestamp    time.Time `json:"timestamp"`
	}
}

// receiver is somebody who is told.
type receiver struct {
	*httptest.Server
	mu  sync.Mutex
	got []received
	// answer decides what the n-th request is answered with; nil = 204.
	answer func(n int, w http.ResponseWriter, r *http.Request)
}

func newReceiver(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request)) *receiver {
	t.Helper()
	rec := &receiver{answer: answer}
	rec.Server = httptest.NewServer(rec)
	t.Cleanup(rec.Close)
	return rec
}

func (rec *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	one := received{header: r.Header.Clone(), body: string(body)}
	if err != nil || json.Unmarshal(body, &one.Event) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	rec.mu.Lock()
	rec.got = append(rec.got, one)
	n := len(rec.got)
	rec.mu.Unlock()
	if rec.answer != nil {
		rec.answer(n, w, r)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (rec *receiver) all() []received {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	return slices.Clone(rec.got)
}

// wait returns once n requests have come.
func (rec *receiver) wait(t *testing.T, n int) []received {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); <-time.After(2 * time.Millisecond) {
		if got := rec.all(); len(got) >= n {
			return got
		}
	}
	t.Fatalf("%d requests came, want %d", len(rec.all()), n)
	return nil
}

func statuses(list []received) string {
	var all []string
	for _, r := range list {
		all = append(all, r.Event.Status)
	}
	return strings.Join(all, " ")
}
