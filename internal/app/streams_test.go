package app_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/config"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/pgtest"
)

// streamRig is a BeeOS with an agent that says something and then nothing, and
// a person who is signed in at the console.
type streamRig struct {
	*apptest.App
	t      *testing.T
	agent  string
	cookie string
	owner  *client.Client
}

func newStreamRig(t *testing.T, cfg config.Config) *streamRig {
	t.Helper()
	s := &streamRig{App: apptest.Start(t, cfg), t: t}
	ann, err := accept(t, cfg, s.Setup)
	if err != nil {
		t.Fatal(err)
	}
	s.owner = client.New(s.REST, s.UserKey)
	s.agent = s.Connect(t, agent.Options{Name: "quiet"}, func(ctx context.Context, _ agent.Message, r *agent.Reply) error {
		if err := r.Delta("waiting"); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	})
	s.cookie = s.signIn(ann.Email)
	return s
}

// signIn returns the cookie of a new session.
func (s *streamRig) signIn(email string) string {
	s.t.Helper()
	form := url.Values{"email": {email}, "password": {"correct horse battery"}, "next": {"/"}}
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.Web+"/signin", strings.NewReader(form.Encode()))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	for _, c := range resp.Cookies() {
		if c.Name == "__Host-beeos" {
			return c.Name + "=" + c.Value
		}
	}
	s.t.Fatalf("signing in gave %s", resp.Status)
	return ""
}

// streamDoor is a way to open a stream.
type streamDoor struct {
	method, url, body string
	headers           []string
	until             string // what it says when it is open; "" = nothing
}

// open opens a stream; the console's with its cookie, the others with a key.
func (s *streamRig) open(d streamDoor, key string) *http.Response {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	s.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, d.method, d.url, strings.NewReader(d.body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	if d.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Authorization", "Bearer "+key)
	for i := 0; i < len(d.headers); i += 2 {
		req.Header.Set(d.headers[i], d.headers[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// session begins an MCP session.
func (s *streamRig) session(url string) string {
	s.t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	return s.open(streamDoor{"POST", url, body, nil, ""}, s.UserKey).Header.Get("Mcp-Session-Id")
}

// doors are the streams of every surface.
func (s *streamRig) doors() map[string]streamDoor {
	s.t.Helper()
	ctx := s.t.Context()
	task, err := s.owner.CreateTask(ctx, s.agent, client.TaskRequest{Message: "go"})
	if err != nil {
		s.t.Fatal(err)
	}
	one := s.MCP + "/" + s.agent + "/mcp"
	words := []string{"Mcp-Protocol-Version", "2025-06-18"}
	a2a := []string{"A2A-Version", "1.0"}
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + s.agent + `","arguments":{"message":"go"},"_meta":{"progressToken":1}}}`
	return map[string]streamDoor{
		"rest invoke":         {"POST", s.REST + "/api/v1/agents/" + s.agent + "/invoke", `{"message":"go"}`, []string{"Accept", "text/event-stream"}, "waiting"},
		"rest task events":    {"GET", s.REST + "/api/v1/agents/" + s.agent + "/tasks/" + task.ID + "/events", "", nil, "go"},
		"rest channel events": {"GET", s.REST + "/channels/" + task.ContextID + "/events", "", nil, "go"},
		"mcp call":            {"POST", one, call, words, "waiting"},
		"mcp listen": {
			"POST", one,
			`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
			[]string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen"},
			"acknowledged",
		},
		"mcp session":       {"GET", one, "", []string{"Mcp-Session-Id", s.session(one)}, ""},
		"mcp old transport": {"GET", s.MCP + "/" + s.agent + "/sse", "", nil, "endpoint"},
		"a2a send": {
			"POST", s.A2A + "/" + s.agent,
			`{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":{"message":{"role":"ROLE_USER","messageId":"m","parts":[{"text":"go"}]}}}`, a2a, "waiting",
		},
		"a2a subscribe": {"POST", s.A2A + "/" + s.agent, `{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask","params":{"id":"` + task.ID + `"}}`, a2a, "task"},
	}
}

// TestRevokedKeyStopsItsStreams: a stream ends with its key, on every surface,
// also when nothing happens on it.
func TestRevokedKeyStopsItsStreams(t *testing.T) {
	for engine, change := range map[string]func(*config.Config){
		"sqlite":   func(*config.Config) {},
		"postgres": func(c *config.Config) { c.DatabaseURL = pgtest.URL(t) },
	} {
		t.Run(engine, func(t *testing.T) {
			cfg := apptest.Config(t)
			change(&cfg)
			s := newStreamRig(t, cfg)
			key, err := s.owner.CreateKey(t.Context(), "", client.KeyRequest{Name: "short-lived"})
			if err != nil {
				t.Fatal(err)
			}
			open := map[string]*bufio.Scanner{}
			for name, d := range s.doors() {
				resp := s.open(d, key.Secret)
				lines := bufio.NewScanner(resp.Body)
				for resp.StatusCode == http.StatusOK && d.until != "" && lines.Scan() && !strings.Contains(lines.Text(), d.until) { //nolint:revive // until it is open
				}
				if resp.StatusCode != http.StatusOK || !strings.Contains(lines.Text(), d.until) {
					t.Fatalf("%s: %s, %q", name, resp.Status, lines.Text())
				}
				open[name] = lines
			}
			if err := s.owner.RevokeKey(t.Context(), "", key.ID); err != nil {
				t.Fatal(err)
			}
			for name, lines := range open {
				for lines.Scan() { //nolint:revive // to its end
				}
				if err := lines.Err(); err != nil {
					t.Errorf("%s goes on after its key was revoked: %v", name, err)
				}
			}
		})
	}
}

// TestSigningOutStopsLivePages: the streams of the console end with the session.
func TestSigningOutStopsLivePages(t *testing.T) {
	s := newStreamRig(t, apptest.Config(t))
	lines := bufio.NewScanner(s.open(streamDoor{"GET", s.Web + "/agents/live", "", []string{"Cookie", s.cookie}, ""}, "").Body)
	for lines.Scan() && !strings.Contains(lines.Text(), s.agent) { //nolint:revive // until it is open
	}
	if got := s.open(streamDoor{"POST", s.Web + "/signout", "", []string{"Cookie", s.cookie}, ""}, ""); got.StatusCode != http.StatusSeeOther {
		t.Fatalf("signing out gave %s", got.Status)
	}
	for lines.Scan() { //nolint:revive // to its end
	}
	if err := lines.Err(); err != nil {
		t.Errorf("the page is still live after signing out: %v", err)
	}
}

// TestStreamsAreCappedOnAllSurfacesTogether: whoever holds as many streams as a
// credential may gets no more, on whichever surface; calls still go through,
// and so do others.
func TestStreamsAreCappedOnAllSurfacesTogether(t *testing.T) {
	s := newStreamRig(t, apptest.Config(t))
	doors := s.doors()
	key, err := s.owner.CreateKey(t.Context(), "", client.KeyRequest{Name: "greedy"})
	if err != nil {
		t.Fatal(err)
	}
	following := []string{"rest task events", "rest channel events", "mcp session", "mcp listen", "mcp old transport", "a2a subscribe"}
	for i := range 100 {
		name := following[i%len(following)]
		if resp := s.open(doors[name], key.Secret); resp.StatusCode != http.StatusOK {
			t.Fatalf("%s, stream %d: %s", name, i, resp.Status)
		}
	}
	for _, name := range following {
		resp := s.open(doors[name], key.Secret)
		body, err := io.ReadAll(io.LimitReader(resp.Body, 1000))
		if resp.Header.Get("Content-Type") != "application/json" || err != nil || !strings.Contains(string(body), "too many streams") {
			t.Errorf("%s beyond the limit: %s %s", name, resp.Status, body)
		}
		if name != "mcp listen" && resp.StatusCode != http.StatusTooManyRequests { // which says it in JSON-RPC alone
			t.Errorf("%s beyond the limit: %s", name, resp.Status)
		}
	}
	for _, name := range []string{"rest invoke", "mcp call", "a2a send"} {
		if resp := s.open(doors[name], key.Secret); resp.StatusCode != http.StatusOK {
			t.Errorf("%s, which is a call: %s", name, resp.Status)
		}
	}
	live := streamDoor{"GET", s.Web + "/agents/live", "", []string{"Cookie", s.cookie}, ""}
	for i := range 100 {
		if resp := s.open(live, ""); resp.StatusCode != http.StatusOK {
			t.Fatalf("the console, stream %d: %s", i, resp.Status)
		}
	}
	if resp := s.open(live, ""); resp.StatusCode != http.StatusTooManyRequests {
		t.Errorf("the console beyond the limit: %s", resp.Status)
	}
	if resp := s.open(doors["rest task events"], s.UserKey); resp.StatusCode != http.StatusTooManyRequests {
		t.Errorf("another key of one who has as many as a person may: %s", resp.Status)
	}
}
