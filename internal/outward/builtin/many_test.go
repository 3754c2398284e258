package builtin_test

import (
	"context"
	"net/http"
	goruntime "runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/outward/llm"
	"github.com/beeos/beeos/internal/wire/outbound"
)

// heaviest is what one open conversation may hold, the caller's and the skill
// server's ends included, which are in this process as well: two and a
// half times what it did when this was written. docs/reference/benchmarks.md has what the server holds alone.
const heaviest = 400 << 10

// live is the memory that is in use.
func live() int64 {
	var m goruntime.MemStats
	goruntime.GC()
	goruntime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// TestThousandConversations holds a thousand conversations of one built-in
// agent open at once, each of them in the middle of a tool call, weighs them,
// lets them all go, and looks for goroutines that stayed behind.
func TestThousandConversations(t *testing.T) {
	conversations := 1000
	if testing.Short() || raceDetector {
		conversations = 100 // the detector makes each twenty times as heavy; make test runs this without it, too
	}
	srv := skillServer(t)
	gate, arrived, weight := make(chan struct{}), atomic.Int64{}, atomic.Int64{}
	mcp.AddTool(srv.mcp, &mcp.Tool{Name: "add"}, func(ctx context.Context, _ *mcp.CallToolRequest, in struct {
		Numbers []float64 `json:"numbers"`
	},
	) (*mcp.CallToolResult, any, error) {
		if arrived.Add(1) == int64(conversations)+1 { // the first one warms up
			weight.Store(live())
			close(gate)
		}
		if arrived.Load() > 1 {
			select {
			case <-gate:
			case <-ctx.Done():
			}
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "42"}}}, nil, nil
	})
	skills := outbound.Transport(outbound.Options{AllowPrivate: true})
	s := start(t, builtin.Options{Model: llm.Demo, HTTP: skills})
	_, id := s.create(t, builtin.Definition{Name: "clerk", Servers: files(srv.URL, true)}, nil)
	s.ask(t, id, "", "2 and 40")
	caller := client.New(s.REST, s.UserKey)
	transport := &http.Transport{MaxIdleConnsPerHost: conversations}
	caller.HTTP = &http.Client{Transport: transport}
	settle(transport, skills)
	before, empty := goruntime.NumGoroutine(), live()

	var wg sync.WaitGroup
	var failed atomic.Int64
	for range conversations {
		wg.Go(func() {
			a, err := caller.Invoke(t.Context(), id, client.InvokeRequest{Message: "what is 2 and 40?", TimeoutMS: 110_000})
			if err != nil || !strings.Contains(a.Text, "The answer is 42.") {
				if failed.Add(1) == 1 {
					t.Errorf("%+v, %v", a, err)
				}
			}
		})
	}
	wg.Wait()
	if n := failed.Load(); n > 0 {
		t.Fatalf("%d of %d failed", n, conversations)
	}
	each := (weight.Load() - empty) / int64(conversations)
	if t.Logf("an open conversation holds %d KB", each>>10); each > heaviest && !raceDetector {
		t.Errorf("an open conversation holds %d KB, and may hold %d", each>>10, heaviest>>10)
	}
	within := time.After(30 * time.Second)
	for {
		settle(transport, skills)
		left := goruntime.NumGoroutine() - before
		if left < 20 {
			return
		}
		select {
		case <-within:
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines stayed behind:\n%s", left, stacks[:goruntime.Stack(stacks, true)])
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// settle closes connections that are kept for the next request.
func settle(own ...http.RoundTripper) {
	for _, t := range append(own, http.DefaultTransport) {
		(&http.Client{Transport: t}).CloseIdleConnections()
	}
	goruntime.GC()
}
