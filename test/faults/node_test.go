package faults

import (
	"cmp"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/test/pgtest"
	"github.com/beeos/beeos/test/ports"
)

// node is a server that can be started again and again on the same ports and
// the same data.
type node struct {
	t                 testing.TB
	name              string
	env               []string
	mcp, rest, agents string
	a2a               string
	program           string   // empty = the one under test
	proc              *process // the current or last one
}

// newNode lays out a server; settings are NAME=value.
func newNode(t testing.TB, name string, settings ...string) *node {
	t.Helper()
	n := &node{t: t, name: name, env: []string{
		"BEEOS_DATA=" + filepath.Join(t.TempDir(), "data"),
		"BEEOS_RATE_LIMIT=1000000000",
		"WEB_ADDR=127.0.0.1:0",
	}}
	for setting, url := range map[string]*string{"MCP_ADDR": &n.mcp, "A2A_ADDR": &n.a2a, "OPENAPI_ADDR": &n.rest, "AGENT_GATEWAY_ADDR": &n.agents} {
		addr := ports.Addr(t)
		n.env = append(n.env, setting+"="+addr)
		*url = "http://" + addr
	}
	n.env = append(n.env, settings...)
	return n
}

// start runs the server and returns once it is ready.
func (n *node) start() {
	n.t.Helper()
	n.launch()
	n.ready()
}

// launch runs the server and does not wait.
func (n *node) launch() {
	n.t.Helper()
	if n.proc != nil {
		n.proc.replaced = true
	}
	n.proc = start(n.t, n.name, cmp.Or(n.program, binary(n.t)), n.env, "serve")
}

func (n *node) ready() {
	n.t.Helper()
	n.proc.expect(n.proc.Err, "become ready", func(line string) bool { return strings.Contains(line, `"msg":"ready"`) })
}

// freeze stops the server without its connections being closed, until thaw is called.
func (n *node) freeze() (thaw func()) {
	n.t.Helper()
	pid := n.proc.Pid()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		n.t.Fatal(err)
	}
	thaw = sync.OnceFunc(func() { syscall.Kill(pid, syscall.SIGCONT) }) //nolint:errcheck // it may have ended
	n.t.Cleanup(thaw)
	return thaw
}

// setting returns the value of one of the node's settings.
func (n *node) setting(name string) string {
	value := ""
	for _, s := range n.env {
		if v, ok := strings.CutPrefix(s, name+"="); ok {
			value = v // the last one counts
		}
	}
	return value
}

// dsn is the node's database, as the store names it.
func (n *node) dsn() string {
	if url := n.setting("DATABASE_URL"); url != "" {
		return url
	}
	return "sqlite:" + filepath.Join(n.setting("BEEOS_DATA"), "beeos.db")
}

// open opens the node's database behind its back.
func (n *node) open() *store.Store {
	n.t.Helper()
	db, err := store.Open(n.t.Context(), n.dsn())
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { db.Close() })
	return db
}

// owner makes a user with a key, in the way that a new server's first one is
// made.
func (n *node) owner() (key string) {
	n.t.Helper()
	return n.user("owner@example.com")
}

func (n *node) user(email string) (key string) {
	n.t.Helper()
	cmd := exec.Command(binary(n.t), "keys", "create", "--owner", email)
	cmd.Env = []string{"HOME=" + n.t.TempDir(), "BEEOS_DATA=" + n.setting("BEEOS_DATA"), "DATABASE_URL=" + n.setting("DATABASE_URL")}
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			out = exit.Stderr
		}
		n.t.Fatalf("make the first key: %v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// online waits until the node knows that the agent is connected somewhere, or
// that it is not.
func (n *node) online(key, agentID string, want bool) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), patience)
	defer cancel()
	cl := client.New(n.rest, key)
	for {
		a, err := cl.Agent(ctx, agentID)
		switch {
		case err != nil:
			n.t.Fatalf("%s: read the agent: %v", n.name, err)
		case a.Online == want:
			return
		}
		if !pause(ctx, 10*time.Millisecond) {
			n.t.Fatalf("%s: the agent's presence stays %t", n.name, a.Online)
		}
	}
}

// pause waits a moment; false when there is no more time.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// pair is two nodes on one PostgreSQL.
type pair struct {
	a, b *node
	key  string // of the user who owns everything
}

// newPair starts two nodes whose NATS servers mesh, or that share one.
func newPair(t testing.TB, database string, nats *natsServer, settings ...string) pair {
	t.Helper()
	link := func() string { return "BEEOS_CLUSTER_ADDR=" + ports.Addr(t) }
	if nats != nil {
		nats.start()
		link = func() string { return "NATS_URL=" + nats.url() }
	}
	p := pair{
		a: newNode(t, "node A", append(settings, "DATABASE_URL="+database, link())...),
		b: newNode(t, "node B", append(settings, "DATABASE_URL="+database, link())...),
	}
	p.key = p.a.owner()
	p.a.start()
	p.b.start()
	return p
}

// meshed starts two meshed nodes on a database that need not survive much.
func meshed(t testing.TB) pair {
	t.Helper()
	return newPair(t, pgtest.URL(t), nil)
}
