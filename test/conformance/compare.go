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
	"github.com/beeos/beeos/test/ports"
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
	stateful, stop, err := serve(ctx, program, "-stateless=false")
	if err != nil {
		return 0, err
	}
	defer stop()
	stateless, stop, err := serve(ctx, program, "-stateless=true")
	if err != nil {
		return 0, err
	}
	defer stop()
	for _, way := range []struct {
		name, target string
		direct       []string // addresses; what passes at any of them has to pass
	}{
		{"stdio", program, []string{stateful, stateless}},
		{"http", stateful, []string{stateful}},
		{"http-stateless", stateless, []string{stateless}},
	} {
		through, err := runThrough(ctx, s, tools, way.name, way.target)
		if err != nil {
			return worse, err
		}
		for i, url := range way.direct {
			direct, err := runAll(ctx, s, &suite{tools: tools, url: url, dir: filepath.Join(s.keep, fmt.Sprint(way.name, "-direct-", i))})
			if err != nil {
				return worse, err
			}
			worse += report(way.name, direct, through)
		}
	}
	return worse, nil
}

// report prints both, and how many checks got lost on the way.
func report(way string, direct, through []selection) (worse int) {
	for i := range direct {
		lost := lostChecks(way, direct[i], through[i])
		worse += len(lost)
		fmt.Printf("%s, %s\n  directly    %s\n  through us  %s\n", way, direct[i].args, direct[i].line(), through[i].line())
		for _, l := range lost {
			fmt.Println("  LOST", l)
		}
	}
	return worse
}

// serve runs the server on HTTP.
func serve(ctx context.Context, program, mode string) (url string, stop func(), err error) {
	addrs, free, err := ports.Addrs(1)
	if err != nil {
		return "", nil, err
	}
	addr := addrs[0]
	cmd := exec.CommandContext(ctx, program, "-http", addr, mode)
	if err := cmd.Start(); err != nil {
		free()
		return "", nil, err
	}
	stop = func() {
		_ = cmd.Process.Kill() // it knows no other way
		_ = cmd.Wait()
		free()
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
		r, err := official.run(ctx, args, "")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", args, err)
		}
		all = append(all, r)
	}
	return all, nil
}

// withoutStreams are checks of the HTTP transport that a server on stdio does
// not have. With it they are made of us, and have to pass.
var withoutStreams = map[string]bool{"server-sse-polling / server-sse-retry-field": true}

// lostChecks are those that pass in direct and not in through. A check may be
// made several times in a scenario; each counts. INFO is the suite's word for
// what a server may do one way or the other.
func lostChecks(way string, direct, through selection) (lost []string) {
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
			case c.Status != "SUCCESS", way == "stdio" && withoutStreams[key]:
			case len(same) == 0:
				lost = append(lost, key+": it was not made")
			case same[0].Status != "SUCCESS" && same[0].Status != "INFO":
				lost = append(lost, fmt.Sprintf("%s: %s: %s", key, same[0].Status, reason(same[0])))
			}
		}
	}
	return lost
}
