package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/bridge"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/bridgetest"
	"github.com/beeos/beeos/test/ports"
)

// backends are what stands behind bridges: an endpoint, a model, an MCP server
// and a peer, at one address that can go away and come back.
type backends struct {
	addr        string
	http        *http.Server
	done        chan error
	begun, slow chan struct{} // each that is asked to be slow says so, and waits for one
}

func (b *backends) up(t *testing.T) {
	t.Helper()
	mux := http.NewServeMux()
	reply := func(r *http.Request, text string) string {
		if strings.Contains(text, "slow") {
			b.begun <- struct{}{}
			select {
			case <-b.slow:
			case <-r.Context().Done():
			}
		}
		return "well"
	}
	mux.HandleFunc("POST /http", func(w http.ResponseWriter, r *http.Request) {
		var m struct{ Text string }
		_ = json.NewDecoder(r.Body).Decode(&m)
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, reply(r, m.Text))
	})
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		var m struct{ Messages []struct{ Content string } }
		_ = json.NewDecoder(r.Body).Decode(&m)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%q}}]}\n\ndata: [DONE]\n\n", reply(r, m.Messages[len(m.Messages)-1].Content))
	})
	card := strings.ReplaceAll(bridgetest.StreamingCard, "%s", "http://"+b.addr+"/a2a")
	mux.HandleFunc("GET /a2a/.well-known/agent-card.json", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, card) })
	mux.HandleFunc("POST /a2a/", func(w http.ResponseWriter, r *http.Request) {
		var m json.RawMessage
		_ = json.NewDecoder(r.Body).Decode(&m)
		bridgetest.WriteEvents(w, bridgetest.ArtifactChunk(reply(r, string(m)), false), bridgetest.StatusUpdate("COMPLETED", ""))
	})
	server := bridgetest.NewMCPServer()
	server.AddTool(&mcp.Tool{Name: "say", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		text := reply((&http.Request{}).WithContext(ctx), string(r.Params.Arguments))
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
	})
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	l, err := net.Listen("tcp", b.addr)
	if err != nil {
		t.Fatal(err)
	}
	b.http, b.done = &http.Server{Handler: mux, ReadHeaderTimeout: time.Second}, make(chan error, 1)
	go func() { b.done <- b.http.Serve(l) }() // awaited by down
}

func (b *backends) down(t *testing.T) {
	t.Helper()
	if err := b.http.Close(); err != nil {
		t.Error(err)
	}
	if err := <-b.done; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
}

// TestBridgesAsAService: several agents of one file. Two can never start, and
// the others do not notice. What is behind them is not there at first, goes
// away, and comes back; so does the gateway. When they are told to stop they
// finish what they are at.
func TestBridgesAsAService(t *testing.T) {
	b := &backends{addr: ports.Addr(t), begun: make(chan struct{}, 16), slow: make(chan struct{})}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cfg := apptest.ConfigToReturn(t)
	app := apptest.Start(t, cfg)
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	file := filepath.Join(dir, "beeos.yaml")
	text := fmt.Sprintf(`agents:
  - {name: never, exec: ./there-is-no-such-program}
  - {name: refused, http: "http://%[1]s/http", description: "%[2]s"}
  - {name: http, http: "http://%[1]s/http"}
  - {name: openai, openai: "http://%[1]s/v1", model: m}
  - {name: mcp, mcp: "http://%[1]s/mcp"}
  - {name: stdio, mcp: [%[3]q], env: {BRIDGE_TEST_MCP: "1"}}
  - {name: exec, exec: [%[3]q], env: {BRIDGE_TEST_PROGRAM: "1"}}
  - {name: a2a, a2a: "http://%[1]s/a2a"}
`, b.addr, strings.Repeat("x", 2<<20), self)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := bridge.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	var log bridgetest.Journal
	go func() { // awaited below
		ended <- f.Run(ctx, agent.Options{Gateway: app.Agents, Key: app.UserKey, Log: bridgetest.NewLogger(&log)}, func(string, string) {})
	}()
	all := []string{"http", "openai", "mcp", "stdio", "exec", "a2a"}
	far := []string{"http", "openai", "mcp", "a2a"}
	ask := func(name, text string) string { return askAgent(t.Context(), app, name, text) }
	until := func(what string, names []string, ok func(string) bool) {
		t.Helper()
		end := time.Now().Add(60 * time.Second)
		for _, name := range names {
			tick := time.NewTicker(100 * time.Millisecond)
			for got := ask(name, "hello"); !ok(got); got = ask(name, "hello") {
				if <-tick.C; time.Now().After(end) {
					t.Fatalf("%s: %s still says %q\n%s", what, name, got, log.String())
				}
			}
			tick.Stop()
		}
	}
	well := func(s string) bool { return s == "well" || s == "you said: hello" || s == "ab" || s == "a\nb" }
	until("nothing is there", far, func(s string) bool { return !well(s) })
	b.up(t)
	until("come late", all, well)
	b.down(t)
	until("gone", far, func(s string) bool { return !well(s) })
	b.up(t)
	until("back", all, well)
	if err := app.Stop(); err != nil {
		t.Fatal(err)
	}
	app = apptest.Start(t, cfg)
	until("another gateway", all, well)

	answers := make(chan string, len(far))
	for _, name := range far {
		go func() { answers <- ask(name, "slow") }() // awaited below
	}
	for range far {
		<-b.begun
	}
	stop()
	for range far {
		b.slow <- struct{}{}
	}
	for range far {
		if got := <-answers; got != "well" {
			t.Errorf("not finished: %q", got)
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	b.down(t)
	for _, name := range []string{"never", "refused"} {
		if !strings.Contains(log.String(), "the agent ended; starting it again\" agent="+name) {
			t.Errorf("%s: the log does not say so", name)
		}
	}
}

// askAgent talks to an agent, or calls a tool of one that does not chat. What
// goes wrong is its answer.
func askAgent(ctx context.Context, app *apptest.App, name, text string) string {
	c := client.New(app.REST, app.UserKey)
	a, err := c.Find(ctx, name)
	if err != nil {
		return err.Error()
	}
	if tool := map[string]string{"mcp": "say", "stdio": "echo"}[name]; tool != "" {
		got, err := c.CallTool(ctx, a, tool, json.RawMessage(`{"text":"`+text+`"}`))
		if err != nil {
			return err.Error()
		}
		return got.Text()
	}
	got, err := c.Invoke(ctx, a.ID, client.InvokeRequest{Message: text})
	if err != nil {
		return err.Error()
	}
	return got.Text
}
