package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	perPrincipal = 100 // GET streams that one credential may hold, see internal/surface/mcp/hub.go
	noteFor      = 10 * time.Second
	warmUp       = 2 * time.Second
)

// streams measures how late events come while many streams are open, and what
// an open stream weighs. Each is measured on a server of its own: a call in a
// session goes on when its client leaves.
func streams(ctx context.Context, s settings) (string, error) {
	if err := enoughFiles(max(s.streams, s.delayed)); err != nil {
		return "", err
	}
	late, err := delay(ctx, s)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	out.WriteString(late + "\n| open streams | of which kind | heap and stacks per stream | resident before | with all open | resident per stream |\n|---:|---|---:|---:|---:|---:|\n")
	for _, kind := range []struct{ name, tool string }{{"GET of a session, idle", ""}, {"`tools/call`, waiting for its agent", "hold"}} {
		row, err := weighStreams(ctx, s, kind.tool)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&out, "| %d | %s | %s |\n", s.streams, kind.name, row)
	}
	return out.String(), nil
}

// delay has an agent say something on every stream once a second.
func delay(ctx context.Context, s settings) (string, error) {
	b, id, stop, err := startServer(ctx, s.server, "fsync", 0)
	if err != nil {
		return "", err
	}
	defer stop()
	r := reading{Addr: b.mcp, Path: "/" + id + "/mcp", Keys: b.keys, Streams: s.delayed, Tool: "tick", For: noteFor}
	lines, leave, err := b.startReaders(ctx, r)
	if err != nil {
		return "", err
	}
	defer leave()
	cpu := b.cpu()
	var group errgroup.Group
	if s.profile != "" {
		group.Go(func() error { return saveProfile(s.profile, b.prof, noteFor) })
	}
	if !lines.Scan() {
		return "", errors.Join(errors.New("the readers ended early"), lines.Err())
	}
	cpu = b.cpu() - cpu
	var seen delays
	if err := errors.Join(json.Unmarshal(lines.Bytes(), &seen), group.Wait()); err != nil {
		return "", err
	}
	return fmt.Sprintf("| open streams | events/s | delay p50 | p99 | longest | a timer's own p99 | server CPU per event |\n|---:|---:|---:|---:|---:|---:|---:|\n| %d | %.0f | %.2f ms | %.2f ms | %.2f ms | %.2f ms | %d µs |\n",
		s.delayed, float64(seen.Events)/noteFor.Seconds(), ms(seen.P50), ms(seen.P99), ms(seen.Max), ms(seen.Timer), (cpu / time.Duration(seen.Events)).Microseconds()), nil
}

// weighStreams opens many streams and lets them be; tool is whose call they
// wait on, or none for a session's own stream.
func weighStreams(ctx context.Context, s settings, tool string) (string, error) {
	b, id, stop, err := startServer(ctx, s.server, "fsync", s.streams/perPrincipal)
	if err != nil {
		return "", err
	}
	defer stop()
	// A server that has seen calls holds the garbage that it may let lie, and
	// all of its program. That must not be taken for the weight of streams.
	if _, err := load(ctx, b.callTarget(id), 64, warmUp, b.process); err != nil {
		return "", err
	}
	before, err := b.memory()
	if err != nil {
		return "", err
	}
	_, leave, err := b.startReaders(ctx, reading{Addr: b.mcp, Path: "/" + id + "/mcp", Keys: b.keys, Streams: s.streams, Tool: tool})
	if err != nil {
		return "", err
	}
	defer leave()
	after, err := b.memory()
	grown := after.minus(before)
	kb := func(n int64) float64 { return float64(n) / float64(s.streams) / 1024 }
	return fmt.Sprintf("%.1f KB | %d MB | %d MB | %.1f KB", kb(grown.live), before.resident>>20, after.resident>>20, kb(grown.resident)), err
}

// startReaders returns once all their streams are open; what they say next can
// be scanned.
func (s *beeosServer) startReaders(ctx context.Context, r reading) (*bufio.Scanner, func(), error) {
	told, err := json.Marshal(r)
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"=readers", "BEEOS_BENCH_READING="+string(told))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	stop := func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "open" {
		stop()
		return nil, nil, fmt.Errorf("the streams were not opened\n%s", s.log.String())
	}
	return lines, stop, nil
}

// share lets everybody who has a key on this server call the agent.
func (s *beeosServer) share(ctx context.Context, agentID string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPatch, "http://"+s.rest+"/api/v1/agents/"+agentID, strings.NewReader(`{"visibility":"unlisted"}`))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+s.key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("share the agent: %s", resp.Status)
	}
	return nil
}

// enoughFiles looks whether so many connections fit; Go has raised the soft
// limit of every process to the hard one already.
func enoughFiles(n int) error {
	const others = 200
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	if limit.Max < uint64(n+others) {
		return fmt.Errorf("%d streams need a limit of %d open files, here it is %d: raise it with ulimit -Hn, or say -streams", n, n+others, limit.Max)
	}
	return nil
}
