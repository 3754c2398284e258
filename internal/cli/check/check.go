// Package check is the command that tries whether an agent, in whatever language
// it is written, does what the contract asks of agents. It runs a server of its own
// (server.go) and the program under test (program.go, process.go) with the
// environment that every SDK reads, talks to it as callers do (world.go), and prints
// what came of each scenario (scenarios.go; basics.go, asking.go, input.go, reporting.go
// and faults.go have what they do). proxy.go is a gateway of a later version.
//
// What the program must be able to do, so that it can be asked, is in
// sdk/spec/check.md.
package check

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/beeos/beeos/internal/cli/terminal"
)

// Cmd tries an agent.
type Cmd struct {
	Exec    bool          `help:"The command is a program that reads and writes JSON lines, as beeos connect --exec runs it. What its lines cannot say is not tried."`
	Kills   int           `default:"3" placeholder:"N" help:"How often the server is killed under load."`
	Only    []string      `placeholder:"WORD" help:"Only scenarios whose names contain one of these."`
	Timeout time.Duration `default:"60s" help:"How long a scenario may take."`
	JSON    bool          `help:"Print JSON."`

	Command []string `arg:"" passthrough:"" help:"Program to try, with its arguments. What it must do is in sdk/spec/check.md."`
}

// verdict is what came of a scenario.
type verdict string

const (
	pass         verdict = "pass"
	fail         verdict = "fail"
	notSupported verdict = "not supported"
)

// result is one line of the report.
type result struct {
	Scenario string  `json:"scenario"`
	Result   verdict `json:"result"`
	TookMS   int64   `json:"took_ms"`
	Expected string  `json:"expected"`
	Problem  string  `json:"problem,omitempty"` // or why it was not tried
	Note     string  `json:"note,omitempty"`    // what was seen
}

// Run runs the scenarios and prints what came of them. It fails if one of them did.
func (c *Cmd) Run(ctx context.Context, t *terminal.Terminal) error {
	command := c.Command
	if command[0] == "--" {
		command = command[1:]
	}
	if len(command) == 0 {
		return terminal.Hint("there is no command to try", "name the program that is the agent, such as: beeos agent check ./my-agent")
	}
	picked := slices.DeleteFunc(slices.Clone(scenarios), func(s scenario) bool { return !c.wants(s.name) })
	if len(picked) == 0 {
		return fmt.Errorf("no scenario is called like that: %s", strings.Join(c.Only, ", "))
	}
	dir, err := os.MkdirTemp("", "beeos-check-")
	if err != nil {
		return fmt.Errorf("make a folder for the server: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	w, err := newWorld(ctx, dir, command, c)
	if err != nil {
		return err
	}
	defer w.close()
	if err := w.begin(ctx, c.Timeout); err != nil {
		return err
	}
	return c.report(ctx, t, w, picked)
}

func (c *Cmd) wants(name string) bool {
	return len(c.Only) == 0 || slices.ContainsFunc(c.Only, func(word string) bool { return strings.Contains(name, word) })
}

// report runs the scenarios one after the other, each of them printed when it has
// ended.
func (c *Cmd) report(ctx context.Context, t *terminal.Terminal, w *world, picked []scenario) error {
	var results []result
	count := map[verdict]int{}
	if !c.JSON {
		if err := t.PrintLine(formatRow("SCENARIO", "RESULT", "TIME", "EXPECTED")); err != nil {
			return err
		}
	}
	for i := range picked {
		r := c.try(ctx, w, &picked[i])
		if ctx.Err() != nil {
			return ctx.Err()
		}
		results = append(results, r)
		count[r.Result]++
		if c.JSON {
			continue
		}
		if err := printResult(t, r); err != nil {
			return err
		}
	}
	if c.JSON {
		if err := t.PrintJSON(results); err != nil {
			return err
		}
	} else if err := t.PrintLine(fmt.Sprintf("%d passed, %d failed, %d not supported", count[pass], count[fail], count[notSupported])); err != nil {
		return err
	}
	if count[fail] > 0 {
		t.Note("the program's last words:")
		for line := range strings.SplitSeq(w.program.lastWords(), "\n") {
			t.Note("    %s", line)
		}
		return terminal.ErrFindings
	}
	return nil
}

// try runs one scenario in a world that is whole.
func (c *Cmd) try(ctx context.Context, w *world, s *scenario) (r result) {
	r = result{Scenario: s.name, Result: pass, Expected: s.expected}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	began := time.Now()
	w.note = ""
	err := w.mend(ctx)
	if err == nil {
		err = s.start(ctx, w)
	}
	r.TookMS, r.Note = time.Since(began).Milliseconds(), w.note
	if missing, ok := errors.AsType[*missingError](err); ok {
		r.Result, r.Problem = notSupported, missing.Error()
	} else if err != nil {
		r.Result, r.Problem = fail, err.Error()
		if ctx.Err() != nil {
			r.Problem = fmt.Sprintf("not done after %s: %s", c.Timeout, r.Problem)
		}
	}
	return r
}

func printResult(t *terminal.Terminal, r result) error {
	took := ""
	if r.Result != notSupported {
		took = terminal.Took(time.Duration(r.TookMS) * time.Millisecond)
	}
	lines := formatRow(r.Scenario, string(r.Result), took, r.Expected)
	for _, more := range []string{r.Problem, r.Note} {
		if more != "" {
			lines += "\n    " + terminal.Printable(terminal.Shorten(more, 500))
		}
	}
	return t.PrintLine(lines)
}

func formatRow(scenario, result, took, expected string) string {
	return strings.TrimRight(fmt.Sprintf("%-20s %-14s %-8s %s", scenario, result, took, expected), " ")
}
