package builtin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/outward/llm"
	"github.com/beeos/beeos/internal/outward/skill"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/storetest"
	"github.com/beeos/beeos/internal/wire/outbound"
	"github.com/beeos/beeos/test/apptest"
)

// stack is a BeeOS and a runtime of the test's own beside it.
type stack struct {
	*apptest.App
	dsn   string
	db    *store.Store
	rt    *builtin.Supervisor
	owner string
}

func start(t *testing.T, opt builtin.Options) *stack {
	t.Helper()
	s := serve(t)
	s.rt = s.run(t, opt, s.Agents)
	return s
}

// serve starts BeeOS without built-in agents.
func serve(t *testing.T) *stack {
	t.Helper()
	return serveOn(t, "")
}

// serveOn is serve with a database of the test's own; "" = SQLite.
func serveOn(t *testing.T, database string) *stack {
	t.Helper()
	cfg := apptest.Config(t)
	cfg.DatabaseURL = database
	cfg.Only = []string{"mcp", "a2a", "rest", "agents", "web"} // the built-in agents run here
	s := &stack{App: apptest.Start(t, cfg)}
	var err error
	if s.dsn, err = app.DSN(cfg); err != nil {
		t.Fatal(err)
	}
	s.db = storetest.Open(t, s.dsn)
	agent, err := s.db.Agents.Get(t.Context(), s.AgentID)
	if err != nil {
		t.Fatal(err)
	}
	s.owner = agent.OwnerID
	return s
}

// run runs built-in agents that connect to a gateway.
func (s *stack) run(t *testing.T, opt builtin.Options, gateway string) *builtin.Supervisor {
	t.Helper()
	opt.Agents, opt.Builtins, opt.Cluster = s.db.Agents, s.db.Builtins, s.db.Cluster
	opt.Gateway, opt.Folder, opt.Plain, opt.Console = gateway, t.TempDir(), true, s.Web
	if opt.HTTP == nil {
		opt.HTTP = outbound.Transport(outbound.Options{AllowPrivate: true})
	}
	rt, err := builtin.New(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- rt.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("the runtime ended with %v", err)
		}
	})
	return rt
}

// create makes a built-in agent, waits until it is connected, and returns the
// id of its instance and of the agent.
func (s *stack) create(t *testing.T, d builtin.Definition, secrets map[string]skill.Secrets) (id, agentID string) {
	t.Helper()
	row, err := s.rt.Create(t.Context(), s.owner, d, secrets)
	if err != nil {
		t.Fatal(err)
	}
	within := time.After(20 * time.Second)
	for {
		if agentID := s.rt.AgentID(row.ID); agentID != "" {
			return row.ID, agentID
		}
		select {
		case <-within:
			t.Fatalf("agent %s did not connect", d.Name)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (s *stack) say(ctx context.Context, agentID, conversation, text string) (*client.Answer, error) {
	return client.New(s.REST, s.UserKey).Invoke(ctx, agentID, client.InvokeRequest{Message: text, ContextID: conversation})
}

// mcp connects to an agent as the owner's MCP client does.
func (s *stack) mcp(t *testing.T, agentID string) *mcp.ClientSession {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: s.MCP + "/" + agentID + "/mcp", HTTPClient: &http.Client{Transport: bearer(s.UserKey)}, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

// bearer sends a key with every request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// server is a skill server with one tool that saves a CSV file.
type server struct {
	*httptest.Server
	mcp   *mcp.Server
	mu    sync.Mutex
	saved []string
	lists int
}

type csv struct {
	Filename string           `json:"filename" jsonschema:"Output filename without extension"`
	Rows     []map[string]any `json:"rows"`
}

func skillServer(t *testing.T) *server {
	t.Helper()
	s := &server{mcp: mcp.NewServer(&mcp.Implementation{Name: "files", Version: "1"}, nil)}
	mcp.AddTool(s.mcp, &mcp.Tool{Name: "save_csv", Description: "Save parsed invoice data as a CSV file to the shared drive"}, s.save)
	s.mcp.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			if method == "tools/list" {
				s.mu.Lock()
				s.lists++
				s.mu.Unlock()
			}
			return next(ctx, method, r)
		}
	})
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.mcp }, nil)
	s.Server = httptest.NewServer(h)
	t.Cleanup(func() {
		s.Server.CloseClientConnections()
		s.Server.Close()
	})
	return s
}

func (s *server) save(_ context.Context, _ *mcp.CallToolRequest, in csv) (*mcp.CallToolResult, any, error) {
	if in.Filename == "forbidden" {
		return nil, nil, errors.New("permission denied on /shared/invoices/")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saved = append(s.saved, in.Filename)
	text := fmt.Sprintf("CSV saved to /shared/invoices/%s.csv (%d rows)", in.Filename, len(in.Rows))
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
}

func (s *server) files() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.saved...)
}

// call is a wish for one tool.
func call(id, tool string, arguments any) llm.Delta {
	raw, err := json.Marshal(arguments)
	if err != nil {
		panic(err)
	}
	return llm.Delta{Call: &llm.Call{ID: id, Name: tool, Arguments: raw}}
}

// saving is a script that saves the file that it is asked to, once, and then
// repeats what the tool said.
func saving(r llm.Request) []llm.Delta {
	last := r.Messages[len(r.Messages)-1]
	if last.Role == llm.ToolRole {
		return llm.Say("The tool says: " + last.Text)
	}
	for _, t := range r.Tools {
		if t.Name == "files__save_csv" {
			return []llm.Delta{{Reasoning: "A file."}, {Text: "Saving."}, call("c1", t.Name, csv{Filename: last.Text, Rows: []map[string]any{{"amount": 1250.5}}})}
		}
	}
	return llm.Say("I cannot save files now. " + r.System)
}

// visit goes where a person is sent and returns where they are sent back to.
func visit(t *testing.T, address string) *url.URL {
	t.Helper()
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := browser.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	back, err := resp.Location()
	if err != nil {
		t.Fatal(err)
	}
	return back
}
