//go:build linux && !race

package agentgateway

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/engine/invoke"
)

// budget is what one idle connected agent may cost this process.
const budget = 40 << 10

// TestMain lets the test binary be the other end of many connections, so that
// their cost there is not counted here.
func TestMain(m *testing.M) {
	if url := os.Getenv("AGENTGW_TEST_IDLE"); url != "" {
		idle(url)
		return
	}
	if url := os.Getenv("AGENTGW_TEST_ECHO"); url != "" {
		echo(url)
		return
	}
	os.Exit(m.Run())
}

// idle opens a connection for every header that it is given on a line, and
// keeps them until it is told no more.
func idle(url string) {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		ws, _, err := websocket.Dial(context.Background(), url, &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {lines.Text()}}})
		if err != nil {
			fmt.Println(err)
			return
		}
		go func() { // ends with the process
			for {
				if _, _, err := ws.Read(context.Background()); err != nil {
					return
				}
			}
		}()
		fmt.Println("ok")
	}
}

// echo is an agent made with the SDK. It ends when its stdin does.
func echo(url string) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { // ends with the process
		io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	err := agent.Run(ctx, agent.Options{
		Name: "echo", Gateway: url, Key: os.Getenv("BEEOS_KEY"), Identity: os.Getenv("AGENTGW_TEST_IDENTITY"),
		Log: slog.New(slog.DiscardHandler), Connected: func(id string) { fmt.Println(id) },
	}, func(_ context.Context, m agent.Message, r *agent.Reply) error { return r.Send(m.Text) })
	if err != nil {
		fmt.Println(err)
	}
}

// BenchmarkCalls is a call and its answer, with an agent in another process.
// cpu-us/op is what all of this process spends on it, the caller's end too;
// agent-us/op is the agent's.
func BenchmarkCalls(b *testing.B) {
	s := newStack(b)
	self, err := os.Executable()
	s.must(err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "AGENTGW_TEST_ECHO="+s.server.URL, "BEEOS_KEY="+s.key, "AGENTGW_TEST_IDENTITY="+b.TempDir()+"/id.json")
	stdin, err := cmd.StdinPipe()
	s.must(err)
	stdout, err := cmd.StdoutPipe()
	s.must(err)
	s.must(cmd.Start())
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), "agent_") {
		b.Fatalf("agent: %s", lines.Text())
	}
	a, err := s.db.Agents.Get(s.ctx, lines.Text())
	s.must(err)
	body := strings.Repeat("All work and no play. ", 20)
	before := cpu()
	b.SetParallelism(32) // 64 callers on two cores
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			m, err := invoke.Last(s.calls.Do(s.ctx, &invoke.Request{
				Caller: beeos.Caller{Kind: beeos.ByUserKey, UserID: s.owner.ID, CredentialID: "key_owner"}, Agent: a, Body: body,
			}))
			if err != nil || m.Body != body {
				b.Errorf("%+v, %v", m, err)
			}
		}
	})
	b.ReportMetric(float64((cpu()-before).Microseconds())/float64(b.N), "cpu-us/op")
	stdin.Close()
	s.must(cmd.Wait())
	b.ReportMetric(float64((cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()).Microseconds())/float64(b.N), "agent-us/op")
}

// cpu is what this process has used so far.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail for oneself
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestIdleAgentsAreCheap: each has an agent of its own, announced on the bus.
func TestIdleAgentsAreCheap(t *testing.T) {
	if testing.Short() {
		t.Skip("opens a thousand connections")
	}
	s := newStack(t)
	const n = 1000
	path := "/api/v1/agents/connect"
	keys := make([]ed25519.PrivateKey, n)
	for i := range n {
		public, private, err := ed25519.GenerateKey(nil)
		s.must(err)
		inst := beeos.Instance{ID: fmt.Sprint("inst_", i), OwnerID: s.owner.ID, Name: "x", PublicKey: public, CreatedAt: time.Now()}
		s.must(s.db.Instances.Create(s.ctx, inst))
		_, err = s.db.Agents.Sync(s.ctx, inst, []beeos.Definition{{Name: fmt.Sprint("agent ", i)}})
		s.must(err)
		keys[i] = private
	}
	self, err := os.Executable()
	s.must(err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "AGENTGW_TEST_IDLE="+s.server.URL+path)
	stdin, err := cmd.StdinPipe()
	s.must(err)
	stdout, err := cmd.StdoutPipe()
	s.must(err)
	s.must(cmd.Start())
	defer cmd.Wait() //nolint:errcheck // it is of no more use
	defer stdin.Close()

	answers := bufio.NewScanner(stdout)
	connect := func(from, to int) {
		for i := from; i < to; i++ {
			fmt.Fprintln(stdin, beeos.Sign(keys[i], fmt.Sprint("inst_", i), "GET", path, nil)) // not before: it ages
			if !answers.Scan() || answers.Text() != "ok" {
				t.Fatalf("connection: %s", answers.Text())
			}
		}
	}
	connect(0, 100) // what is only paid once
	before := resident(t)
	connect(100, n)
	each := (resident(t) - before) / (n - 100)
	t.Logf("%d bytes for each idle agent, %d goroutines", each, runtime.NumGoroutine())
	if each > budget {
		t.Errorf("an idle agent costs %d bytes, the budget is %d", each, budget)
	}
}

// resident is the memory that this process holds, after a clean-up.
func resident(t *testing.T) int {
	t.Helper()
	runtime.GC()
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var kb int
		if _, err := fmt.Sscanf(line, "VmRSS: %d kB", &kb); err == nil {
			return kb << 10
		}
	}
	t.Fatal("no VmRSS in /proc/self/status")
	return 0
}
