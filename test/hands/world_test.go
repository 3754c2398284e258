package hands

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/audit"
	"github.com/beeos/beeos/test/browser"
	"github.com/beeos/beeos/test/person"
	"github.com/beeos/beeos/test/ports"
	"github.com/beeos/beeos/test/program"
)

const (
	owner    = browser.Email
	patience = time.Minute
)

// world is a server process with a model, a built-in agent that was deployed by
// REST and has a drive, and somebody who owns it and can sign in.
type world struct {
	t         *testing.T
	web, mcp  string
	agents    string
	data      string
	ownerKey  string
	callerKey string
	api       *client.Client
	model     *Model
	drive     *Drive
	agent     *client.Agent
}

func newWorld(t *testing.T, script func(Talk) Words) *world {
	t.Helper()
	w := &world{t: t, data: filepath.Join(t.TempDir(), "data"), model: NewModel(t, script), drive: NewDrive(t)}
	env := append(w.model.Env(), "BEEOS_DATA="+w.data, "BEEOS_DURABILITY=os")
	var rest, a2a string
	for setting, url := range map[string]*string{"MCP_ADDR": &w.mcp, "OPENAPI_ADDR": &rest, "AGENT_GATEWAY_ADDR": &w.agents, "WEB_ADDR": &w.web, "A2A_ADDR": &a2a} {
		addr := ports.Addr(t)
		env, *url = append(env, setting+"="+addr), "http://"+addr
	}
	env = append(env, "WEB_PUBLIC_URL="+w.web)
	w.ownerKey = w.command(env, "keys", "create", "--owner", owner)
	w.serve(env)
	joins := person.Person{Email: owner, Password: browser.Password}
	if err := joins.Join(t.Context(), w.command(env, "users", "reset", owner)); err != nil {
		t.Fatal(err)
	}
	w.api = client.New(rest, w.ownerKey)
	w.deploy(w.drive.Deployment("clerk", "read_note"))
	return w
}

// serve runs the server until the test ends.
func (w *world) serve(env []string) {
	w.t.Helper()
	p, err := program.Start("server", append([]string{"HOME=" + w.t.TempDir(), "TMPDIR=" + os.TempDir()}, env...), binary, "serve")
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		p.Kill()
		log := p.Text()
		if strings.Contains(log, "DATA RACE") || strings.Contains(log, "panic: ") {
			w.t.Error("the server has a race, or panicked")
		}
		if w.t.Failed() {
			w.t.Logf("the server:\n%s", log)
		}
	})
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	if _, err := p.Err.Await(ctx, func(line string) bool { return strings.Contains(line, `"msg":"ready"`) }); err != nil {
		w.t.Fatalf("the server is not ready: %v", err)
	}
}

// command runs the program once and returns what it prints.
func (w *world) command(env []string, args ...string) string {
	w.t.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Env = append([]string{"HOME=" + w.t.TempDir()}, env...)
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("beeos %s: %v", args[0], err)
	}
	return strings.TrimSpace(string(out))
}

// deploy makes the agent by REST, and a key of its own for who calls it.
func (w *world) deploy(d client.Deployment) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	if _, err := w.api.Deploy(ctx, d, false); err != nil {
		w.t.Fatal(err)
	}
	for {
		a, err := w.api.Find(ctx, d.Name)
		if err == nil && a.Online {
			w.agent = a
			break
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			w.t.Fatalf("the agent does not come: %+v, %v", a, err)
		}
	}
	key, err := w.api.CreateKey(ctx, w.agent.ID, client.KeyRequest{Name: "caller"})
	if err != nil {
		w.t.Fatal(err)
	}
	w.callerKey = key.Secret
}

// caller is an MCP client of the official SDK.
type caller struct {
	session *mcp.ClientSession
	tool    string

	mu       sync.Mutex
	progress []string
	heard    chan struct{} // closed and replaced with every notification
}

// caller connects to the agent with a key that is good for nothing else.
func (w *world) caller() *caller {
	w.t.Helper()
	c := &caller{heard: make(chan struct{})}
	mc := mcp.NewClient(&mcp.Implementation{Name: "caller", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { c.hear(r.Params.Message) },
	})
	var err error
	c.session, err = mc.Connect(w.t.Context(), &mcp.StreamableClientTransport{
		Endpoint: w.mcp + "/" + w.agent.ID + "/mcp", HTTPClient: &http.Client{Transport: bearer(w.callerKey)}, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { c.session.Close() })
	tools, err := c.session.ListTools(w.t.Context(), nil)
	if err != nil || len(tools.Tools) == 0 {
		w.t.Fatalf("%+v, %v", tools, err)
	}
	c.tool = tools.Tools[0].Name
	return c
}

func (c *caller) hear(message string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.progress = append(c.progress, message)
	close(c.heard)
	c.heard = make(chan struct{})
}

// told waits for a progress notification that says so.
func (c *caller) told(t *testing.T, what string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		c.mu.Lock()
		said, more := strings.Join(c.progress, "\n"), c.heard
		c.mu.Unlock()
		if strings.Contains(said, what) {
			return
		}
		select {
		case <-more:
		case <-ctx.Done():
			t.Fatalf("while it waits, the caller hears %q, not %q", said, what)
		}
	}
}

// end is what a call came to.
type end struct {
	text string
	err  error
}

// say calls the agent and does not wait.
func (c *caller) say(ctx context.Context, message string) <-chan end {
	ended := make(chan end, 1)
	go func() {
		p := &mcp.CallToolParams{Name: c.tool, Arguments: map[string]any{"message": message}}
		p.SetProgressToken("p-" + message)
		got, err := c.session.CallTool(ctx, p)
		if err != nil {
			ended <- end{err: err}
			return
		}
		var all []string
		for _, part := range got.Content {
			if part, ok := part.(*mcp.TextContent); ok {
				all = append(all, part.Text)
			}
		}
		ended <- end{text: strings.Join(all, "\n")}
	}()
	return ended
}

// ends waits for the end of a call, which must be an answer that says so.
func ends(t *testing.T, call <-chan end, want ...string) {
	t.Helper()
	select {
	case got := <-call:
		for _, part := range want {
			if got.err != nil || !strings.Contains(got.text, part) {
				t.Errorf("the caller hears %q, %v, and not %q", got.text, got.err, part)
			}
		}
	case <-time.After(2 * patience):
		t.Fatal("the call does not end")
	}
}

// bearer sends a key with every request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// audit returns the lines about decisions, the oldest first.
func (w *world) audit() (rows []audit.Row) {
	w.t.Helper()
	db, err := store.Open(w.t.Context(), "sqlite:"+filepath.Join(w.data, "beeos.db"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	all, err := db.Audit.List(w.t.Context(), "", 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range all {
		if strings.HasPrefix(r.Action, "approval.") && r.Action != "approval.policy" {
			rows = append([]audit.Row{r}, rows...)
		}
	}
	return rows
}
