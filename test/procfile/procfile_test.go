//go:build unix

// Package procfile runs the Procfile of the repository as goreman would: every
// line is a process of its own, all started at once, over one NATS and one
// empty PostgreSQL. Calls that enter at one process reach an agent that is
// connected to another. process_test.go ties a process to the test.
package procfile

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/pgtest"
	"github.com/beeos/beeos/test/ports"
)

// root is that of the repository.
const root = "../.."

// settings are the addresses of the surfaces by the names that --only has.
var settings = map[string]string{
	"mcp": "MCP_ADDR", "a2a": "A2A_ADDR", "rest": "OPENAPI_ADDR", "agents": "AGENT_GATEWAY_ADDR", "web": "WEB_ADDR",
}

// town is everything that the Procfile starts.
type town struct {
	t         *testing.T
	bin       string // folder of the programs
	env       []string
	urls      map[string]string // by surface
	processes map[string]*process
	key       string
}

func TestProcfile(t *testing.T) {
	w := newTown(t)
	w.start()
	w.healthy()
	w.key = w.beeos("keys", "create", "--owner", "admin@example.com")
	agentID := w.connect()

	t.Run("call", func(t *testing.T) {
		if got := w.call(t, agentID, "hello", ""); !strings.Contains(got, `"text":"you said: hello"`) {
			t.Errorf("answered %s", got)
		}
		if got := w.beeos("call", "parrot", "hello"); got != "you said: hello" {
			t.Errorf("the command line got %q", got)
		}
	})
	t.Run("stream", func(t *testing.T) {
		got := w.call(t, agentID, "hello", "application/json, text/event-stream")
		for _, want := range []string{"notifications/progress", `"message":"you said: "`, `"text":"you said: hello"`} {
			if !strings.Contains(got, want) {
				t.Errorf("%s is missing in %s", want, got)
			}
		}
	})
	t.Run("largest message", func(t *testing.T) {
		if got := w.call(t, agentID, strings.Repeat("<", 1_000_000), ""); len(got) < 1_000_000 || strings.Contains(got, `"error"`) {
			t.Errorf("answered %.300s", got)
		}
	})
	t.Run("built-in agent", w.manageBuiltin)
	t.Run("revoked key", func(t *testing.T) { w.revoke(t, agentID) })
	w.stop()
}

func newTown(t *testing.T) *town {
	t.Helper()
	w := &town{t: t, bin: t.TempDir(), urls: map[string]string{}, processes: map[string]*process{}}
	w.build()
	w.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "BEEOS_DATA=" + filepath.Join(t.TempDir(), "data"),
		"DATABASE_URL=" + pgtest.URL(t), "BEEOS_RATE_LIMIT=100000",
	}
	for part, setting := range settings {
		addr := ports.Addr(t)
		w.env = append(w.env, setting+"="+addr)
		w.urls[part] = "http://" + addr
	}
	return w
}

// build does what the Procfile's own comment says to do first.
func (w *town) build() {
	w.t.Helper()
	m := regexp.MustCompile(`(?m)^# +(go build .*)$`).FindStringSubmatch(procfile(w.t))
	if m == nil {
		w.t.Fatal("the Procfile does not say how to build its programs")
	}
	cmd := exec.CommandContext(w.t.Context(), "/bin/sh", "-c", strings.ReplaceAll(m[1], "bin/", w.bin+"/"))
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("%s: %v\n%s", m[1], err, out)
	}
}

func procfile(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "Procfile"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// start runs every line of the Procfile, with the programs and the port of
// this test in place of the usual ones.
func (w *town) start() {
	w.t.Helper()
	port := strconv.Itoa(ports.Number(w.t))
	w.env = append(w.env, "NATS_URL=nats://127.0.0.1:"+port)
	replace := strings.NewReplacer("bin/", w.bin+"/", "4222", port)
	for line := range strings.Lines(procfile(w.t)) {
		name, command, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		w.processes[name] = run(w.t, name, replace.Replace(strings.TrimSpace(command)), w.env)
	}
	for _, name := range []string{"nats", "agents", "mcp", "a2a", "rest", "web", "worker"} {
		if w.processes[name] == nil {
			w.t.Errorf("the Procfile has no line for %s", name)
		}
	}
	for name, p := range w.processes {
		ready := `"msg":"ready"`
		if name == "nats" {
			ready = "Server is ready"
		}
		p.expect(ready)
	}
}

// healthy asks every listener, and every process on the operator's own: the
// worker has no other.
func (w *town) healthy() {
	w.t.Helper()
	pages := map[string]string{}
	for part, url := range w.urls {
		pages[part+" health"], pages[part+" readiness"] = url+"/healthz", url+"/readyz"
		if status, body := w.get(url + "/metrics"); status == http.StatusOK && bytes.Contains(body, []byte("go_goroutines")) {
			w.t.Errorf("%s shows its metrics to everybody", part)
		}
	}
	for name, p := range w.processes {
		if name != "nats" {
			pages["health of "+name], pages["ready "+name], pages["metrics of "+name] = p.admin()+"/healthz", p.admin()+"/readyz", p.admin()+"/metrics"
		}
	}
	for what, url := range pages {
		if status, body := w.get(url); status != http.StatusOK {
			w.t.Errorf("%s, %s: %d %s", what, url, status, body)
		}
	}
}

func (w *town) get(url string) (status int, body []byte) {
	w.t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err = io.ReadAll(resp.Body); err != nil {
		w.t.Fatal(err)
	}
	return resp.StatusCode, body
}

// beeos runs the command line and returns what it prints.
func (w *town) beeos(args ...string) string {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), filepath.Join(w.bin, "beeos"), args...)
	cmd.Env = append(slices.Clone(w.env), "BEEOS_URL="+w.urls["rest"], "BEEOS_KEY="+w.key)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("beeos %s: %v\n%s", strings.Join(args, " "), err, &stderr)
	}
	return strings.TrimSpace(string(out))
}

// connect runs an agent against the agents process until the test ends.
func (w *town) connect() (id string) {
	w.t.Helper()
	connected := make(chan string, 1)
	a, err := agent.New(agent.Options{
		Name: "parrot", Gateway: w.urls["agents"], Key: w.key, Identity: filepath.Join(w.t.TempDir(), "identity.json"),
		Log: slog.New(slog.DiscardHandler),
		Connected: func(id string) {
			select {
			case connected <- id:
			default: // a reconnect
			}
		},
	}, func(_ context.Context, m agent.Message, r *agent.Reply) error {
		if err := r.Delta("you said: "); err != nil {
			return err
		}
		return r.Send(m.Text)
	})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	w.t.Cleanup(func() { cancel(); <-done })
	select {
	case id = <-connected:
	case err := <-done:
		w.t.Fatalf("the agent stopped: %v", err)
	}
	return id
}

// call asks the agent at the mcp process and returns the body of the answer.
func (w *town) call(t *testing.T, agentID, message, accept string) string {
	t.Helper()
	resp := w.post(t, agentID, message, accept, w.key)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %v %.300s", resp.Status, err, body)
	}
	return string(body)
}

func (w *town) post(t *testing.T, agentID, message, accept, key string) *http.Response {
	t.Helper()
	body, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call",
		"params": map[string]any{"name": agentID, "arguments": map[string]any{"message": message}, "_meta": map[string]any{"progressToken": 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	body = bytes.ReplaceAll(body, []byte(`\u003c`), []byte("<"))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.urls["mcp"]+"/"+agentID+"/mcp", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// manageBuiltin deploys, changes, stops, starts and deletes at the rest process
// what the worker process runs.
func (w *town) manageBuiltin(t *testing.T) {
	c := client.New(w.urls["rest"], w.key)
	d := client.Deployment{Name: "clerk", Prompt: "You keep the books."}
	made, err := c.Deploy(t.Context(), d, false)
	if err != nil || made.Outcome != "created" {
		t.Fatalf("%+v, %v", made, err)
	}
	d.Prompt = "You keep the books, in ink."
	if changed, err := c.Deploy(t.Context(), d, false); err != nil || changed.Outcome != "changed" {
		t.Errorf("%+v, %v", changed, err)
	}
	for _, act := range []string{"stop", "start"} {
		if err := c.RunInstance(t.Context(), made.ID, act); err != nil {
			t.Errorf("%s: %v", act, err)
		}
	}
	w.awaitOnline(t, c, d.Name) // one that goes while it connects is warned about
	if err := c.DestroyInstance(t.Context(), made.ID); err != nil {
		t.Error(err)
	}
}

// awaitOnline waits until an agent is connected.
func (w *town) awaitOnline(t *testing.T, c *client.Client, name string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; {
		agents, err := c.Agents(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(agents, func(a client.Agent) bool { return a.Name == name && a.Online }) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s does not come online", name)
		}
	}
}

// revoke ends a key at the rest process; the mcp process must know at once.
func (w *town) revoke(t *testing.T, agentID string) {
	c := client.New(w.urls["rest"], w.key)
	k, err := c.CreateKey(t.Context(), agentID, client.KeyRequest{Name: "short-lived"})
	if err != nil {
		t.Fatal(err)
	}
	status := func() int {
		resp := w.post(t, agentID, "hello", "", k.Secret)
		resp.Body.Close()
		return resp.StatusCode
	}
	if got := status(); got != http.StatusOK {
		t.Errorf("before: %d", got)
	}
	if err := c.RevokeKey(t.Context(), agentID, k.ID); err != nil {
		t.Fatal(err)
	}
	// The notice travels beside the answer. Without it, what is known of a key is
	// good for 30 seconds.
	for end := time.Now().Add(10 * time.Second); status() != http.StatusUnauthorized; {
		if time.Now().After(end) {
			t.Fatal("the key works ten seconds after it was revoked")
		}
	}
}

// stop asks every process to end, NATS last, and wants it to end well.
func (w *town) stop() {
	w.t.Helper()
	for _, name := range []string{"web", "a2a", "mcp", "rest", "agents", "worker", "nats"} {
		w.processes[name].terminate()
	}
	for name, p := range w.processes {
		if name == "nats" {
			continue
		}
		for _, line := range p.Err.All() {
			if strings.Contains(line, `"level":"ERROR"`) || strings.Contains(line, `"level":"WARN"`) && !strings.Contains(line, "PUBLIC_URL") {
				w.t.Errorf("%s logged: %.300s", name, line)
			}
		}
	}
}
