package faults

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/test/ports"
)

// outcome is how one waiting caller ended.
type outcome struct {
	way, text string
	err       error
	took      time.Duration // since the server went
}

// keepWaiting starts a few callers in every way there is, and returns once
// the agent has them all and each is in the request that waits: one that was
// about to send it would find its idle connection closed. What they are told
// comes over the channel.
func keepWaiting(ctx context.Context, t *testing.T, c *caller, a *agentProcess, each int, gone *atomic.Int64) (outcomes chan outcome, n int) {
	t.Helper()
	n = each * len(ways)
	outcomes = make(chan outcome, n)
	before := len(a.executions())
	for _, way := range slices.Sorted(maps.Keys(ways)) {
		for i := range each {
			text := fmt.Sprintf("hold %s %d", way, i)
			go func() {
				err := ways[way](c, ctx, text)
				outcomes <- outcome{way, text, err, time.Since(time.Unix(0, gone.Load()))}
			}()
		}
	}
	begun(t, before+n, a)
	for want := int64(2 * each); c.waits.Load() < want; { // "REST wait" and "REST events" send theirs after the message
		if !pause(ctx, time.Millisecond) {
			t.Fatalf("%d of %d callers wait", c.waits.Load(), want)
		}
	}
	for range 5 { // what is on its way arrives before this is answered
		c.node.online(c.key, c.agent, true)
	}
	return outcomes, n
}

// TestServerDownCallersHearIt: whoever waits is told when the server stops,
// and notices when it dies.
func TestServerDownCallersHearIt(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(*node)
		fine func(error) bool
	}{
		"stops": {func(n *node) { n.proc.terminate(patience) }, func(err error) bool { return beeos.CodeOf(err) == beeos.AgentServiceUnavailable }},
		"dies":  {func(n *node) { n.proc.Kill() }, unreachable},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, "server")
			key := n.owner()
			n.start()
			a := startAgent(t, "agent", spec{Name: "echo", Gateway: n.agents, Key: key, Identity: t.TempDir() + "/id.json"})
			ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
			defer cancel()
			var gone atomic.Int64
			outcomes, count := keepWaiting(ctx, t, newCaller(t, n, a.id, key, 100), a, 2, &gone)
			gone.Store(time.Now().UnixNano())
			c.end(n)
			for range count {
				o := <-outcomes
				if !c.fine(o.err) {
					t.Errorf("%s: after %s: %v", o.way, o.took, o.err)
				}
				if o.took > 8*time.Second { // who is not told hears it after the 10 s in which the server drains
					t.Errorf("%s heard it after %s", o.way, o.took)
				}
				t.Logf("%s, after %s: %v", o.way, o.took.Round(time.Millisecond), o.err)
			}
		})
	}
}

// TestStopFinishesCalls: a server that is asked to stop says so to who asks whether it
// is ready, refuses new calls in words, and answers those that it has.
func TestStopFinishesCalls(t *testing.T) {
	admin := ports.Addr(t)
	n := newNode(t, "server", "BEEOS_ADMIN_ADDR="+admin)
	key := n.owner()
	n.start()
	a := startAgent(t, "agent", spec{Name: "echo", Gateway: n.agents, Key: key, Identity: t.TempDir() + "/id.json"})
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	var gone atomic.Int64
	c := newCaller(t, n, a.id, key, 100)
	held, count := keepWaiting(ctx, t, c, a, 4, &gone)
	gone.Store(time.Now().UnixNano())
	ended := make(chan int, 1)
	go func() {
		_, code := n.proc.terminate(patience)
		ended <- code
	}()
	for _, url := range []string{"http://" + admin, n.mcp, n.rest, n.a2a, n.agents} {
		for !isStopping(ctx, t, url) {
			if !pause(ctx, time.Millisecond) {
				t.Fatalf("%s/readyz never says that the server stops", url)
			}
		}
	}
	for _, way := range []string{"MCP", "MCP session", "REST", "REST stream", "REST wait"} {
		err := ways[way](c, ctx, "new")
		if beeos.CodeOf(err) != beeos.AgentServiceUnavailable || !strings.Contains(err.Error(), "stopping") {
			t.Errorf("a new call, %s: %v", way, err)
		}
	}
	a.release()
	for range count {
		o := <-held
		toldToReturn := o.way == "REST events" && beeos.CodeOf(o.err) == beeos.AgentServiceUnavailable // it has no end, and can be gone on with
		if o.err != nil && !toldToReturn {
			t.Errorf("%s, %q: after %s: %v", o.way, o.text, o.took, o.err)
		}
	}
	if code := <-ended; code != 0 {
		t.Errorf("the server ended with code %d", code)
	}
	r := n.records()
	r.sound(-1)
	if stored := r.number(`SELECT count(*) FROM messages WHERE type = 'chat_message'`); stored != count {
		t.Errorf("%d requests are stored, %d were taken", stored, count)
	}
	if answers := r.number(`SELECT count(*) FROM messages WHERE type = 'agent_reply'`); answers != count {
		t.Errorf("%d answers are stored of %d", answers, count)
	}
}

// isStopping reports what a listener says to who asks whether it is ready.
func isStopping(ctx context.Context, t *testing.T, url string) bool {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/readyz", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("%s: %v", url, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return err == nil && res.StatusCode == http.StatusServiceUnavailable && strings.Contains(string(body), `"stopping"`)
}

// TestOrderedShutdown: the server is asked to stop in the middle of everything.
// It ends in time and in order, and the next one goes on where it stopped.
func TestOrderedShutdown(t *testing.T) {
	n := newNode(t, "server", "BEEOS_DURABILITY=fsync")
	key := n.owner()
	n.start()
	a := startAgent(t, "agent", spec{Name: "echo", Gateway: n.agents, Key: key, Identity: t.TempDir() + "/id.json"})
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()

	var gone atomic.Int64
	held, count := keepWaiting(ctx, t, newCaller(t, n, a.id, key, 100), a, 10, &gone)
	busy := startBusy(ctx, n, a, key)
	busy.await(t, 200)
	gone.Store(time.Now().UnixNano())
	took, code := n.proc.terminate(12 * time.Second)
	if code != 0 {
		t.Errorf("the server ended with code %d", code)
	}
	answers, refusals, cut := busy.stop(t)
	t.Logf("stopped in %s under load: %d answers, %d refused in JSON, %d connections closed before they were used", took.Round(time.Millisecond), answers, refusals, cut)
	for range count {
		if o := <-held; beeos.CodeOf(o.err) != beeos.AgentServiceUnavailable {
			t.Errorf("%s: after %s: %v", o.way, o.took, o.err)
		}
	}
	before := a.connections()
	n.start()
	a.connected(before)
	a.release()
	c := newCaller(t, n, a.id, key, 1)
	if got, err := c.tool(ctx, "still there?", ""); err != nil || got != echoed("still there?") {
		t.Errorf("after the restart: %q, %v", got, err)
	}
	r := n.records()
	r.settled(patience)
	for i := range 10 { // who had a key comes back for the result
		if err := c.waitKeyed(ctx, fmt.Sprintf("hold MCP with a key %d", i)); err != nil {
			t.Errorf("call %d again: %v", i, err)
		}
	}
	r.sound(-1)
	if n := r.number(`SELECT count(*) FROM messages WHERE type = 'chat_message' AND body LIKE 'hold%'`); n != count {
		t.Errorf("%d of the %d requests that were in flight are stored", n, count)
	}
}

// busy is callers that make short calls, one after the other.
type busy struct {
	quit    chan struct{}
	workers sync.WaitGroup
	made    atomic.Int64

	mu       sync.Mutex
	refusals int
	cut      int
	bad      []error
}

func startBusy(ctx context.Context, n *node, a *agentProcess, key string) *busy {
	b := &busy{quit: make(chan struct{})}
	c := newCaller(n.t, n, a.id, key, 32)
	for i := range 32 {
		b.workers.Go(func() {
			for k := 0; b.call(ctx, c, fmt.Sprintf("busy %d %d", i, k), i%2 == 0); k++ {
			}
		})
	}
	return b
}

// call makes one call; false when there is nobody to call any more.
func (b *busy) call(ctx context.Context, c *caller, text string, mcp bool) bool {
	select {
	case <-b.quit:
		return false
	default:
	}
	way := (*caller).waitInvoke
	if mcp {
		way = (*caller).waitTool
	}
	err := way(c, ctx, text)
	if err == nil {
		b.made.Add(1)
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case beeos.CodeOf(err) == beeos.AgentServiceUnavailable:
		b.refusals++
		return true
	case unreachable(err):
		b.cut++
	default:
		b.bad = append(b.bad, err)
	}
	return false
}

// await returns once so many calls were answered.
func (b *busy) await(t *testing.T, n int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for b.made.Load() < n {
		if !pause(ctx, time.Millisecond) {
			t.Fatalf("%d calls in %s", b.made.Load(), patience)
		}
	}
}

func (b *busy) stop(t *testing.T) (answers int64, refusals, cut int) {
	t.Helper()
	close(b.quit)
	b.workers.Wait()
	for _, err := range b.bad {
		t.Errorf("a busy caller ended with: %v", err)
	}
	return b.made.Load(), b.refusals, b.cut
}
