package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// idle measures what connected agents cost that do nothing.
func idle(ctx context.Context, s settings) (string, error) {
	b, err := prepare(ctx, "fsync", nil)
	if err != nil {
		return "", err
	}
	defer b.close()
	if err := b.run(ctx, s.server, "fsync"); err != nil {
		return "", err
	}
	before := b.rss()
	start := time.Now()
	stop, err := b.connectMany(ctx, s.agents)
	if err != nil {
		return "", err
	}
	defer stop()
	connected := time.Since(start)
	cpu, from := b.cpu(), time.Now()
	wait := time.NewTimer(20 * time.Second) // two rounds of pings
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	after := b.rss()
	load := float64(b.cpu()-cpu) / float64(time.Since(from))
	return fmt.Sprintf("| agents | connected in | memory before | with all connected | per agent | CPU while idle |\n|---:|---:|---:|---:|---:|---:|\n| %d | %.0f s | %d MB | %d MB | %.1f KB | %.1f %% of a core |\n",
		s.agents, connected.Seconds(), before>>20, after>>20, float64(after-before)/float64(s.agents)/1024, load*100), nil
}

func (s *beeosServer) connectMany(ctx context.Context, n int) (stop func(), err error) {
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"=agents", "AGENT_GATEWAY_URL=http://"+s.agents, "BEEOS_KEY="+s.key, fmt.Sprint("BEEOS_BENCH_AGENTS=", n),
		"BEEOS_BENCH_IDENTITY="+s.data) // which close removes
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop = func() { _ = cmd.Process.Signal(syscall.SIGKILL); _ = cmd.Wait() }
	lines := bufio.NewScanner(out)
	for done := 0; done < n && lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "failed") {
			stop()
			return nil, fmt.Errorf("an agent did not connect: %s", lines.Text())
		}
		done++
	}
	return stop, lines.Err()
}
