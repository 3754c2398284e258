package faults

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/engine/webhook"
	"github.com/beeos/beeos/test/pgtest"
	"github.com/beeos/beeos/test/ports"
)

// startWorker runs a process beside the node that sends webhooks and does
// nothing else.
func startWorker(t testing.TB, n *node) *process {
	t.Helper()
	env := []string{
		"BEEOS_DATA=" + filepath.Join(t.TempDir(), "data"), "DATABASE_URL=" + n.setting("DATABASE_URL"),
		"BEEOS_CLUSTER_ADDR=" + ports.Addr(t), "BEEOS_ALLOW_PRIVATE=true",
	}
	return start(t, "worker", binary(t), env, "serve", "--only", "worker")
}

// slowReceiver takes its time, and remembers what came under which id.
type slowReceiver struct {
	mu  sync.Mutex
	got map[string][]string
}

func (s *slowReceiver) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	id := r.Header.Get("Webhook-Id")
	s.got[id] = append(s.got[id], string(body))
	s.mu.Unlock()
	pause(r.Context(), rand.N(400*time.Millisecond))
}

// TestWorkerKilledTwentyTimes: kill -9 of the worker at random moments with
// 500 deliveries to make. None is lost, none is made up, and what comes twice
// comes under one id with the same bytes.
func TestWorkerKilledTwentyTimes(t *testing.T) {
	deliveries, kills := 500, 20
	if testing.Short() {
		deliveries, kills = 100, 5
	}
	n := newNode(t, "server", "DATABASE_URL="+pgtest.Cluster(t, pgtest.Fsync).URL(t),
		"BEEOS_CLUSTER_ADDR="+ports.Addr(t), "BEEOS_ONLY=mcp,rest,agents")
	key := n.owner()
	n.start()
	a := startAgent(t, "agent", spec{Name: "echo", Gateway: n.agents, Key: key, Identity: t.TempDir() + "/id.json"})
	rec := &slowReceiver{got: map[string][]string{}}
	srv := httptest.NewServer(rec)
	t.Cleanup(srv.Close)
	registerMany(t, n, a, key, srv.URL, deliveries)

	r := n.records()
	began, inFlight := time.Now(), 0
	for range kills {
		w := startWorker(t, n)
		if rand.N(4) > 0 { // else somewhere in its start
			w.expect(w.Err, "start", func(line string) bool { return strings.Contains(line, `"msg":"ready"`) })
		}
		pause(t.Context(), rand.N(300*time.Millisecond))
		w.Kill()
		w.replaced = true
		inFlight += r.number(`SELECT count(*) FROM webhook_deliveries WHERE status = 'pending' AND lease <> ''`)
	}
	t.Logf("%d kills in %s, %d deliveries done by then, %d times one was under way", kills, time.Since(began).Round(time.Second),
		r.number(`SELECT count(*) FROM webhook_deliveries WHERE status = 'succeeded'`), inFlight)
	if inFlight == 0 {
		t.Error("no kill met a delivery under way; it proves nothing")
	}
	startWorker(t, n)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	for r.number(`SELECT count(*) FROM webhook_deliveries WHERE status = 'succeeded'`) < deliveries {
		if !pause(ctx, 100*time.Millisecond) {
			t.Fatalf("%d of %d were delivered", r.number(`SELECT count(*) FROM webhook_deliveries WHERE status = 'succeeded'`), deliveries)
		}
	}
	r.none("webhooks still watch", `SELECT count(*) FROM webhooks WHERE watching`)
	rec.mu.Lock()
	defer rec.mu.Unlock()
	twice := 0
	r.each(`SELECT id, turn FROM (SELECT d.id, w.turn FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id) x`, func(id, turn string) {
		bodies := rec.got[id]
		delete(rec.got, id)
		if len(bodies) == 0 {
			t.Errorf("delivery %s of task %s never came", id, turn)
		}
		for _, b := range bodies {
			if b != bodies[0] {
				t.Errorf("delivery %s came as %s and as %s", id, bodies[0], b)
			}
		}
		twice += max(0, len(bodies)-1)
	})
	if total := r.number(`SELECT count(*) FROM webhook_deliveries`); total != deliveries || len(rec.got) != 0 {
		t.Errorf("%d deliveries, want %d; %d came that nobody knows of", total, deliveries, len(rec.got))
	}
	t.Logf("%d deliveries, none lost, %d repetitions", deliveries, twice)
}

// registerMany makes tasks that are done, each with a webhook that nobody has
// looked at yet.
func registerMany(t *testing.T, n *node, a *agentProcess, key, url string, count int) {
	t.Helper()
	db := n.open()
	hooks, err := webhook.New(t.Context(), webhook.Options{Webhooks: db.Webhooks, Cluster: db.Cluster, AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	cl := client.New(n.rest, key)
	g, ctx := errgroup.WithContext(t.Context())
	g.SetLimit(16)
	for i := range count {
		g.Go(func() error {
			task, err := cl.CreateTask(ctx, a.id, client.TaskRequest{Message: fmt.Sprintf("task %d", i)})
			for err == nil && task.Status != beeos.TaskCompleted {
				if !pause(ctx, 10*time.Millisecond) {
					return ctx.Err()
				}
				task, err = cl.Task(ctx, a.id, task.ID)
			}
			if err != nil {
				return err
			}
			_, err = hooks.Register(ctx, webhook.Registration{
				Turn: task.ID, Channel: task.ContextID, Owner: task.CallerID, Format: webhook.OpenAPI, URL: url, Secret: "0123456789abcdef",
			})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}
