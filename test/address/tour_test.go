//go:build unix

package address

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/config"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/person"
	"github.com/beeos/beeos/test/ports"
	"github.com/beeos/beeos/test/stock"
)

// within is how long any one thing may take on a busy machine.
const within = 60 * time.Second

// serve is a configuration of a server for machines that has one address, which
// the domain leads to.
func serve(t *testing.T, domain string, hosts ...string) config.Config {
	t.Helper()
	cfg := apptest.Config(t)
	cfg.Dev, cfg.Domain = false, append([]string{domain}, hosts...)
	cfg.Addr = []string{ports.Addr(t), ports.Addr(t)}
	for name, s := range map[string]*config.Surface{"mcp.": &cfg.MCP.Surface, "a2a.": &cfg.A2A, "api.": &cfg.REST, "agents.": &cfg.Agents, "app.": &cfg.Web} {
		*s = config.Surface{PublicURL: "https://" + domain}
		for _, host := range hosts {
			if host == name+domain {
				s.PublicURL = "https://" + host
			}
		}
	}
	for _, host := range cfg.Domain {
		lead(t, host+":443", cfg.Addr[0])
	}
	return cfg
}

// urls says where a client finds each surface.
type urls struct{ web, mcp, a2a, rest, agents string }

// sameURL is one URL for everything.
func sameURL(u string) urls { return urls{u, u, u, u, u} }

// tour uses every surface of a server as its clients do.
type tour struct {
	t    *testing.T
	at   urls
	user string // key of a person
}

// whole is everything that has to work through one address.
func (w tour) whole(app *apptest.App) {
	w.t.Run("agent by WebSocket, call by REST as a stream", w.streamsAsItComes)
	w.t.Run("agent by long poll", w.longPolls)
	w.t.Run("MCP with a key, with progress", w.callsByMCP)
	w.t.Run("A2A", func(t *testing.T) { w.asksByA2A(t, app.AgentID) })
	w.t.Run("A2A as a stream", w.streamsByA2A)
	w.t.Run("pages and probes", w.looksAround)
	w.t.Run("OAuth", func(t *testing.T) { w.signsIn(t, app) })
}

// connect runs an agent with the SDK until the test ends.
func (w tour) connect(t *testing.T, name string, handle agent.Handler) (id string) {
	t.Helper()
	id, _ = w.connectCounted(t, name, handle)
	return id
}

// connectCounted is connect, and how often the agent has connected so far.
func (w tour) connectCounted(t *testing.T, name string, handle agent.Handler) (id string, connections *atomic.Int64) {
	t.Helper()
	connected := make(chan string, 1)
	connections = &atomic.Int64{}
	a, err := agent.New(agent.Options{
		Name: name, Gateway: w.at.agents, Key: w.user, Identity: filepath.Join(t.TempDir(), name+".json"), Log: slog.New(slog.DiscardHandler),
		Connected: func(id string) {
			if connections.Add(1) == 1 {
				connected <- id
			}
		},
	}, handle)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }() // awaited at the end
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	select {
	case id = <-connected:
	case err := <-ended:
		ended <- nil
		t.Fatalf("the agent ended: %v", err)
	case <-time.After(within):
		t.Fatal("the agent does not connect")
	}
	return id, connections
}

// inTwo answers in two parts: tell says the first one, and the second is not said
// before that has arrived. Nothing on the way may hold it back.
func inTwo(tell func(*agent.Reply) error) (handle agent.Handler, arrive func()) {
	arrived := make(chan struct{})
	return func(ctx context.Context, _ agent.Message, r *agent.Reply) error {
		if err := tell(r); err != nil {
			return err
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			return ctx.Err()
		}
		return r.Send("two")
	}, sync.OnceFunc(func() { close(arrived) })
}

func (w tour) streamsAsItComes(t *testing.T) {
	handle, arrive := inTwo(func(r *agent.Reply) error { return r.Delta("one ") })
	id := w.connect(t, "slow", handle)
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	var answer string
	for ev, err := range client.New(w.at.rest, w.user).Stream(ctx, id, client.InvokeRequest{Message: "count"}) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Delta != "" {
			arrive()
		}
		if ev.Done != nil {
			answer = ev.Done.Text
		}
	}
	if answer != "one two" {
		t.Errorf("the answer is %q", answer)
	}
}

// longPolls is an agent without the SDK: it joins, waits for a message, answers.
func (w tour) longPolls(t *testing.T) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var joined struct {
		Data struct {
			InstanceID string `json:"instance_id"`
		}
	}
	body, _ := json.Marshal(map[string]any{"name": "poller", "public_key": []byte(public)})
	w.ask(t, "POST", w.at.agents+"/api/v1/agents/join", "Bearer "+w.user, body, &joined)
	signed := func(method, path string, body []byte, into any) []byte {
		return w.ask(t, method, w.at.agents+path, beeos.Sign(private, joined.Data.InstanceID, method, path, body), body, into)
	}
	var synced struct {
		Data struct{ Created []struct{ ID string } }
	}
	signed("POST", "/api/v1/agents/sync", []byte(`{"agents":[{"name":"poller"}]}`), &synced)
	if len(synced.Data.Created) != 1 {
		t.Fatalf("%+v", synced)
	}
	id := synced.Data.Created[0].ID
	var conn string
	poll := func(kind beeos.FrameType) beeos.Frame {
		for range 10 {
			lines := signed("GET", "/api/v1/agents/poll?wait=5s&connection="+conn, nil, nil)
			for line := range bytes.Lines(lines) {
				var f beeos.Frame
				if err := json.Unmarshal(line, &f); err != nil {
					t.Fatalf("%q: %v", line, err)
				}
				if f.Type == kind {
					return f
				}
			}
		}
		t.Fatalf("no frame %s came", kind)
		return beeos.Frame{}
	}
	conn = poll(beeos.FrameHello).ConnectionID
	done := make(chan string, 1)
	go func() { // ends with its answer
		a, err := client.New(w.at.rest, w.user).Invoke(t.Context(), id, client.InvokeRequest{Message: "hello"})
		if err != nil {
			done <- err.Error()
			return
		}
		done <- a.Text
	}()
	turn := poll(beeos.FrameMessage).MessageID
	reply, _ := json.Marshal(beeos.Frame{Type: beeos.FrameReply, MessageID: turn, Body: "polled"})
	signed("POST", "/api/v1/agents/frames?connection="+conn, reply, nil)
	select {
	case got := <-done:
		if got != "polled" {
			t.Errorf("the answer is %q", got)
		}
	case <-time.After(within):
		t.Error("no answer")
	}
}

// ask sends a request and returns its answer, which must be a good one.
func (w tour) ask(t *testing.T, method, address, authorization string, body []byte, into any) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", authorization)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode >= 300 {
		t.Fatalf("%s %s: %s %v %s", method, address, res.Status, err, text)
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	return text
}

// bearer adds a key to requests.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// callsByMCP is the official Go client at the endpoint of all agents: it hears how
// far a call is while that is under way.
func (w tour) callsByMCP(t *testing.T) {
	handle, arrive := inTwo(func(r *agent.Reply) error { return r.Progress(1, 2, "one") })
	id := w.connect(t, "teller", handle)
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	progress := make(chan string, 8)
	c := mcp.NewClient(&mcp.Implementation{Name: "tour", Version: "1"}, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
		progress <- r.Params.Message
		arrive()
	}})
	s, err := c.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: w.at.mcp + "/mcp", HTTPClient: &http.Client{Transport: bearer(w.user)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	list, err := s.ListTools(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	named := slices.IndexFunc(list.Tools, func(tool *mcp.Tool) bool {
		return strings.Contains(tool.Name, "teller") || strings.Contains(tool.Name, id)
	})
	if named < 0 {
		t.Fatalf("no tool of the agent among %d", len(list.Tools))
	}
	call := &mcp.CallToolParams{Name: list.Tools[named].Name, Arguments: map[string]any{"message": "go"}}
	call.SetProgressToken("how far")
	result, err := s.CallTool(ctx, call)
	if err != nil {
		t.Fatal(err)
	}
	if got := textOf(result); got != "two" || len(progress) == 0 || <-progress != "one" {
		t.Errorf("the result is %q", got)
	}
}

// textOf is what a tool's result says.
func textOf(result *mcp.CallToolResult) (all string) {
	for _, part := range result.Content {
		if text, ok := part.(*mcp.TextContent); ok {
			all += text.Text
		}
	}
	return all
}

// asksByA2A is the official Go client, which goes where the agent's card says.
func (w tour) asksByA2A(t *testing.T, agentID string) {
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	said, err := stock.Say(ctx, w.at.a2a+"/"+agentID, w.user, "hello")
	if err != nil || !strings.Contains(said, "you said: hello") {
		t.Errorf("%q, %v", said, err)
	}
}

// streamsByA2A: pieces of an artifact arrive while the agent is at work.
func (w tour) streamsByA2A(t *testing.T) {
	handle, arrive := inTwo(func(r *agent.Reply) error { return r.Delta("one ") })
	id := w.connect(t, "streamer", handle)
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	web := &http.Client{Transport: bearer(w.user)}
	card, err := agentcard.NewResolver(web).Resolve(ctx, w.at.a2a+"/"+id)
	if err != nil {
		t.Fatal(err)
	}
	c, err := a2aclient.NewFromCard(ctx, card, a2aclient.WithDefaultsDisabled(), a2aclient.WithJSONRPCTransport(web))
	if err != nil {
		t.Fatal(err)
	}
	text, ended := "", a2a.TaskStateUnspecified
	for ev, err := range c.SendStreamingMessage(ctx, &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("count"))}) {
		if err != nil {
			t.Fatal(err)
		}
		switch ev := ev.(type) {
		case *a2a.TaskArtifactUpdateEvent:
			if !ev.Append {
				text = ""
			}
			text += ev.Artifact.Parts[0].Text()
			arrive()
		case *a2a.TaskStatusUpdateEvent:
			ended = ev.Status.State
		}
	}
	if text != "one two" || ended != a2a.TaskStateCompleted {
		t.Errorf("the stream said %q and ended %s", text, ended)
	}
}

// look returns the status of a page, where it leads and what it says.
func look(t *testing.T, address string, change func(*http.Request)) (*http.Response, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(r)
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(text)
}

func (w tour) looksAround(t *testing.T) {
	for address, want := range map[string]int{
		w.at.web + "/": 303, w.at.web + "/signin": 200, w.at.web + "/nothing": 404,
		w.at.web + "/healthz": 200, w.at.web + "/readyz": 200, w.at.rest + "/openapi.json": 200,
		w.at.rest + "/api/v1/agents": 401, w.at.web + "/metrics": 404, w.at.mcp + "/metrics": 404,
	} {
		if res, text := look(t, address, nil); res.StatusCode != want {
			t.Errorf("%s: %s, want %d: %.200s", address, res.Status, want, text)
		}
	}
}

// signsIn is the official Go client without a key: it finds the authorization
// server, registers, has a person consent and calls.
func (w tour) signsIn(t *testing.T, app *apptest.App) {
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	who := &person.Person{Email: "ada@example.com", Password: rand.Text(), AgentID: app.AgentID}
	link, err := url.Parse(app.Setup)
	if err != nil {
		t.Fatal(err)
	}
	if err := who.Join(ctx, w.at.web+link.RequestURI()); err != nil {
		t.Fatal(err)
	}
	browser := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})) // where the browser ends
	defer browser.Close()
	back := browser.URL + "/callback"
	handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		RedirectURL: back, Client: &http.Client{Transport: struct{ http.RoundTripper }{transport()}}, AcceptUnadvertisedIss: true,
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{ClientName: "tour", RedirectURIs: []string{back}}},
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			at, err := who.Consent(ctx, args.URL)
			if err != nil {
				return nil, err
			}
			q := at.Query()
			return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := mcp.NewClient(&mcp.Implementation{Name: "tour", Version: "1"}, nil)
	s, err := c.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: w.at.mcp + "/" + app.AgentID + "/mcp", OAuthHandler: handler, HTTPClient: &http.Client{Transport: transport()}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	tools, err := s.ListTools(ctx, nil)
	if err != nil || len(tools.Tools) == 0 {
		t.Fatalf("%v %v", tools, err)
	}
	result, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tools.Tools[0].Name, Arguments: map[string]any{"message": "hello"}})
	if err != nil || !strings.Contains(textOf(result), "you said: hello") {
		t.Errorf("%+v %v", result, err)
	}
}
