package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/pgtest"
)

// newVersion is an agent that should answer like another one: each tenth of its
// answers is another, each fiftieth fails. It counts what it is asked, and waits
// in the middle of its work where the test wants it to.
type newVersion struct {
	mu    sync.Mutex
	asked map[string]int
	gates map[int]gate // by how many it has been asked
	held  chan struct{}
}

// gate is where the agent waits.
type gate struct{ reached, open chan struct{} }

func (v *newVersion) answer(ctx context.Context, m agent.Message, r *agent.Reply) error {
	n, err := strconv.Atoi(strings.TrimPrefix(m.Text, "question "))
	if err != nil {
		return err
	}
	v.mu.Lock()
	v.asked[m.Text]++
	if g, ok := v.gates[len(v.asked)]; ok {
		delete(v.gates, len(v.asked))
		v.held = g.open
		close(g.reached)
	}
	held := v.held
	v.mu.Unlock()
	select {
	case <-held:
	case <-ctx.Done():
		return ctx.Err()
	}
	switch {
	case n%50 == 1:
		return errors.New("I do not know")
	case n%10 == 0:
		return r.Send(fmt.Sprintf(`{"n": %d, "answer": "no"}`, n))
	}
	return r.Send(fmt.Sprintf(`{"n": %d, "answer": "yes"}`, n))
}

// connectHere runs an agent in the test's own process.
func connectHere(t *testing.T, n *node, key, name string, handle agent.Handler) (id string) {
	t.Helper()
	connected := make(chan string, 1)
	a, err := agent.New(agent.Options{
		Name: name, Gateway: n.agents, Key: key, Identity: filepath.Join(t.TempDir(), "id.json"), Log: slog.New(slog.DiscardHandler),
		Connected: func(id string) { connected <- id },
	}, handle)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { a.Run(ctx); close(ended) }() //nolint:errcheck // it ends with ctx
	t.Cleanup(func() { stop(); <-ended })
	select {
	case id := <-connected:
		return id
	case <-time.After(patience):
		t.Fatalf("%s does not connect", name)
		return ""
	}
}

// TestBulkReplayDoesNothingTwice: a thousand calls are replayed against another
// agent; the command is interrupted in the middle and killed once, and goes on
// each time. The other agent is asked everything exactly once, and the counts are
// right.
func TestBulkReplayDoesNothingTwice(t *testing.T) {
	for name, settings := range map[string]func(t *testing.T) []string{
		"sqlite":   func(*testing.T) []string { return nil },
		"postgres": func(t *testing.T) []string { return []string{"DATABASE_URL=" + pgtest.URL(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, "server", settings(t)...)
			key := n.owner()
			n.start()
			bulkReplay(t, n, key, much(1000, 200))
		})
	}
}

// reach waits until the agent waits at a gate.
func reach(t *testing.T, p *process, g gate) {
	t.Helper()
	select {
	case <-g.reached:
	case <-p.Ended():
		t.Fatalf("it ended too early:\n%s", p.Text())
	case <-time.After(2 * patience):
		t.Fatalf("it does not come that far:\n%s", p.Text())
	}
}

// awaitEnd waits until a program has ended.
func awaitEnd(t *testing.T, p *process) {
	t.Helper()
	select {
	case <-p.Ended():
	case <-time.After(2 * patience):
		t.Fatalf("it does not end:\n%s", p.Text())
	}
}

func bulkReplay(t *testing.T, n *node, key string, calls int) {
	first := connectHere(t, n, key, "first", func(_ context.Context, m agent.Message, r *agent.Reply) error {
		return r.Send(fmt.Sprintf(`{"answer":"yes","n":%s}`, strings.TrimPrefix(m.Text, "question ")))
	})
	gates := []gate{{make(chan struct{}), make(chan struct{})}, {make(chan struct{}), make(chan struct{})}}
	open := make(chan struct{})
	close(open)
	v := &newVersion{asked: map[string]int{}, gates: map[int]gate{calls / 3: gates[0], 2 * calls / 3: gates[1]}, held: open}
	connectHere(t, n, key, "second", v.answer)
	cl := client.New(n.rest, key)
	var group errgroup.Group
	group.SetLimit(16)
	for i := range calls {
		group.Go(func() error {
			_, err := cl.Invoke(t.Context(), first, client.InvokeRequest{Message: fmt.Sprint("question ", i)})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}

	file := filepath.Join(t.TempDir(), "run.jsonl")
	run := func(args ...string) *process {
		return start(t, "replay", binary(t), []string{"BEEOS_URL=" + n.rest, "BEEOS_KEY=" + key}, append([]string{"replay"}, args...)...)
	}
	p := run("--agent", "first", "--since", "1h", "--against", "second", "--sample", "5000", "--concurrency", "8", "--state", file)
	reach(t, p, gates[0])
	if err := syscall.Kill(p.Pid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	awaitEnd(t, p)
	if text := p.Text(); !strings.Contains(text, "beeos replay --resume "+file) {
		t.Errorf("interrupted, it says\n%s", text)
	}
	close(gates[0].open)

	p = run("--resume", file)
	reach(t, p, gates[1])
	p.Kill()
	close(gates[1].open)

	p = run("--resume", file, "--json")
	awaitEnd(t, p)
	var report struct {
		Calls, Same, Differ, Failed, Skipped int
		Original, Replay                     struct {
			P50 float64 `json:"p50_ms"`
			P95 float64 `json:"p95_ms"`
		}
		Results []struct{ Kind, Diff, Why string }
	}
	if err := json.Unmarshal([]byte(strings.Join(p.Out.All(), "\n")), &report); err != nil {
		t.Fatalf("%v\n%s", err, p.Text())
	}
	differ, failed := 0, 0
	for i := range calls {
		switch {
		case i%50 == 1:
			failed++
		case i%10 == 0:
			differ++
		}
	}
	if report.Calls != calls || report.Differ != differ || report.Failed != failed || report.Same != calls-differ-failed || report.Skipped != 0 {
		t.Errorf("of %d: %d the same, %d differ (want %d), %d failed (want %d)", report.Calls, report.Same, report.Differ, differ, report.Failed, failed)
	}
	if report.Original.P50 <= 0 || report.Original.P95 < report.Original.P50 || report.Replay.P95 < report.Replay.P50 || report.Replay.P50 <= 0 {
		t.Errorf("the times: %+v", report)
	}
	for _, r := range report.Results {
		if r.Kind == "differs" && (!strings.Contains(r.Diff, `-   "answer": "yes"`) || !strings.Contains(r.Diff, `+   "answer": "no"`)) ||
			r.Kind == "failed" && !strings.Contains(r.Why, "I do not know") {
			t.Errorf("%+v", r)
			break
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.asked) != calls {
		t.Errorf("%d of %d questions were asked", len(v.asked), calls)
	}
	for question, times := range v.asked {
		if times != 1 {
			t.Errorf("%s was asked %d times", question, times)
		}
	}
}
