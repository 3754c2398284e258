package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/test/ports"
)

// clockTicks is the unit of /proc's CPU times on every Linux that Go runs on.
const clockTicks = 100

// publicMCP is what every server calls itself in tokens, whatever its port.
const publicMCP = "http://127.0.0.1"

// process is a child that is measured from outside.
type process struct {
	cmd *exec.Cmd
	log bytes.Buffer

	freePorts func()
}

func start(ctx context.Context, env []string, name string, args ...string) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, name, args...)}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.WaitDelay = 15 * time.Second
	return p, p.cmd.Start()
}

func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may be gone already
	_ = p.cmd.Wait()                          // how it ends is not measured
	p.freePorts()
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may be gone already
	_ = p.cmd.Wait()         // how it ends is not measured
	p.freePorts()
}

// cpu is the CPU time that the process has used.
func (p *process) cpu() time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	// The name in parentheses may hold anything; the fields count from its end.
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	user, _ := strconv.ParseInt(f[11], 10, 64)
	system, _ := strconv.ParseInt(f[12], 10, 64)
	return time.Duration(user+system) * time.Second / clockTicks
}

// rss is the memory that the process holds, in bytes.
func (p *process) rss() int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kb << 10
		}
	}
	return 0
}

// beeosServer is a `beeos serve` on SQLite in a folder of its own.
type beeosServer struct {
	*process
	data                         string
	mcp, agents, rest, a2a, prof string // host:port
	key                          string
	keys                         []string // of other users
	user                         string
	agent                        *process
	env                          []string // more settings
}

func build(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, "beeos")
	out, err := exec.CommandContext(ctx, "go", "build", "-o", path, "github.com/beeos/beeos/cmd/beeos").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the server: %w\n%s", err, out)
	}
	return path, nil
}

// prepare makes the database with one user and a key that no quota stops;
// fill may add to it.
func prepare(ctx context.Context, durability string, fill func(context.Context, *store.Store, string) error) (*beeosServer, error) {
	data, err := os.MkdirTemp("", "beeos-bench-data")
	if err != nil {
		return nil, err
	}
	s := &beeosServer{data: data}
	db, err := store.Open(ctx, "sqlite:"+filepath.Join(data, "beeos.db")+"?durability="+durability)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	if s.user, s.key, err = newUser(ctx, db, "bench"); err != nil || fill == nil {
		return s, err
	}
	return s, fill(ctx, db, s.user)
}

// prepareBy has a binary make its database itself, with one user and a key: it may be
// older than this tree. An empty url is SQLite in the folder.
func prepareBy(ctx context.Context, binary, url string) (*beeosServer, error) {
	data, err := os.MkdirTemp("", "beeos-bench-data")
	if err != nil {
		return nil, err
	}
	s := &beeosServer{data: data, env: []string{"DATABASE_URL=" + url}}
	create := exec.CommandContext(ctx, binary, "keys", "create", "--owner", "bench@localhost")
	create.Env = append(os.Environ(), "BEEOS_DATA="+data, "DATABASE_URL="+url)
	create.Stderr = &bytes.Buffer{}
	key, err := create.Output()
	if err != nil {
		os.RemoveAll(data)
		return nil, fmt.Errorf("make a key with %s: %w\n%s", binary, err, create.Stderr)
	}
	s.key = strings.TrimSpace(string(key))
	return s, nil
}

// newUser makes a user and a key that no quota stops.
func newUser(ctx context.Context, db *store.Store, name string) (id, key string, err error) {
	id = beeos.NewID()
	if err := db.People.CreateUser(ctx, beeos.User{ID: id, Email: name + "@localhost", Name: name, CreatedAt: time.Now()}); err != nil {
		return "", "", err
	}
	key, hash, prefix := auth.NewKey(beeos.UserKey)
	return id, key, db.Keys.Create(ctx, beeos.Key{
		ID: beeos.NewID(), Kind: beeos.UserKey, OwnerID: id, Name: name, Prefix: prefix,
		RatePerMinute: 1_000_000_000, CreatedAt: time.Now(),
	}, hash)
}

func (s *beeosServer) run(ctx context.Context, binary, durability string) error {
	addrs, free, err := ports.Addrs(6)
	if err != nil {
		return err
	}
	s.mcp, s.agents, s.rest, s.a2a, s.prof = addrs[0], addrs[1], addrs[2], addrs[3], addrs[5]
	s.process, err = start(ctx, append(s.env,
		"BEEOS_DATA="+s.data, "BEEOS_DURABILITY="+durability, "LOG_LEVEL=warn", "BEEOS_RATE_LIMIT=1000000000", "MCP_PUBLIC_URL="+publicMCP,
		"MCP_ADDR="+addrs[0], "AGENT_GATEWAY_ADDR="+addrs[1], "OPENAPI_ADDR="+addrs[2],
		"A2A_ADDR="+addrs[3], "WEB_ADDR="+addrs[4], "BEEOS_ADMIN_ADDR="+addrs[5],
	), binary, "serve")
	if err != nil {
		free()
		return err
	}
	s.freePorts = free
	return s.awaitReady(ctx, "http://"+s.mcp+"/readyz")
}

// close stops the server and forgets its data.
func (s *beeosServer) close() {
	if s.process != nil {
		s.stop()
	}
	os.RemoveAll(s.data)
}

func (p *process) awaitReady(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		r, err := http.Get(url)
		if err == nil {
			r.Body.Close()
			if r.StatusCode < 500 {
				return nil
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("%s did not answer", url), errors.New(p.log.String()))
		}
	}
}
