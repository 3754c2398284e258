//go:build unix

// Package metrics shows that what operators read is right: the page of metrics of
// real servers after a mixed load, on both databases and over two replicas
// (page_test.go), the table in docs/reference/metrics.md, and the alert rules and the
// dashboard below deploy, in a real Prometheus that scrapes those servers
// (prometheus_test.go). promtool and prometheus are Debian's; scripts/setup.sh
// installs them.
package metrics

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/internal/config"
	"github.com/beeos/beeos/test/cluster"
	"github.com/beeos/beeos/test/program"
)

// patience is how long something may take on a busy machine.
const patience = 2 * time.Minute

var server string // the program, built once

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "beeos-metrics-")
	if err == nil {
		server, err = cluster.BuildOne(context.Background(), dir, "github.com/beeos/beeos/cmd/beeos")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// node is one server, and where its parts are.
type node struct{ MCP, A2A, REST, Agents, Web, Admin string }

// startNode runs a server until the test ends.
func startNode(t *testing.T, env ...string) node {
	t.Helper()
	env = append(env, "LOG_FORMAT=json", "BEEOS_DURABILITY=os", "BEEOS_ALLOW_PRIVATE=true", "BEEOS_ADMIN_ADDR=127.0.0.1:0", "HOME="+t.TempDir())
	for _, part := range []string{"MCP", "A2A", "OPENAPI", "AGENT_GATEWAY", "WEB"} {
		env = append(env, part+"_ADDR=127.0.0.1:0")
	}
	p, err := program.Start("beeos", env, server, "serve")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if code, err := p.Terminate(patience); err != nil || code != 0 {
			t.Errorf("the server ended with %d, %v", code, err)
		}
		if t.Failed() {
			t.Logf("the server said:\n%s", p.Text())
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	line, err := p.Err.Await(ctx, func(line string) bool { return strings.Contains(line, `"msg":"ready"`) })
	if err != nil {
		t.Fatalf("the server does not get ready: %v\n%s", err, p.Text())
	}
	var n node
	if err := json.Unmarshal([]byte(line), &n); err != nil || n.Admin == "" {
		t.Fatalf("%s: %v", line, err)
	}
	return n
}

// issueKey makes a key in the database that the servers share.
func issueKey(t *testing.T, cfg config.Config) string {
	t.Helper()
	cfg.Durability = "os"
	_, key, err := app.IssueKey(t.Context(), cfg, "tests@localhost", beeos.Key{Name: "tests", RatePerMinute: 1_000_000})
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// page is what the server shows its operator.
func (n node) page(t *testing.T) string {
	t.Helper()
	status, body := request(t, http.MethodGet, n.Admin+"/metrics", "", "")
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	return body
}

// request makes one; 0 is no status that any test wants.
func request(t *testing.T, method, url, key, body string) (status int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return resp.StatusCode, string(all)
}

// connect runs an agent until stop, and returns its id.
func connect(t *testing.T, n node, key string, opt agent.Options, handle agent.Handler) (id string, stop func()) {
	t.Helper()
	connected := make(chan string, 16)
	opt.Log, opt.Gateway, opt.Key, opt.Identity = slog.New(slog.DiscardHandler), n.Agents, key, filepath.Join(t.TempDir(), "identity.json")
	opt.Connected = func(id string) {
		select {
		case connected <- id:
		default:
		}
	}
	a, err := agent.New(opt, handle)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }() // awaited by stop
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("%s ended with: %v", opt.Name, err)
		}
	}
	t.Cleanup(stop)
	select {
	case id = <-connected:
	case err := <-ended:
		t.Fatalf("%s did not connect: %v", opt.Name, err)
	}
	return id, stop
}

// runTool runs promtool or prometheus on a file or a page.
func runTool(t *testing.T, stdin, dir, name string, args ...string) (output string, ok bool) {
	t.Helper()
	path := findTool(t, name)
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err == nil
}

func findTool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%v; scripts/setup.sh installs it", err)
	}
	return path
}

// await waits until a look finds nothing to complain about.
func await(t *testing.T, look func() (complaint string)) {
	t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	end := time.After(patience)
	for {
		complaint := look()
		if complaint == "" {
			return
		}
		select {
		case <-tick.C:
		case <-end:
			t.Fatal(complaint)
		}
	}
}
