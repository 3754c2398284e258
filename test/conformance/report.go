//go:build unix

package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// tally counts checks by what became of them. The suite's notes (INFO) are
// none.
type tally struct{ passed, failed, warnings, skipped int }

func (s scenario) tally() (t tally) {
	for _, c := range s.checks {
		switch c.Status {
		case "SUCCESS":
			t.passed++
		case "FAILURE":
			t.failed++
		case "WARNING":
			t.warnings++
		case "SKIPPED":
			t.skipped++
		}
	}
	return t
}

func (r selection) total() (t tally) {
	for _, s := range r.scenarios {
		one := s.tally()
		t.passed += one.passed
		t.failed += one.failed
		t.warnings += one.warnings
		t.skipped += one.skipped
	}
	return t
}

func (r selection) line() string {
	t := r.total()
	return fmt.Sprintf("%-28s %3d scenarios  %3d passed  %3d failed  %2d warnings  %2d skipped  %s",
		r.args, len(r.scenarios), t.passed, t.failed, t.warnings, t.skipped, r.took.Round(time.Second))
}

// complaints lists what did not pass, with the suite's reasons.
func complaints(results []selection) string { return list(results, "FAILURE", "WARNING") }

// list has the checks that ended in one of the ways.
func list(results []selection, ways ...string) string {
	var b strings.Builder
	for _, r := range results {
		for _, s := range r.scenarios {
			for _, c := range s.checks {
				if slices.Contains(ways, c.Status) {
					fmt.Fprintf(&b, "%s  %s  %s / %s\n    %s\n", c.Status, r.args, s.name, c.ID, reason(c))
				}
			}
		}
	}
	return b.String()
}

func reason(c check) string {
	text := c.ErrorMessage
	if text == "" {
		text = c.Description
	}
	return strings.Join(strings.Fields(text), " ")
}

const intro = `# Conformance

The official suite, ` + "`@modelcontextprotocol/conformance`" + `, against two BeeOS servers on one PostgreSQL, behind a plain
round robin without affinity: each request of a client, also within a session, goes to the other server than the one
before. The fixture (` + "`test/conformance/fixture`" + `) is an ordinary agent, connected to one of them. There is no list of
expected failures. ` + "`make conformance`" + ` writes this page and fails if a check does.

` + "`authorization`" + ` is the suite's command for authorization servers; a person signs in at the console and consents, over
HTTP and unattended. ` + "`(OAuth)`" + ` marks what runs with an access token got that way, everything else runs with a key.

` + "`client`" + ` marks what runs the other way round: the suite is the server, and a small program made of the skill client of
built-in agents (` + "`test/conformance/client`" + `) is under test. Its extension scenarios are not part of a requirement set; they
run and count here all the same.

Warnings are recommendations that the suite looks at; skipped checks are those that it leaves out by itself.

Clients that others wrote hold a conversation each in ` + "`go test ./test/clients`" + `, while the server that opened their
session is killed: the TypeScript libraries 1.32 and 2.4 (legacy and auto), go-sdk in five revisions, mcp-remote; and
the Inspector's command line.

The same fixture, written with the SDKs for Python and TypeScript, has sections of its own below, for what an agent takes
part in (` + "`go run ./test/conformance -fixture python`" + `), which fails when a row is not the one above.

` + "`go run ./test/conformance -bridge`" + ` runs the suite against the official Go server, directly and as an agent
(` + "`beeos connect --mcp`" + `, over stdio and HTTP), and fails on a check that passes directly and not through us.

`

// table has a row per selection.
func table(results []selection) string {
	var b strings.Builder
	b.WriteString("| selection | scenarios | passed | failed | warnings | skipped |\n|---|---:|---:|---:|---:|---:|\n")
	for _, r := range results {
		b.WriteString(r.row() + "\n")
	}
	return b.String()
}

func (r selection) row() string {
	t := r.total()
	return fmt.Sprintf("%s %d | %d | %d | %d | %d |", r.rowBegin(), len(r.scenarios), t.passed, t.failed, t.warnings, t.skipped)
}

func (r selection) rowBegin() string { return "| `" + r.args + "` |" }

// document is the page with the results.
func document(results []selection) string {
	var b strings.Builder
	b.WriteString(intro)
	b.WriteString(table(results))
	for _, r := range results[:min(1, len(results))] {
		fmt.Fprintf(&b, "\n## `%s`, scenario by scenario\n\n| scenario | passed | failed | warnings | skipped |\n|---|---:|---:|---:|---:|\n", r.args)
		for _, s := range r.scenarios {
			t := s.tally()
			fmt.Fprintf(&b, "| %s | %d | %d | %d | %d |\n", s.name, t.passed, t.failed, t.warnings, t.skipped)
		}
	}
	for _, part := range []struct{ title, text string }{
		{"What did not pass", complaints(results)},
		{"What the suite leaves out", list(results, "SKIPPED")},
	} {
		if part.text != "" {
			fmt.Fprintf(&b, "\n## %s\n\n```\n%s```\n", part.title, part.text)
		}
	}
	return b.String()
}
