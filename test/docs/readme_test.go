//go:build unix

package docs

import (
	"fmt"
	"net"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos/internal/config"
)

// elsewhere are the commands of README.md that another file of the repository
// runs: to run them here would be to run this test.
var elsewhere = map[string]string{"make test": ".ci/run"}

// TestReadme is somebody who follows README.md from top to bottom. Commands
// run in the repository, with the settings of newShell; the one that reads
// beeos-data runs beside it.
func TestReadme(t *testing.T) {
	readme, s := read(t, "README.md"), newShell(t)
	var dev, echo *running
	steps := []struct {
		command string // how the block begins
		run     func(block string)
	}{
		{"go run ./cmd/beeos dev", func(block string) {
			dev = s.start(repo, block)
			dev.expect("Ctrl-C stops.")
		}},
		{"go run ./cmd/beeos call echo", func(block string) {
			if got := s.run(repo, block); got != "you said: hello\n" {
				t.Errorf("%s printed %q", block, got)
			}
			dev.expect("you said: hello")
			compareScreens(t, readme, dev.printed())
			tryCurl(t, s, dev.printed())
		}},
		{"mcp=$(jq", func(block string) {
			if got := s.run(s.folder, block); !strings.Contains(got, `"result":{"tools":[{"name":"agent_`) {
				t.Errorf("%s printed %q", block, got)
			}
		}},
		{"go run ./examples/echo", func(block string) {
			echo = s.start(repo, block)
			s.until(repo, `go run ./cmd/beeos call parrot "hello"`, "you said: hello")
			echo.interrupt()
		}},
	}
	for _, block := range readme.blocks("sh") {
		if file, ok := elsewhere[strings.TrimSpace(block)]; ok {
			if !strings.Contains(read(t, file).text, "\n"+block) {
				t.Errorf("%s does not run %s", file, block)
			}
			continue
		}
		if len(steps) == 0 || !strings.HasPrefix(block, steps[0].command) {
			t.Fatalf("README.md shows a command that no test runs, or not in this order:\n%s\tAdd a step to TestReadme, or to elsewhere what runs it.", block)
		}
		steps[0].run(block)
		steps = steps[1:]
	}
	if len(steps) > 0 {
		t.Errorf("README.md does not show %s", steps[0].command)
	}
	dev.interrupt()
}

// compareScreens compares the first screen of README.md with the real one, up
// to what differs between two runs.
func compareScreens(t *testing.T, readme page, printed string) {
	t.Helper()
	shown := ""
	for _, block := range readme.blocks("") {
		if strings.Contains(block, "ready in") {
			shown = block
		}
	}
	if diff := cmp.Diff(strings.Split(anyRun(shown), "\n"), strings.Split(anyRun(printed), "\n")); diff != "" {
		t.Errorf("the first screen is not the one that README.md shows (-README +real):\n%s", diff)
	}
	c := config.Default(true)
	for name, s := range map[string]config.Surface{"Web": c.Web, "MCP": c.MCP.Surface, "A2A": c.A2A, "REST": c.REST, "Agents": c.Agents} {
		_, port, err := net.SplitHostPort(s.Addr)
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("  %-8s http://localhost:%s", name, port); !strings.Contains(shown, want) {
			t.Errorf("README.md does not show %q", want)
		}
	}
}

// anyRun takes out of a screen what is another thing in every run.
func anyRun(screen string) string {
	for _, x := range [][2]string{
		{`agent_[a-z0-9]{16}`, "AGENT"},
		{`oag_([0-9a-f]{64}|…)`, "KEY"},
		{`bol_([0-9a-f]{64}|…)`, "LINK"},
		{`localhost:\d+`, "localhost:PORT"},
		{`data in \S+`, "data in FOLDER"},
		{`\d\d:\d\d:\d\d`, "TIME"},
		{`\d+ ms`, "N ms"},
		{` +`, " "},
	} {
		screen = regexp.MustCompile(x[0]).ReplaceAllString(screen, x[1])
	}
	return strings.TrimSpace(screen)
}

var screenCurl = regexp.MustCompile(`(?m)^\s+(curl .*\\\n.*)$`)

// tryCurl does what the screen says to try.
func tryCurl(t *testing.T, s *shell, screen string) {
	t.Helper()
	m := screenCurl.FindStringSubmatch(screen)
	if m == nil {
		t.Fatal("the first screen has no curl to try")
	}
	if got := s.run(s.folder, m[1]); !strings.Contains(got, `"text":"you said: hello"`) {
		t.Errorf("%s\nprinted %s", m[1], got)
	}
}

var lintComment = regexp.MustCompile(`//nolint:\w+ `)

// TestReadmeCode: the agent in README.md is the example that it names.
func TestReadmeCode(t *testing.T) {
	shown := read(t, "README.md").block(t, "go")
	_, example, _ := strings.Cut(read(t, "examples/echo/main.go").text, "\npackage main\n")
	example = lintComment.ReplaceAllString("package main\n"+example, "")
	if diff := cmp.Diff(example, shown); diff != "" {
		t.Errorf("README.md does not show examples/echo/main.go (-example +README):\n%s", diff)
	}
}
