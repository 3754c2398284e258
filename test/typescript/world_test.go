//go:build unix

package typescript

import (
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/cluster"
	"github.com/beeos/beeos/test/ports"
	"github.com/beeos/beeos/test/program"
)

const patience = time.Minute

var runtime = flag.String("runtime", "", `what runs the agents instead of Node: "bun", or "deno run -A"`)

// server is a `beeos dev` that can be killed and come back where it was.
type server struct {
	t    *testing.T
	env  []string
	data string
	proc *program.Process

	REST    string `json:"rest"`
	MCP     string `json:"mcp"`
	UserKey string `json:"user_key"`
}

var buildServer = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("BEEOS_BIN"); path != "" {
		return path, nil
	}
	w, err := openWorkshop()
	if err != nil {
		return "", err
	}
	return cluster.BuildOne(context.Background(), filepath.Dir(w.project), "github.com/beeos/beeos/cmd/beeos")
})

func startServer(t *testing.T) *server {
	t.Helper()
	home := t.TempDir()
	s := &server{t: t, data: filepath.Join(home, "data")}
	s.env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "BEEOS_DATA=" + s.data, "BEEOS_RATE_LIMIT=1000000000", "LOG_LEVEL=warn", "NO_COLOR=1"}
	for _, name := range []string{"MCP_ADDR", "A2A_ADDR", "OPENAPI_ADDR", "AGENT_GATEWAY_ADDR", "WEB_ADDR"} {
		s.env = append(s.env, name+"="+ports.Addr(t))
	}
	s.start()
	t.Cleanup(func() {
		s.proc.Kill()
		if t.Failed() {
			t.Log(s.proc.Text())
		}
	})
	text, err := os.ReadFile(filepath.Join(s.data, "dev.json"))
	if err == nil {
		err = json.Unmarshal(text, s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// start runs the server and returns once it is ready.
func (s *server) start() {
	s.t.Helper()
	bin, err := buildServer()
	if err != nil {
		s.t.Fatal(err)
	}
	if s.proc, err = program.Start("server", s.env, bin, "dev"); err != nil {
		s.t.Fatal(err)
	}
	await(s.t, s.proc, "Ctrl-C stops.")
}

// await waits until a program has said something, and returns the line.
func await(t *testing.T, p *program.Process, text string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	line, err := p.Out.Await(ctx, func(line string) bool { return strings.Contains(line, text) })
	if err != nil {
		t.Fatalf("%s does not say %q: %v\n%s", p.Name, text, err, p.Text())
	}
	return line
}

// agentProcess is an agent that Node runs.
type agentProcess struct {
	*program.Process
	t  *testing.T
	id string
}

// startAgent runs a compiled agent, which has nothing to find the server by but
// the folder of `beeos dev`.
func (s *server) startAgent(script string, args ...string) *agentProcess {
	s.t.Helper()
	command := append(runCommand(s.t, filepath.Join(theProject(s.t).project, script)), args...)
	p, err := program.Start(script, append(s.env, "XDG_CONFIG_HOME="+filepath.Dir(s.data)), command[0], command[1:]...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		p.Kill()
		if s.t.Failed() {
			s.t.Log(p.Text())
		}
	})
	return &agentProcess{Process: p, t: s.t}
}

// runCommand is what runs a compiled program.
func runCommand(t *testing.T, script string) []string {
	t.Helper()
	command := strings.Fields(*runtime)
	if len(command) == 0 {
		command = []string{theProject(t).node}
	}
	return append(command, script)
}

// startScenarios runs the agent of the tests and returns once it is connected.
func (s *server) startScenarios() *agentProcess {
	s.t.Helper()
	a := s.startAgent("scenarios.js")
	a.id = strings.TrimPrefix(await(s.t, a.Process, "connected "), "connected ")
	return a
}

func (s *server) client() *client.Client { return client.New(s.REST, s.UserKey) }

// find returns an agent once it is connected.
func (s *server) find(name string) *client.Agent {
	s.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(patience); ; {
		a, err := s.client().Find(s.t.Context(), name)
		if err == nil && a.Online {
			return a
		}
		select {
		case <-tick.C:
		case <-end:
			s.t.Fatalf("agent %s is not online: %v, %v", name, a, err)
		}
	}
}

// bearer puts a key on every request.
type bearer struct {
	key  string
	next http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.key)
	return b.next.RoundTrip(r)
}

// connect opens a session of the official client with an agent.
func (s *server) connect(id, version string, o *mcp.ClientOptions) *mcp.ClientSession {
	s.t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "gosdk", Version: "1"}, o)
	transport := &mcp.StreamableClientTransport{
		Endpoint: s.MCP + "/" + id + "/mcp", HTTPClient: &http.Client{Transport: bearer{s.UserKey, &http.Transport{}}},
	}
	session, err := c.Connect(s.t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { session.Close() }) //nolint:errcheck // the server may be gone
	return session
}

// text is what a result says.
func text(r *mcp.CallToolResult, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	var b strings.Builder
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	if r.IsError {
		return "failed: " + b.String()
	}
	return b.String()
}
