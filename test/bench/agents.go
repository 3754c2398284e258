package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/outward/skill"
	"github.com/beeos/beeos/internal/store"
)

// agents measures conversations with one built-in agent: a scripted model asks
// for a tool, whose server answers when every conversation has come that far.
// So all of them are open at once, and can be weighed.
func agents(ctx context.Context, s settings) (string, error) {
	h := newGathering(s.conversations)
	defer h.Close()
	b, err := prepare(ctx, "fsync", func(ctx context.Context, db *store.Store, user string) error { return makeClerk(ctx, db, user, h.URL) })
	if err != nil {
		return "", err
	}
	defer b.close()
	b.env = []string{"LLM_PROVIDER=scripted", "BEEOS_ALLOW_PRIVATE=true"}
	if err := b.run(ctx, s.server, "fsync"); err != nil {
		return "", err
	}
	id, err := b.awaitClerk(ctx)
	if err != nil {
		return "", err
	}
	before, err := b.weigh()
	if err != nil {
		return "", err
	}
	cpu, from := b.cpu(), time.Now()
	group, calls := errgroup.WithContext(ctx)
	for range s.conversations {
		group.Go(func() error { return b.converse(calls, id) })
	}
	select {
	case <-h.full:
	case <-calls.Done():
		return "", group.Wait()
	}
	open, err := b.weigh()
	if err != nil {
		return "", err
	}
	weighed := time.Now()
	close(h.gate)
	if err := group.Wait(); err != nil {
		return "", err
	}
	busy, took := b.cpu()-cpu, weighed.Sub(from)+time.Since(weighed)
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	after, err := b.weigh()
	if err != nil {
		return "", err
	}
	row := func(name string, w weight) string {
		return fmt.Sprintf("| %s | %d | %d MB | %d MB |\n", name, w.goroutines, w.live>>20, w.resident>>20)
	}
	n := s.conversations
	return "| | goroutines | live memory | resident |\n|---|---:|---:|---:|\n" +
		row("before", before) + row(fmt.Sprintf("%d conversations open", n), open) + row("all answered", after) +
		fmt.Sprintf("\nOne open conversation holds %.0f KB and %.1f goroutines; all of them took %.1f s and %.1f ms of CPU each, the weighing included.\n",
			float64(open.live-before.live)/float64(n)/1024, float64(open.goroutines-before.goroutines)/float64(n), took.Seconds(), float64(busy.Milliseconds())/float64(n)), nil
}

// gathering is a skill server whose tool answers once everybody has called it.
type gathering struct {
	*httptest.Server
	full, gate chan struct{}
}

func newGathering(all int) *gathering {
	h := &gathering{full: make(chan struct{}), gate: make(chan struct{})}
	s := mcp.NewServer(&mcp.Implementation{Name: "hold", Version: "1"}, nil)
	var came atomic.Int64
	mcp.AddTool(s, &mcp.Tool{Name: "add", Description: "Add numbers up."}, func(ctx context.Context, _ *mcp.CallToolRequest, in struct {
		Numbers []float64 `json:"numbers"`
	},
	) (*mcp.CallToolResult, any, error) {
		if came.Add(1) == int64(all) {
			close(h.full)
		}
		select {
		case <-h.gate:
		case <-ctx.Done():
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(in.Numbers)}}}, nil, nil
	})
	h.Server = httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	return h
}

const clerk = "clerk"

// makeClerk makes the built-in agent in the database, as the server would.
func makeClerk(ctx context.Context, db *store.Store, user, url string) error {
	folder, err := os.MkdirTemp("", "beeos-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	rt, err := builtin.New(ctx, builtin.Options{Agents: db.Agents, Builtins: db.Builtins, Cluster: db.Cluster, Folder: folder, Plain: true})
	if err != nil {
		return err
	}
	_, err = rt.Create(ctx, user, builtin.Definition{Name: clerk, Servers: []skill.Server{{Name: "hold", URL: url, AutoApprove: true}}}, nil)
	return err
}

// awaitClerk returns the id of the agent once it answers.
func (s *beeosServer) awaitClerk(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	c := client.New("http://"+s.rest, s.key)
	for {
		list, err := c.Agents(ctx)
		for _, a := range list {
			if a.Name != clerk {
				continue
			}
			if _, err = c.Invoke(ctx, a.ID, client.InvokeRequest{Message: "hello"}); err == nil {
				return a.ID, nil
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return "", fmt.Errorf("the built-in agent does not answer: %w\n%s", err, s.log.String())
		}
	}
}

func (s *beeosServer) converse(ctx context.Context, id string) error {
	a, err := client.New("http://"+s.rest, s.key).Invoke(ctx, id, client.InvokeRequest{Message: "what is 2 and 40?", TimeoutMS: 110_000})
	if err != nil {
		return err
	}
	if a.Text != "The answer is [2 40]." {
		return fmt.Errorf("the agent said %q", a.Text)
	}
	return nil
}

// weight is what a server holds.
type weight struct {
	memory
	goroutines int
}

func (s *beeosServer) weigh() (w weight, err error) {
	if w.memory, err = s.memory(); err != nil {
		return w, err
	}
	resp, err := http.Get("http://" + s.prof + "/debug/pprof/goroutine?debug=1")
	if err != nil {
		return w, err
	}
	defer resp.Body.Close()
	line, err := bufio.NewReader(resp.Body).ReadString('\n')
	if err != nil {
		return w, err
	}
	w.goroutines, err = strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, "goroutine profile: total ")))
	return w, err
}
