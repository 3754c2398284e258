//go:build unix

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/beeos/beeos/test/cluster"
	"github.com/beeos/beeos/test/npm"
)

// everything is the server that the authors of go-sdk run the suite against.
const everything = "github.com/modelcontextprotocol/go-sdk/conformance/everything-server"

// compare runs the suite against that server, and against two BeeOS servers
// that have it as an agent: over stdio and over HTTP. It counts the checks that
// pass directly and not through us.
func compare(ctx context.Context, s settings) (worse int, err error) {
	tools, err := npm.Install(ctx)
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "beeos-bridge-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	if s.keep == "" {
		s.keep = dir
	}
	program, err := cluster.BuildOne(ctx, dir, everything)
	if err != nil {
		return 0, err
	}
	if s.cluster.Server == "" {
		if s.cluster.Server, err = cluster.BuildOne(ctx, dir, "github.com/beeos/beeos/cmd/beeos"); err != nil {
			return 0, err
		}
	}
	url, stop, err := serve(ctx, program)
	if err != nil {
		return 0, err
	}
	defer stop()
	direct, err := runAll(ctx, s, &suite{tools: tools, url: url, dir: filepath.Join(s.keep, "direct")})
	if err != nil {
		return 0, err
	}
	for _, way := range []struct{ name, target string }{{"stdio", program}, {"http", url}} {
		through, err := runThrough(ctx, s, tools, way.name, way.target)
		if err != nil {
			return worse, err
		}
		for i := range direct {
			lost := lostChecks(direct[i], through[i])
			worse += len(lost)
			fmt.Printf("%s\n  direct          %s\n  through %-7s %s\n", direct[i].args, direct[i].line(), way.name, through[i].line())
			for _, l := range lost {
				fmt.Println("  LOST", l)
			}
		}
	}
	return worse, nil
}

// serve runs the server on HTTP.
func serve(ctx context.Context, program string) (url string, stop func(), err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	addr := ln.Addr().String()
	ln.Close()
	cmd := exec.CommandContext(ctx, program, "-http", addr, "-stateless=false")
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = cmd.Process.Kill() // it knows no other way
		_ = cmd.Wait()
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			return "http://" + addr, stop, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			stop()
			return "", nil, fmt.Errorf("%s does not listen", program)
		}
	}
}

// runThrough runs the suite against the server as an agent.
func runThrough(ctx context.Context, s settings, tools *npm.Tools, name, target string) ([]selection, error) {
	o := s.cluster
	o.Bridge = []string{"connect", "--name", "everything", "--mcp", target}
	c, err := cluster.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	defer c.Stop()
	dir := filepath.Join(s.keep, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	defer keepLogs(dir, c)
	return runAll(ctx, s, &suite{tools: tools, url: c.URL, dir: dir})
}

func runAll(ctx context.Context, s settings, official *suite) (all []selection, err error) {
	for _, args := range selections {
		if !strings.Contains(args, s.only) {
			continue
		}
		r, err := official.run(ctx, args)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", args, err)
		}
		all = append(all, r)
	}
	return all, nil
}

// lostChecks are those that pass in direct and not in through. A check may be
// made several times in a scenario; each counts.
func lostChecks(direct, through selection) (lost []string) {
	got := map[string][]check{}
	for _, s := range through.scenarios {
		for _, c := range s.checks {
			key := s.name + " / " + c.ID
			got[key] = append(got[key], c)
		}
	}
	for _, s := range direct.scenarios {
		for _, c := range s.checks {
			key := s.name + " / " + c.ID
			same := got[key]
			if len(same) > 0 {
				got[key] = same[1:]
			}
			switch {
			case c.Status != "SUCCESS":
			case len(same) == 0:
				lost = append(lost, key+": it was not made")
			case same[0].Status != "SUCCESS":
				lost = append(lost, fmt.Sprintf("%s: %s: %s", key, same[0].Status, reason(same[0])))
			}
		}
	}
	return lost
}
