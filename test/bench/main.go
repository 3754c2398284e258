// Command bench measures BeeOS against its budget, on loopback and in one run,
// so that the machine's mood cancels out of the ratios:
//
//	calls     a full authenticated, durable tools/call to an agent in another
//	          process, against a bare go-sdk server that answers in process
//	sdks      the same call to an agent written with each SDK, and what the agent takes
//	versions  the same call to two binaries, for the middle of many pairs; only
//	          when it is named
//	sessions  the same call bare, in a session and stateless, and the memory
//	          of sessions that do nothing
//	streams   how late an agent's words come to 1,000 open streams, and the
//	          memory of 5,000
//	a2a       the same call as an A2A SendMessage, against the MCP one
//	tokens    refresh grants, and a call with a token against one with a key
//	idle      the memory of connected agents that do nothing
//	agents    the memory of conversations with a built-in agent, all of them in
//	          the middle of a tool call
//	scale     what 100,000 agents and 1,000,000 messages do to one call
//	rest      an invoke over REST against the same call over MCP
//	tasks     the memory of 10,000 open event streams of tasks
//	lists     a page of 50 among 1,000,000 tasks, on both databases
//	explorer  a page of 50 among 1,000,000 calls, by each filter, on both databases
//	weight    what a call takes on disk, with two binaries; only when it is named
//
// main.go picks; calls.go, sdks.go (with echo.py and echo.mts), versions.go, sessions.go, streams.go, a2a.go, tokens.go, idle.go,
// agents.go, scale.go (with fill.go), rest.go, tasks.go, lists.go, explorer.go and weight.go measure;
// server.go runs the server under test and memory.go weighs it; peers.go and
// readers.go are the processes around it (this program,
// started again); load.go and response.go make the load; report.go writes
// docs/reference/benchmarks.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"slices"
	"time"
)

// settings of one run.
type settings struct {
	out      string
	seconds  float64
	rounds   int
	agents   int
	stored   int
	sessions int
	streams  int
	delayed  int
	watched  int
	weighed  int

	conversations int

	profile string
	server  string
	other   string
}

// benchmark is one of them; its table stands between the marks of its name.
type benchmark struct {
	name    string
	measure func(context.Context, settings) (string, error)
}

var benchmarks = []benchmark{
	{"calls", calls},
	{"sdks", sdks},
	{"versions", versions},
	{"sessions", sessions},
	{"streams", streams},
	{"a2a", peers},
	{"tokens", tokens},
	{"idle", idle},
	{"agents", agents},
	{"scale", scale},
	{"rest", rest},
	{"tasks", tasks},
	{"lists", lists},
	{"explorer", explorer},
	{"weight", callWeight},
	{"traces", traces},
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
	flag.IntVar(&s.stored, "stored", 1_000_000, "scale, lists and explorer: messages, tasks or calls that are there already")
	flag.IntVar(&s.sessions, "sessions", 10_000, "sessions: idle ones")
	flag.IntVar(&s.streams, "streams", 5_000, "streams: how many are open while they are weighed")
	flag.IntVar(&s.delayed, "delayed", 1_000, "streams: how many are open while delays are noted")
	flag.IntVar(&s.conversations, "conversations", 1_000, "agents: how many are open at once")
	flag.IntVar(&s.watched, "watched", 10_000, "tasks: how many streams of events are open")
	flag.IntVar(&s.weighed, "weighed", 20_000, "weight: how many calls are made")
	flag.StringVar(&s.profile, "profile", "", "write a CPU profile of the server here: calls, sessions and rest under load from 64 connections, streams while delays are noted; sdks: profiles of the agents, under this name and theirs")
	flag.StringVar(&s.server, "server", "", "server binary to measure; empty = built from this tree")
	flag.StringVar(&s.other, "other", "", "versions and weight: the server binary to compare it with")
	flag.Parse()
	chosen, err := choose(flag.Args())
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, s, chosen); err != nil {
		log.Fatal(err)
	}
}

// choose returns the benchmarks with these names; without names, all.
func choose(names []string) (chosen []benchmark, err error) {
	for _, name := range names {
		i := slices.IndexFunc(benchmarks, func(b benchmark) bool { return b.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no benchmark %q; choose from calls, sdks, versions, sessions, streams, a2a, tokens, idle, agents, scale, rest, tasks, lists, explorer, weight, traces", name)
		}
		chosen = append(chosen, benchmarks[i])
	}
	if len(names) == 0 {
		chosen = slices.DeleteFunc(slices.Clone(benchmarks), func(b benchmark) bool { return b.name == "versions" || b.name == "weight" })
	}
	return chosen, nil
}

func run(ctx context.Context, s settings, chosen []benchmark) error {
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
	for _, b := range chosen {
		start := time.Now()
		table, err := b.measure(ctx, s)
		if err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		fmt.Printf("%s\n(%s took %s)\n\n", table, b.name, time.Since(start).Round(time.Second))
		if s.out != "" {
			if err := renew(s.out, b.name, table); err != nil {
				return err
			}
		}
	}
	return nil
}
