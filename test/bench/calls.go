package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/test/ports"
)

const (
	toolCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}}`
	toolText = "you said: hello"
)

// rig is one side of the comparison.
type rig struct {
	name   string
	target target
	server *process
}

// calls compares full calls through BeeOS with a bare go-sdk server.
func calls(ctx context.Context, s settings) (string, error) {
	var rigs []rig
	sdk, err := startSDK(ctx)
	if err != nil {
		return "", err
	}
	defer sdk.server.stop()
	rigs = append(rigs, sdk)
	for _, side := range []struct{ name, durability string }{
		{"BeeOS, fsync", "fsync"},
		{"BeeOS, os", "os"},
	} {
		b, id, stop, err := startServer(ctx, s.server, side.durability, 0)
		if err != nil {
			return "", err
		}
		defer stop()
		rigs = append(rigs, rig{side.name, b.callTarget(id), b.process})
	}
	samples, err := interleave(ctx, rigs, []int{1, 64, 512}, s)
	if err == nil && s.profile != "" {
		err = profile(ctx, rigs[1], s)
	}
	if err != nil {
		return "", err
	}
	return callsTable(rigs, samples), nil
}

// key of a cell: which rig, how many connections.
type cell struct {
	rig, conns int
}

// interleave takes samples in turn, so that all sides see the same machine.
func interleave(ctx context.Context, rigs []rig, conns []int, s settings) (map[cell][]sample, error) {
	all := map[cell][]sample{}
	d := time.Duration(s.seconds * float64(time.Second))
	for _, r := range rigs { // warm up
		if _, err := load(ctx, r.target, 16, d/3, r.server); err != nil {
			return nil, fmt.Errorf("%s: %w", r.name, err)
		}
	}
	for range s.rounds {
		for _, n := range conns {
			for i, r := range rigs {
				x, err := load(ctx, r.target, n, d, r.server)
				if err != nil {
					return nil, fmt.Errorf("%s at %d connections: %w\n%s", r.name, n, err, r.server.log.String())
				}
				all[cell{i, n}] = append(all[cell{i, n}], x)
			}
		}
	}
	return all, nil
}

// profile takes a CPU profile of a server while it is under load.
func profile(ctx context.Context, r rig, s settings) error {
	d := time.Duration(s.seconds * float64(time.Second))
	var group errgroup.Group
	group.Go(func() error { return saveProfile(s.profile, r.profAddr(), d) })
	_, err := load(ctx, r.target, 64, d+time.Second, r.server)
	return errors.Join(err, group.Wait())
}

func saveProfile(file, addr string, d time.Duration) error {
	resp, err := http.Get(fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", addr, max(1, int(d.Seconds()))))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, resp.Body)
	return errors.Join(err, f.Close())
}

func (r rig) profAddr() string {
	for _, e := range r.server.cmd.Env {
		if addr, ok := strings.CutPrefix(e, "BEEOS_ADMIN_ADDR="); ok {
			return addr
		}
	}
	return ""
}

func startSDK(ctx context.Context) (rig, error) {
	addrs, free, err := ports.Addrs(1)
	if err != nil {
		return rig{}, err
	}
	p, err := start(ctx, []string{roleEnv + "=gosdk", "BEEOS_BENCH_ADDR=" + addrs[0]}, os.Args[0])
	if err != nil {
		free()
		return rig{}, err
	}
	p.freePorts = free
	return rig{"go-sdk v1.8.0, bare", post(addrs[0], "/", toolCall, toolText), p}, p.awaitReady(ctx, "http://"+addrs[0]+"/")
}

// startServer starts a server with one agent, which so many other users can
// call as well as its owner; without others the owner is the only key.
func startServer(ctx context.Context, binary, durability string, others int, env ...string) (*beeosServer, string, func(), error) {
	var keys []string
	s, err := prepare(ctx, durability, func(ctx context.Context, db *store.Store, _ string) error {
		for i := range others {
			_, key, err := newUser(ctx, db, fmt.Sprint("bench", i))
			if err != nil {
				return err
			}
			keys = append(keys, key)
		}
		return nil
	})
	if err != nil {
		return nil, "", nil, err
	}
	s.env = env
	if err := s.run(ctx, binary, durability); err != nil {
		s.close()
		return nil, "", nil, err
	}
	stop, id, err := s.connectAgent(ctx)
	if err != nil {
		s.close()
		return nil, "", nil, err
	}
	stopAll := func() { stop(); s.close() }
	if s.keys = keys; others == 0 {
		s.keys = []string{s.key}
		return s, id, stopAll, nil
	}
	if err := s.share(ctx, id); err != nil {
		stopAll()
		return nil, "", nil, err
	}
	return s, id, stopAll, nil
}

// callTarget is a tools/call to the agent with the server's user key.
func (s *beeosServer) callTarget(agentID string) target {
	return post(s.mcp, "/"+agentID+"/mcp", toolCall, toolText, "Authorization: Bearer "+s.key)
}

// connectAgent starts an agent process and waits until it is connected.
func (s *beeosServer) connectAgent(ctx context.Context) (stop func(), id string, err error) {
	s.agent, id, err = s.startAgent(ctx, "agent", []string{roleEnv + "=agent", "BEEOS_BENCH_IDENTITY=" + filepath.Join(s.data, "agent.json")}, os.Args[0])
	if err != nil {
		return nil, "", err
	}
	return s.agent.kill, id, nil
}

// startAgent starts an agent with a configuration folder of this name, and waits
// until it has said that it is connected.
func (s *beeosServer) startAgent(ctx context.Context, name string, env []string, command ...string) (p *process, id string, err error) {
	p = &process{cmd: exec.CommandContext(ctx, command[0], command[1:]...), freePorts: func() {}}
	p.cmd.Env = append(append(os.Environ(), "AGENT_GATEWAY_URL=http://"+s.agents, "BEEOS_KEY="+s.key, "XDG_CONFIG_HOME="+filepath.Join(s.data, name)), env...)
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	p.cmd.Stderr = &p.log
	if err := p.cmd.Start(); err != nil {
		return nil, "", err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		p.kill()
		return nil, "", fmt.Errorf("the agent did not connect: %w\n%s", err, p.log.String())
	}
	return p, strings.TrimSpace(strings.TrimPrefix(line, "connected ")), nil
}

func callsTable(rigs []rig, samples map[cell][]sample) string {
	var b strings.Builder
	b.WriteString("| connections | server | calls/s | against go-sdk | p50 | p99 | server CPU per call |\n|---:|---|---:|---:|---:|---:|---:|\n")
	for _, n := range []int{1, 64, 512} {
		base := median(samples[cell{0, n}], sample.perSecond)
		for i, r := range rigs {
			x := samples[cell{i, n}]
			rate := median(x, sample.perSecond)
			fmt.Fprintf(&b, "| %d | %s | %.0f | %.2f | %.2f ms | %.2f ms | %.0f µs |\n", n, r.name, rate, rate/base,
				median(x, func(s sample) float64 { return ms(s.p50) }), median(x, func(s sample) float64 { return ms(s.p99) }),
				median(x, func(s sample) float64 { return float64(s.cpu.Microseconds()) }))
		}
	}
	return b.String()
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func median(xs []sample, of func(sample) float64) float64 {
	var v []float64
	for _, x := range xs {
		v = append(v, of(x))
	}
	slices.Sort(v)
	return v[len(v)/2]
}
