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

// showStart shows the start screen. The keys on it are shown on purpose: they
// open a server that listens on this machine alone.
func (s *screen) showStart(i app.Info) {
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
	line("A2A", i.A2A+"/"+i.AgentID+"/") // with the slash that clients resolve the card's address against
	line("REST", i.REST+"/api/v1")
	line("Agents", i.Agents+terminal.Faint.Render("   your agents connect here"))
	if i.Public != "" {
		line("Tunnel", i.Public+terminal.Faint.Render("   all of it, from elsewhere"))
	}
	b.WriteString("\n")
	line("Try", s.me+` call echo "hello"`+dataFlag(i.Data))
	line("", "curl "+i.REST+"/api/v1/agents/"+i.AgentID+"/invoke \\")
	line("", "  -H 'Authorization: Bearer "+i.UserKey+"' --json '{\"message\":\"hello\"}'")
	line("Claude", "claude mcp add --transport http echo "+mcp+" \\")
	line("", `  --header "Authorization: Bearer `+i.UserKey+`"`)
	line("Build", s.me+" agent new weather && "+s.me+" agent run"+dataFlag(i.Data)+" ./weather")
	fmt.Fprintf(&b, "\n  %s\n\n", terminal.Faint.Render("Ctrl-C stops."))
	s.print(b.String())
}

// dataFlag returns what a command needs to find a server whose data folder is
// not where it would look.
func dataFlag(data string) string {
	if filepath.Clean(data) == filepath.Clean(cmp.Or(os.Getenv("BEEOS_DATA"), "beeos-data")) {
		return ""
	}
	return " --data " + terminal.Quote(data)
}

// showCall shows one finished call.
func (s *screen) showCall(r app.CallRecord) {
	outcome := fmt.Sprintf("%-8s", r.Outcome)
	if r.Outcome == "ok" {
		outcome = terminal.Green.Render(outcome)
	} else {
		outcome = terminal.Red.Render(outcome)
	}
	s.print(fmt.Sprintf("  %s  %-4s  %-12s  %-14s  %-14s  %s %7s   %s\n",
		terminal.Faint.Render(r.At.Local().Format(time.TimeOnly)), fitCell(r.Surface, 4), fitCell(r.Caller, 12), fitCell(r.AgentName, 14),
		fitCell(r.What, 14), outcome, formatDuration(r.Took), terminal.Faint.Render(fitCell(r.Preview, 60))))
}

// fitCell fits a text that somebody else wrote into its column.
func fitCell(s string, width int) string { return terminal.Shorten(terminal.Printable(s), width) }

func formatDuration(d time.Duration) string {
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
