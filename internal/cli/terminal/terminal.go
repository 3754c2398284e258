package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"charm.land/lipgloss/v2"
)

// terminal is where a command prints: results to out, notes to err. Colours
// are written always and taken out again by lipgloss where the writer is no
// terminal or NO_COLOR is set.
type terminal struct {
	in     io.Reader
	out    io.Writer
	err    io.Writer
	person bool // somebody watches err
}

var (
	bold   = lipgloss.NewStyle().Bold(true)
	faint  = lipgloss.NewStyle().Faint(true)
	green  = lipgloss.NewStyle().Foreground(lipgloss.Color("2"))
	red    = lipgloss.NewStyle().Foreground(lipgloss.Color("1"))
	yellow = lipgloss.NewStyle().Foreground(lipgloss.Color("3"))
)

func newTerminal(in io.Reader, out, err io.Writer) *terminal {
	return &terminal{in: in, out: out, err: err, person: isTerminal(err)}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// say writes one line to stderr under the program's name.
func (t *terminal) say(format string, args ...any) {
	lipgloss.Fprintln(t.err, "beeos: "+fmt.Sprintf(format, args...)) //nolint:errcheck // there is no other place to say it
}

// note is say for what is no failure.
func (t *terminal) note(format string, args ...any) {
	lipgloss.Fprintln(t.err, faint.Render(fmt.Sprintf(format, args...))) //nolint:errcheck // a note may get lost
}

// json prints v for programs.
func (t *terminal) json(v any) error {
	enc := json.NewEncoder(t.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// table prints rows under a head in columns. Cells may hold what strangers
// wrote, so control characters are taken out.
func (t *terminal) table(head []string, rows [][]string) error {
	w := tabwriter.NewWriter(t.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(head, "\t")) //nolint:errcheck // Flush reports it
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = printable(cell)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t")) //nolint:errcheck // Flush reports it
	}
	return w.Flush()
}

// printable makes one harmless line of a text that somebody else wrote.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r) || !unicode.IsPrint(r) && r != ' ':
			return -1
		}
		return r
	}, s)
}

// shorten cuts s to at most n characters.
func shorten(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}

// ago says how long since, roughly.
func ago(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	d := time.Since(at)
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(d.Hours()/24))
}
