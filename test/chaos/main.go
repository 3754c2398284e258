//go:build unix

// Command chaos runs BeeOS as it is run for real, lets callers of every kind
// loose on it, breaks one thing after the other at random moments, and then
// asks whether anything that was promised was lost, done twice, or late.
//
//	go run ./test/chaos [-seed N] [-minutes M] [campaign ...]
//
// A seed breaks the same things at the same moments again. What happened is in
// the folder that it names: history.jsonl has every operation and fault.
// campaign.go lists the campaigns, fault.go what can be broken, report.go writes
// docs/explanation/reliability.md. Below: world has the processes, load the callers, history
// what they saw and what must hold.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/beeos/beeos/test/chaos/world"
	"github.com/beeos/beeos/test/clock"
)

func main() {
	ran, err := world.Run()
	if !ran {
		err = runCampaigns()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

func runCampaigns() error {
	seed := flag.Uint64("seed", rand.Uint64N(1_000_000), "what is broken when")
	minutes := flag.Float64("minutes", 2, "how long each campaign breaks things")
	callers := flag.Int("callers", 3, "callers of each kind")
	out := flag.String("o", "", "document to write the figures into")
	binary := flag.String("server", "", "program to test instead of one built from this tree")
	flag.Parse()
	chosen, err := choose(flag.Args())
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := os.MkdirTemp("", "beeos-chaos-")
	if err != nil {
		return err
	}
	if *binary == "" {
		if *binary, err = build(ctx, dir); err != nil {
			return err
		}
	}
	var all []*result
	var left []string
	broken := false
	for _, c := range chosen {
		if err := c.leftOut(); err != nil {
			left = append(left, fmt.Sprintf("%s (%s)", c.about, err))
			fmt.Printf("%s is left out: %s\n", c.name, err)
			continue
		}
		program := *binary
		if c.layout.Clocks {
			if program, err = clock.Build(ctx, dir); err != nil {
				return err
			}
		}
		fmt.Printf("%s: %s, seed %d, in %s\n", c.name, c.about, *seed, filepath.Join(dir, c.name))
		r, err := c.run(ctx, filepath.Join(dir, c.name), program, *seed, time.Duration(*minutes*float64(time.Minute)), *callers)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		fmt.Println(r.line())
		fmt.Print(r.Problems(20))
		all, broken = append(all, r), broken || !r.Clean()
	}
	if *out != "" {
		if err := writeReport(*out, all, left); err != nil {
			return err
		}
	}
	if broken {
		return fmt.Errorf("something did not hold; %s has the histories, and -seed %d breaks the same things again", dir, *seed)
	}
	return os.RemoveAll(dir)
}

// choose returns the campaigns of these names, or all of them.
func choose(names []string) ([]campaign, error) {
	if len(names) == 0 {
		return campaigns, nil
	}
	var chosen []campaign
	var known []string
	for _, c := range campaigns {
		known = append(known, c.name)
	}
	for _, name := range names {
		i := slices.IndexFunc(campaigns, func(c campaign) bool { return c.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no campaign %q; there are %s", name, strings.Join(known, ", "))
		}
		chosen = append(chosen, campaigns[i])
	}
	return chosen, nil
}

func build(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, "beeos")
	out, err := exec.CommandContext(ctx, "go", "build", "-o", path, "github.com/beeos/beeos/cmd/beeos").CombinedOutput()
	if err != nil {
		return "", errors.Join(fmt.Errorf("build the server: %w", err), errors.New(string(out)))
	}
	return path, nil
}
