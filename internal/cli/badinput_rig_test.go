package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/store"
)

// rig is a `beeos serve` of its own, an agent that counts what reaches it,
// and the server's database behind its back.
type rig struct {
	t       *testing.T
	cmd     *exec.Cmd
	data    string
	logFile string
	db      *store.Store
	owner   string // user id
	key     string // of the owner
	agent   string // id
	reached atomic.Int64

	MCP    string `json:"mcp"`
	REST   string `json:"rest"`
	Agents string `json:"agents"`

	secrets []string // what must show nowhere
}

func newRig(t *testing.T) *rig {
	t.Helper()
	dir := t.TempDir()
	r := &rig{t: t, data: filepath.Join(dir, "data"), logFile: filepath.Join(dir, "log")}
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "BEEOS_DATA=" + r.data, "LOG_LEVEL=debug", "LOG_FORMAT=json", "BEEOS_RATE_LIMIT=1000000",
		"MCP_ADDR=127.0.0.1:0", "A2A_ADDR=127.0.0.1:0", "OPENAPI_ADDR=127.0.0.1:0", "AGENT_GATEWAY_ADDR=127.0.0.1:0", "WEB_ADDR=127.0.0.1:0",
	}
	first := exec.CommandContext(t.Context(), "beeos", "keys", "create", "--owner", "owner@example.com")
	first.Env = env
	out, err := first.Output()
	if err != nil {
		t.Fatalf("make the first key: %v", err)
	}
	r.key = r.secret(strings.TrimSpace(string(out)))
	r.serve(env)
	if r.db, err = store.Open(t.Context(), "sqlite:"+filepath.Join(r.data, "beeos.db")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.db.Close() })
	owner, err := r.db.People.GetUserByEmail(t.Context(), "owner@example.com")
	if err != nil {
		t.Fatal(err)
	}
	r.owner = owner.ID
	r.agent = r.connect("counter")
	return r
}

// serve starts the server and reads from its log where it listens.
func (r *rig) serve(env []string) {
	r.t.Helper()
	log, err := os.Create(r.logFile)
	if err != nil {
		r.t.Fatal(err)
	}
	defer log.Close()
	r.cmd = exec.Command("beeos", "serve")
	r.cmd.Env, r.cmd.Stdout, r.cmd.Stderr = env, log, log
	if err := r.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { r.cmd.Process.Kill() })
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		for line := range strings.Lines(r.log()) {
			if strings.Contains(line, `"msg":"ready"`) && json.Unmarshal([]byte(line), r) == nil {
				return
			}
		}
	}
	r.t.Fatalf("the server does not get ready:\n%s", r.log())
}

func (r *rig) log() string {
	b, err := os.ReadFile(r.logFile)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(b)
}

// stop ends the server as an init system does.
func (r *rig) stop() {
	r.t.Helper()
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		r.t.Fatal(err)
	}
	if err := r.cmd.Wait(); err != nil {
		r.t.Errorf("the server ended with %v", err)
	}
}

// connect runs an agent of the owner's until the test ends.
func (r *rig) connect(name string) (id string) {
	r.t.Helper()
	connected := make(chan string, 1)
	a, err := agent.New(agent.Options{
		Name: name, Gateway: r.Agents, Key: r.key, Identity: filepath.Join(r.t.TempDir(), "identity.json"), Log: slog.New(slog.DiscardHandler),
		Connected: func(id string) {
			select {
			case connected <- id:
			default:
			}
		},
	}, func(_ context.Context, m agent.Message, reply *agent.Reply) error {
		r.reached.Add(1)
		return reply.Send(fmt.Sprintf("%d bytes", len(m.Text)))
	})
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	r.t.Cleanup(func() { cancel(); <-done })
	select {
	case id := <-connected:
		return id
	case err := <-done:
		r.t.Fatalf("the agent stopped: %v", err)
	}
	return ""
}

// secret remembers s as something that may show nowhere.
func (r *rig) secret(s string) string {
	r.secrets = append(r.secrets, s)
	return s
}

// newKey makes a key straight in the database.
func (r *rig) newKey(k beeos.Key) (secret string) {
	r.t.Helper()
	secret, hash, prefix := auth.NewKey(k.Kind)
	k.ID, k.Name, k.Prefix, k.CreatedAt = beeos.NewID(), "test", prefix, time.Now()
	if err := r.db.Keys.Create(r.t.Context(), k, hash); err != nil {
		r.t.Fatal(err)
	}
	return r.secret(secret)
}

// revokedKey worked a moment ago.
func (r *rig) revokedKey() string {
	r.t.Helper()
	secret := r.newKey(beeos.Key{Kind: beeos.UserKey, OwnerID: r.owner})
	k, err := r.db.Keys.GetByHash(r.t.Context(), auth.Hash(secret))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, x := range []struct {
		method, path string
		status       int
	}{
		{http.MethodGet, "/api/v1/agents", http.StatusOK},
		{http.MethodDelete, "/api/v1/api-keys/" + k.ID, http.StatusNoContent},
	} {
		req, err := http.NewRequestWithContext(r.t.Context(), x.method, r.REST+x.path, nil)
		if err != nil {
			r.t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+secret)
		if resp, _ := r.do(req); resp.StatusCode != x.status {
			r.t.Fatalf("%s %s: %s", x.method, x.path, resp.Status)
		}
	}
	return secret
}

// expiredKey has never been used and has just run out.
func (r *rig) expiredKey() string {
	r.t.Helper()
	secret := r.newKey(beeos.Key{Kind: beeos.UserKey, OwnerID: r.owner, ExpiresAt: time.Now().Add(time.Hour)})
	if _, err := r.db.ExecContext(r.t.Context(), "UPDATE api_keys SET expires_at = 1 WHERE hash = $1", auth.Hash(secret)); err != nil {
		r.t.Fatal(err)
	}
	return secret
}

// stranger is another user's key.
func (r *rig) stranger() string {
	r.t.Helper()
	u := beeos.User{ID: beeos.NewID(), Email: beeos.NewID() + "@example.com", CreatedAt: time.Now()}
	if err := r.db.People.CreateUser(r.t.Context(), u); err != nil {
		r.t.Fatal(err)
	}
	return r.newKey(beeos.Key{Kind: beeos.UserKey, OwnerID: u.ID})
}

func (r *rig) do(req *http.Request) (*http.Response, []byte) {
	r.t.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp, body
}

// stored counts the messages on disk.
func (r *rig) stored() (n int) {
	r.t.Helper()
	if err := r.db.QueryRowContext(r.t.Context(), "SELECT count(*) FROM messages").Scan(&n); err != nil {
		r.t.Fatal(err)
	}
	return n
}

// internals is what belongs into neither an answer nor a log line about a
// caller's mistake.
var internals = regexp.MustCompile(`(?i:sql|goroutine|panic)|\.go:\d|runtime\.|/internal/|json: |strconv|unmarshal`)

// leaks reports what of our secrets and internals shows in a text.
func (r *rig) leaks(t *testing.T, where, text string) {
	t.Helper()
	for _, s := range r.secrets {
		if strings.Contains(text, s) || len(s) > 20 && strings.Contains(text, s[4:20]) {
			t.Errorf("%s shows a credential: %s", where, text)
		}
	}
	if found := internals.FindString(text); found != "" || strings.Contains(text, r.data) {
		t.Errorf("%s shows internals (%q): %s", where, found, text)
	}
}

// inspectLog wants no line that leaks, and none that calls a caller's mistake
// our fault.
func (r *rig) inspectLog() {
	r.t.Helper()
	lines := 0
	for line := range strings.Lines(r.log()) {
		lines++
		if strings.HasPrefix(line, "beeos: nobody can sign in yet") {
			continue // it tells the operator where the link to set up lies
		}
		r.leaks(r.t, "the log", line)
		if strings.Contains(line, `"level":"ERROR"`) {
			r.t.Errorf("the log has an error: %s", line)
		}
	}
	if lines < 50 {
		r.t.Errorf("the log has %d lines only: it cannot be that of this test", lines)
	}
}
