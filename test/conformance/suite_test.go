//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestResults: what counts, and that a scenario which broke counts as well.
func TestResults(t *testing.T) {
	dir := t.TempDir()
	checks := `[{"id":"a","status":"SUCCESS"},{"id":"b","status":"INFO"},{"id":"c","status":"SKIPPED"},
		{"id":"d","status":"WARNING","errorMessage":"should\n have"},{"id":"e","status":"FAILURE","description":"must have"}]`
	folder := filepath.Join(dir, "server-ping-2026-11-15T05-00-00-000Z")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "checks.json"), []byte(checks), 0o644); err != nil {
		t.Fatal(err)
	}
	folder = filepath.Join(dir, "authorization-server-code-2026-11-15T05-00-00-000Z")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "checks.json"), []byte(`[{"id":"f","status":"SUCCESS"}]`), 0o644); err != nil {
		t.Fatal(err)
	}
	output := "Running\n\n=== Running scenario: ping ===\nfine\n\n=== Running scenario: ping-pong ===\nFailed to run scenario ping-pong: Error\n" +
		"\n=== Running scenario: code ===\nfine\n" +
		"\n=== Running scenario: old ===\nSKIPPED: scenario 'old' is not applicable\n\n=== SUMMARY ===\n"
	all, err := results(dir, output)
	if err != nil || len(all) != 4 {
		t.Fatalf("%+v, %v", all, err)
	}
	r := selection{args: "--suite all", scenarios: all}
	if got, want := r.total(), (tally{passed: 2, failed: 2, warnings: 1, skipped: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	text := complaints([]selection{r})
	for _, want := range []string{"WARNING  --suite all  ping / d\n    should have\n", "ping / e\n    must have\n", "ping-pong / ping-pong\n    the scenario broke: Failed to run"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if page := document([]selection{r}); !strings.Contains(page, "| `--suite all` | 4 | 2 | 2 | 1 | 1 |") {
		t.Errorf("the page:\n%s", page)
	}
}

// TestLostChecks: what passed directly has to pass, or be left open by the
// suite itself.
func TestLostChecks(t *testing.T) {
	of := func(checks ...check) selection { return selection{scenarios: []scenario{{"s", checks}}} }
	direct := of(check{ID: "a", Status: "SUCCESS"}, check{ID: "a", Status: "SUCCESS"}, check{ID: "b", Status: "FAILURE"}, check{ID: "c", Status: "SUCCESS"}, check{ID: "d", Status: "SUCCESS"}, check{ID: "e", Status: "SUCCESS"})
	through := of(check{ID: "a", Status: "SUCCESS"}, check{ID: "a", Status: "FAILURE", ErrorMessage: "no"}, check{ID: "c", Status: "INFO"}, check{ID: "e", Status: "WARNING"})
	got := strings.Join(lostChecks("http", direct, through), "\n")
	if want := "s / a: FAILURE: no\ns / d: it was not made\ns / e: WARNING: "; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestUnlikeGo: another fixture has Go's results, or the run fails, also when
// nothing did.
func TestUnlikeGo(t *testing.T) {
	of := func(args string, statuses ...string) selection {
		s := scenario{name: "s"}
		for _, status := range statuses {
			s.checks = append(s.checks, check{Status: status})
		}
		return selection{args: args, scenarios: []scenario{s}}
	}
	text := "intro\n\n" + table([]selection{of("--a", "SUCCESS", "SUCCESS"), of("--b", "SUCCESS", "SKIPPED")}) +
		"\n## The fixture in python\n\n" + table([]selection{of("--a", "SUCCESS"), of("--c", "SUCCESS")})
	for _, tt := range []struct {
		result selection
		want   string
	}{
		{of("--a", "SUCCESS", "SUCCESS", "INFO"), ""},
		{of("--a", "SUCCESS"), "--a: | `--a` | 1 | 1 | 0 | 0 | 0 |, and the fixture in Go has | `--a` | 1 | 2 | 0 | 0 | 0 |"},
		{of("--b", "SUCCESS", "WARNING"), "--b: | `--b` | 1 | 1 | 0 | 1 | 0 |, and the fixture in Go has | `--b` | 1 | 1 | 0 | 0 | 1 |"},
		{of("--c", "SUCCESS"), "--c: docs/reference/conformance.md has no row of the fixture in Go; run make conformance"},
	} {
		if got := strings.Join(unlikeGo(text, []selection{tt.result}), "\n"); got != tt.want {
			t.Errorf("%s\nwant\n%s", got, tt.want)
		}
	}
}

// TestSections: another fixture's results have a place of their own, and take it
// again.
func TestSections(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(path, []byte("intro\n\n## A2A\nits own\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, add := range []struct{ language, args string }{{"python", "--old"}, {"typescript", "--other"}, {"python", "--new"}} {
		if err := addSection(path, add.language, []selection{{args: add.args}}); err != nil {
			t.Fatal(err)
		}
	}
	const head = "\n| selection | scenarios | passed | failed | warnings | skipped |\n|---|---:|---:|---:|---:|---:|\n"
	want := "intro\n\n## The fixture in python\n" + head + "| `--new` | 0 | 0 | 0 | 0 | 0 |\n" +
		"\n## The fixture in typescript\n" + head + "| `--other` | 0 | 0 | 0 | 0 | 0 |\n\n## A2A\nits own\n"
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s, %v\nwant\n%s", got, err, want)
	}
}
