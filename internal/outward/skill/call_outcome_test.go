package skill_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beeos/beeos/internal/outward/skill"
)

// payments is a skill server whose one tool must not run twice. It can be
// replaced by another behind the same address, as a restart does.
type payments struct {
	*httptest.Server
	mu    sync.Mutex
	now   http.Handler
	paid  atomic.Int64
	begun chan struct{} // receives once per payment
	going chan struct{} // closed: payments end
}

func newPayments(t *testing.T) *payments {
	t.Helper()
	p := &payments{begun: make(chan struct{}, 8), going: make(chan struct{})}
	p.restart(nil)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		h := p.now
		p.mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		p.CloseClientConnections()
		p.Close()
	})
	return p
}

// restart makes it another process, with an event store if there is one: then
// a stream that broke is asked for again.
func (p *payments) restart(events mcp.EventStore) {
	s := mcp.NewServer(&mcp.Implementation{Name: "bank", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "pay"}, func(ctx context.Context, _ *mcp.CallToolRequest, in struct {
		Wait bool `json:"wait,omitempty"`
	},
	) (*mcp.CallToolResult, any, error) {
		n := p.paid.Add(1)
		p.begun <- struct{}{}
		if in.Wait && n == 1 { // a second one is a mistake, and should show
			select {
			case <-p.going:
			case <-ctx.Done():
			}
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "paid"}}}, nil, nil
	})
	p.serve(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{EventStore: events}))
}

func (p *payments) serve(h http.Handler) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = h
}

func (p *payments) client(t *testing.T) *skill.Client {
	t.Helper()
	c := skill.New(skill.Options{Server: skill.Server{Name: "bank", URL: p.URL}, HTTP: http.DefaultTransport})
	t.Cleanup(func() { _ = c.Close() }) // its server may be gone
	if _, err := c.Tools(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestNoCallIsMadeTwice: whatever becomes of the server while it carries out a
// call, the call is not made again, and whoever asked for it hears that it may
// have been carried out.
func TestNoCallIsMadeTwice(t *testing.T) {
	for name, c := range map[string]struct {
		resume bool
		spoil  func(*payments)
	}{
		"the server is restarted":                        {false, func(p *payments) { p.restart(nil); p.CloseClientConnections() }},
		"the server is restarted, streams are resumable": {true, func(p *payments) { p.restart(nil); p.CloseClientConnections() }},
		"the connection breaks":                          {false, func(p *payments) { p.CloseClientConnections() }},
		"the server goes away":                           {false, func(p *payments) { p.CloseClientConnections(); p.Listener.Close() }},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPayments(t)
			defer close(p.going)
			if c.resume {
				p.restart(mcp.NewMemoryEventStore(nil))
			}
			client := p.client(t)
			ended := make(chan error, 1)
			go func() {
				_, err := client.Call(t.Context(), "pay", json.RawMessage(`{"wait":true}`))
				ended <- err
			}()
			<-p.begun
			c.spoil(p)
			if err := <-ended; !errors.Is(err, skill.ErrUncertain) {
				t.Errorf("it ended with %v", err)
			}
			if n := p.paid.Load(); n != 1 {
				t.Errorf("paid %d times", n)
			}
		})
	}
}

// TestUncertainAnswers: what stands between here and the server may say that
// there is no answer when there was a call.
func TestUncertainAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		maybe  bool
	}{
		"bad gateway":     {http.StatusBadGateway, true},
		"gateway timeout": {http.StatusGatewayTimeout, true},
		"fault":           {http.StatusInternalServerError, true},
		"refused":         {http.StatusForbidden, false},
		"too many":        {http.StatusTooManyRequests, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPayments(t)
			client := p.client(t)
			var asked atomic.Int64
			p.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost {
					asked.Add(1)
				}
				http.Error(w, "no", c.status)
			}))
			_, err := client.Call(t.Context(), "pay", json.RawMessage(`{}`))
			if err == nil || errors.Is(err, skill.ErrUncertain) != c.maybe || asked.Load() != 1 {
				t.Errorf("asked %d times: %v", asked.Load(), err)
			}
		})
	}
}

// TestSessionThatEndedBefore: a call that the server refused because it does
// not know the session has not run, and is made once, in a new session.
func TestSessionThatEndedBefore(t *testing.T) {
	p := newPayments(t)
	client := p.client(t)
	p.restart(nil)
	got, err := client.Call(t.Context(), "pay", json.RawMessage(`{}`))
	if err != nil || got.Text != "paid" || p.paid.Load() != 1 {
		t.Errorf("%+v, %v, paid %d times", got, err, p.paid.Load())
	}
	p.Listener.Close()
	p.CloseClientConnections()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections() // else one that is dead and does not know it
	if _, err := client.Call(t.Context(), "pay", json.RawMessage(`{}`)); err == nil || errors.Is(err, skill.ErrUncertain) || !strings.Contains(err.Error(), "cannot be reached") {
		t.Errorf("without a server: %v", err)
	}
}

// TestCommandThatDiesInACall: what a command has done before it died is not
// known.
func TestCommandThatDiesInACall(t *testing.T) {
	c := skill.New(skill.Options{Server: skill.Server{Name: "local", Command: "x"}, Command: []string{os.Args[0], serveArg}})
	defer c.Close()
	if _, err := c.Call(t.Context(), "exit", nil); !errors.Is(err, skill.ErrUncertain) {
		t.Errorf("%v", err)
	}
}
