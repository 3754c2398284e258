//go:build unix

// Command conformance runs the official MCP conformance suite against two
// BeeOS servers behind a round robin without affinity (test/cluster), with an
// ordinary agent as its fixture (fixture), in every selection that matters. It
// prints what passed and what did not, and fails if anything did.
//
// main.go runs, suite.go is the official program and what it says, report.go
// the tables. authorization.go is the suite's other command, for the
// authorization server; test/person signs in and consents for it. compare.go
// runs the suite against a server of somebody else's, directly and as an agent
// (beeos connect --mcp), and tells them apart. In skillclient.go the suite is the
// server, and ./client what it looks at. fixture.go runs it against the fixture as
// it is written in other languages.
package main

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/beeos/beeos/test/cluster"
	"github.com/beeos/beeos/test/npm"
	"github.com/beeos/beeos/test/person"
)

// selections are the ways to choose scenarios. A requirement set is frozen at
// the release of its revision; a spec version is spoken on the wire.
var selections = []string{
	"--suite all",
	"--requirements 2025-11-25",
	"--requirements 2026-07-28",
	"--spec-version 2025-06-18",
	"--spec-version 2025-03-26",
}

type settings struct {
	out      string
	keep     string
	scenario string
	only     string
	bridge   bool
	fixture  string
	repeat   int
	cluster  cluster.Options
}

func main() {
	log.SetFlags(0)
	var s settings
	flag.StringVar(&s.out, "o", "", "Markdown file to write the results to")
	flag.StringVar(&s.keep, "keep", "", "folder to keep the suite's own results and the servers' logs in")
	flag.StringVar(&s.scenario, "scenario", "", "run one scenario, and show all that the suite says about it")
	flag.StringVar(&s.only, "only", "", "run only the selections that contain this, for example 2026-07-28")
	flag.BoolVar(&s.bridge, "bridge", false, "compare the official Go server with itself behind beeos connect --mcp")
	flag.StringVar(&s.fixture, "fixture", "go", "which fixture is the agent: go, python or typescript; with another one than go, only what agents take part in is run")
	flag.IntVar(&s.repeat, "repeat", 1, "run everything this often, to find what fails now and then")
	flag.StringVar(&s.cluster.Server, "server", "", "beeos binary to test; empty = built from this tree")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	do := run
	if s.bridge {
		do = compare
	}
	failed, err := do(ctx, s)
	if err != nil {
		log.Fatal(err)
	}
	if failed > 0 {
		log.Fatalf("%d checks failed", failed)
	}
}

func run(ctx context.Context, s settings) (failed int, err error) {
	tools, err := npm.Install(ctx)
	if err != nil {
		return 0, err
	}
	if s.cluster.Command, err = fixtureCommand(ctx, tools, s.fixture); err != nil {
		return 0, err
	}
	c, err := cluster.Start(ctx, s.cluster)
	if err != nil {
		return 0, err
	}
	defer c.Stop()
	if s.keep == "" {
		if s.keep, err = os.MkdirTemp("", "beeos-conformance-"); err != nil {
			return 0, err
		}
		defer os.RemoveAll(s.keep)
	}
	defer keepLogs(s.keep, c)
	official := &suite{tools: tools, url: c.URL, dir: s.keep}
	if s.scenario != "" {
		return 0, official.show(ctx, s.scenario)
	}
	var results []selection
	for _, step := range slices.Repeat(steps(official, c), s.repeat) {
		if !strings.Contains(step.name, s.only) || s.fixture != inGo && !slices.Contains(selections, step.name) {
			continue
		}
		r, err := step.run(ctx)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", step.name, err)
		}
		results = append(results, r)
		failed += r.total().failed
		fmt.Println(r.line())
	}
	fmt.Print("\n", complaints(results))
	if s.fixture != inGo {
		text, err := os.ReadFile(page)
		if err != nil {
			return failed, err
		}
		for _, difference := range unlikeGo(string(text), results) {
			fmt.Println(difference)
			failed++
		}
	}
	switch {
	case s.out != "" && s.fixture == inGo:
		return failed, os.WriteFile(s.out, []byte(document(results)), 0o644)
	case s.out != "":
		return failed, addSection(s.out, s.fixture, results)
	}
	return failed, nil
}

// step is one run of the suite.
type step struct {
	name string
	run  func(context.Context) (selection, error)
}

// withToken marks a selection that runs with an access token instead of a key.
const withToken = "(OAuth)"

// steps are all of them: every selection with a key, the authorization server,
// the requirement sets once more with a token of that, and those for clients.
func steps(official *suite, c *cluster.Cluster) (list []step) {
	somebody := &person.Person{Email: cluster.Person, Password: rand.Text(), AgentID: c.AgentID}
	join := sync.OnceValue(func() error {
		link, err := c.ResetLink(context.Background())
		if err != nil {
			return err
		}
		return somebody.Join(context.Background(), link)
	})
	for _, args := range selections {
		list = append(list, step{args, func(ctx context.Context) (selection, error) {
			c.Balancer.Use(c.Key, c.Nodes...)
			return official.run(ctx, args, "")
		}})
	}
	list = append(list, step{"authorization", func(ctx context.Context) (selection, error) {
		if err := join(); err != nil {
			return selection{}, err
		}
		return official.authorization(ctx, c.Balancer.URL, somebody)
	}})
	for _, args := range selections {
		if !strings.HasPrefix(args, "--requirements") {
			continue
		}
		list = append(list, step{args + " " + withToken, func(ctx context.Context) (selection, error) {
			if err := join(); err != nil {
				return selection{}, err
			}
			access, err := token(ctx, c.Balancer.URL, c.URL, somebody)
			if err != nil {
				return selection{}, err
			}
			c.Balancer.Use(access, c.Nodes...)
			return official.run(ctx, args, withToken)
		}}, step{asClient + " " + args, func(ctx context.Context) (selection, error) {
			return official.client(ctx, args)
		}})
	}
	return list
}

func keepLogs(dir string, c *cluster.Cluster) {
	if err := os.WriteFile(dir+"/cluster.log", []byte(c.Logs()), 0o644); err != nil {
		log.Print(err)
	}
}
