package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// report is what the suite says, as far as it is shown here.
type report struct {
	PerRequirement map[string]struct {
		Level      string            `json:"level"`
		Status     string            `json:"status"`
		Transports map[string]string `json:"transports"`
		Errors     []string          `json:"errors"`
	} `json:"per_requirement"`
	PerTransport map[string]struct {
		Total   int `json:"total"`
		Passed  int `json:"passed"`
		Failed  int `json:"failed"`
		Skipped int `json:"skipped"`
	} `json:"per_transport"`
}

// tally counts requirements of a level by what became of them.
type tally struct{ passed, failed, skipped, untested int }

func (r *report) tally(level string) (t tally) {
	for _, q := range r.PerRequirement {
		if q.Level != level {
			continue
		}
		switch q.Status {
		case "PASS":
			t.passed++
		case "FAIL":
			t.failed++
		case "SKIPPED":
			t.skipped++
		default:
			t.untested++
		}
	}
	return t
}

// failed counts what must hold and does not.
func (r *report) failed() int { return r.tally("MUST").failed }

// text is the outcome for a terminal.
func (r *report) text() string {
	var b strings.Builder
	for _, level := range []string{"MUST", "SHOULD", "MAY"} {
		t := r.tally(level)
		fmt.Fprintf(&b, "%-6s passed %d, failed %d, not applicable %d, without a test in the suite %d\n", level, t.passed, t.failed, t.skipped, t.untested)
	}
	for _, id := range slices.Sorted(maps.Keys(r.PerRequirement)) {
		if q := r.PerRequirement[id]; q.Status == "FAIL" {
			fmt.Fprintf(&b, "%s %s %v %.300s\n", q.Level, id, q.Transports, strings.Join(q.Errors, "; "))
		}
	}
	return b.String()
}

const section = "## A2A"

// write puts the outcome into a page, in place of what it says about A2A.
func (r *report) write(file string) error {
	page, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, _, _ := strings.Cut(string(page), section)
	return os.WriteFile(file, []byte(strings.TrimRight(before, "\n")+"\n\n"+r.document()), 0o644)
}

func (r *report) document() string {
	var b strings.Builder
	b.WriteString(section + `

The A2A project's own suite, the TCK (branch ` + branch + `), over JSON-RPC and HTTP+JSON, against one BeeOS server with an
ordinary agent that knows the suite's message ids (` + "`test/tck`" + `). A front adds the credential, which the suite does not
have, and an ` + "`Idempotency-Key`" + ` per request: the suite uses one message id for many tasks, where ours are one message each.
It asks for the card of 1.0 alone: the suite says no version, and admits no member beside those of 1.0.
` + "`make conformance`" + ` runs it; ` + "`A2A_TCK_DIR`" + ` names a copy of the suite where it cannot be cloned.

| requirements | passed | failed | not applicable | without a test in the suite |
|---|---:|---:|---:|---:|
`)
	for _, level := range []string{"MUST", "SHOULD", "MAY"} {
		t := r.tally(level)
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d |\n", level, t.passed, t.failed, t.skipped, t.untested)
	}
	b.WriteString("\n| tests over | passed | failed | skipped |\n|---|---:|---:|---:|\n")
	for _, name := range slices.Sorted(maps.Keys(r.PerTransport)) {
		if t := r.PerTransport[name]; name != "grpc" {
			fmt.Fprintf(&b, "| %s | %d | %d | %d |\n", name, t.Passed, t.Failed, t.Skipped)
		}
	}
	b.WriteString("\nNot applicable are requirements on agents that cannot do something that ours can, and those about gRPC. The suite's\nCORE-SEND-003 is named after the refusal of a media type but wants the message taken, so its agent takes all of them; our\nown tests have the refusal.\n")
	return b.String()
}
