// Command bench measures BeeOS against its budget, on loopback and in one run,
// so that the machine's mood cancels out of the ratios:
//
//	calls   a full authenticated, durable tools/call to an agent in another
//	        process, against a bare go-sdk server that answers in process
//	a2a     the same call as an A2A SendMessage, against the MCP one
//	idle    the memory of connected agents that do nothing
//	scale   what 100,000 agents and 1,000,000 messages do to one call
//
// main.go picks, calls.go, a2a.go, idle.go and scale.go measure, server.go runs the
// server under test, peers.go are the processes around it (this program,
// started again), load.go makes the load, report.go writes docs/benchmarks.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"
)

// settings of one run.
type settings struct {
	out     string
	seconds float64
	rounds  int
	agents  int
	stored  int
	profile string
	server  string
}

func main() {
	log.SetFlags(0)
	if role := os.Getenv(roleEnv); role != "" {
		if err := peer(role); err != nil {
			log.Fatal(err)
		}
		return
	}
	var s settings
	flag.StringVar(&s.out, "o", "", "Markdown file whose tables are renewed; empty = print only")
	flag.Float64Var(&s.seconds, "seconds", 3, "length of one sample")
	flag.IntVar(&s.rounds, "rounds", 3, "samples of each kind; the median counts")
	flag.IntVar(&s.agents, "agents", 10_000, "idle: agents that connect")
	flag.IntVar(&s.stored, "stored", 1_000_000, "scale: messages that are there already")
	flag.StringVar(&s.profile, "profile", "", "calls: write a CPU profile of the server at 64 connections here")
	flag.StringVar(&s.server, "server", "", "server binary to measure; empty = built from this tree")
	flag.Parse()
	what := flag.Args()
	if len(what) == 0 {
		what = []string{"calls", "a2a", "idle", "scale"}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, s, what); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, s settings, what []string) error {
	if s.server == "" {
		dir, err := os.MkdirTemp("", "beeos-bench")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if s.server, err = build(ctx, dir); err != nil {
			return err
		}
	}
	for _, w := range what {
		measure, ok := map[string]func(context.Context, settings) (string, error){"calls": calls, "a2a": peers, "idle": idle, "scale": scale}[w]
		if !ok {
			return fmt.Errorf("there is no benchmark %q; choose from calls, a2a, idle, scale", w)
		}
		start := time.Now()
		table, err := measure(ctx, s)
		if err != nil {
			return fmt.Errorf("%s: %w", w, err)
		}
		fmt.Printf("%s\n(%s took %s)\n\n", table, w, time.Since(start).Round(time.Second))
		if s.out != "" {
			if err := renew(s.out, w, table); err != nil {
				return err
			}
		}
	}
	return nil
}
