package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/internal/cli/terminal"
)

// screen is what `beeos dev` shows: where everything is, one line to try, and
// from then on a line per call.
type screen struct {
	out io.Writer
	me  string // how to call this program

	mu sync.Mutex // calls finish side by side
}

// ready shows the start screen. The keys on it are shown on purpose: they
// open a server that listens on this machine alone.
func (s *screen) ready(i app.Info) {
	var b strings.Builder
	took := fmt.Sprintf("ready in %d ms", i.Took.Milliseconds())
	title := "beeos " + beeos.Version
	fmt.Fprintf(&b, "\n  %s%s%s\n", terminal.Bold.Render(title), strings.Repeat(" ", max(2, 70-len(title)-len(took))), terminal.Green.Render(took))
	fmt.Fprintf(&b, "  %s\n\n", terminal.Faint.Render("everything on this machine · data in "+i.Data))

	line := func(label, value string) {
		fmt.Fprintf(&b, "  %s %s\n", terminal.Bold.Render(fmt.Sprintf("%-8s", label)), value)
	}
	mcp := i.MCP + "/" + i.AgentID + "/mcp"
	line("Web", i.Web)
	if i.Setup != "" {
		line("", i.Setup)
		line("", terminal.Faint.Render("open this once, within 30 minutes, to make your account"))
	}
	line("MCP", mcp)
	line("A2A", i.A2A+"/"+i.AgentID)
	line("REST", i.REST+"/api/v1")
	line("Agents", i.Agents+terminal.Faint.Render("   your agents connect here"))
	b.WriteString("\n")
	line("Try", s.me+` call echo "hello"`+elsewhere(i.Data))
	line("", "curl "+i.REST+"/api/v1/agents/"+i.AgentID+"/invoke \\")
	line("", "  -H 'Authorization: Bearer "+i.UserKey+"' --json '{\"message\":\"hello\"}'")
	line("Claude", "claude mcp add --transport http echo "+mcp+" \\")
	line("", `  --header "Authorization: Bearer `+i.UserKey+`"`)
	line("Build", s.me+" agent new weather && "+s.me+" agent run"+elsewhere(i.Data)+" ./weather")
	fmt.Fprintf(&b, "\n  %s\n\n", terminal.Faint.Render("Ctrl-C stops."))
	s.print(b.String())
}

// elsewhere is what a command needs to find a server whose data folder is not
// where it would look.
func elsewhere(data string) string {
	if filepath.Clean(data) == filepath.Clean(cmp.Or(os.Getenv("BEEOS_DATA"), "beeos-data")) {
		return ""
	}
	return " --data '" + strings.ReplaceAll(data, "'", `'\''`) + "'"
}

// call shows one finished call.
func (s *screen) call(r app.CallRecord) {
	outcome := fmt.Sprintf("%-8s", r.Outcome)
	if r.Outcome == "ok" {
		outcome = terminal.Green.Render(outcome)
	} else {
		outcome = terminal.Red.Render(outcome)
	}
	s.print(fmt.Sprintf("  %s  %-4s  %-12s  %-14s  %-14s  %s %7s   %s\n",
		terminal.Faint.Render(r.At.Local().Format(time.TimeOnly)), cell(r.Surface, 4), cell(r.Caller, 12), cell(r.AgentName, 14),
		cell(r.What, 14), outcome, duration(r.Took), terminal.Faint.Render(cell(r.Preview, 60))))
}

// cell fits a text that somebody else wrote into its column.
func cell(s string, width int) string { return terminal.Shorten(terminal.Printable(s), width) }

func duration(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

func (s *screen) print(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lipgloss.Fprint(s.out, text) //nolint:errcheck // a screen that is gone stops nothing
}

// program is how this program was most likely called, for commands that a
// person may copy.
func program() string {
	if exe, err := os.Executable(); err == nil && strings.Contains(exe, "go-build") {
		return "go run ./cmd/beeos"
	}
	return "beeos"
}
