// Package terminal is what a command prints to: results to stdout, for people
// or as JSON, and notes to stderr. errors.go turns an error into a sentence
// that names the next step and into one of five exit codes.
package terminal

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"charm.land/lipgloss/v2"

	"github.com/beeos/beeos"
)

// Terminal is where a command reads and prints: results go to Out, notes to
// Err. Colours are written always and taken out again by lipgloss where the
// writer is no terminal or NO_COLOR is set.
type Terminal struct {
	In     io.Reader
	Out    io.Writer
	Err    io.Writer
	Person bool // somebody watches Err
}

// The colours of everything that people see.
var (
	Bold   = lipgloss.NewStyle().Bold(true)
	Faint  = lipgloss.NewStyle().Faint(true)
	Green  = lipgloss.NewStyle().Foreground(lipgloss.Color("2"))
	Red    = lipgloss.NewStyle().Foreground(lipgloss.Color("1"))
	Yellow = lipgloss.NewStyle().Foreground(lipgloss.Color("3"))
)

// New returns a terminal of these three.
func New(in io.Reader, out, err io.Writer) *Terminal {
	return &Terminal{In: in, Out: out, Err: err, Person: isTerminal(err)}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Say writes one line to stderr under the program's name.
func (t *Terminal) Say(format string, args ...any) {
	lipgloss.Fprintln(t.Err, "beeos: "+Harmless(fmt.Sprintf(format, args...))) //nolint:errcheck // there is no other place to say it
}

// Note is Say for what is no failure.
func (t *Terminal) Note(format string, args ...any) {
	lipgloss.Fprintln(t.Err, Faint.Render(Harmless(fmt.Sprintf(format, args...)))) //nolint:errcheck // a note may get lost
}

// PrintJSON prints v for programs.
func (t *Terminal) PrintJSON(v any) error {
	enc := json.NewEncoder(t.Out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// PrintLine prints a result for people, and a line's end.
func (t *Terminal) PrintLine(text string) error {
	_, err := fmt.Fprintln(t.Out, Harmless(text))
	return err
}

// PrintStyled is PrintLine for what has colours; what others wrote of it must be
// Harmless already.
func (t *Terminal) PrintStyled(text string) error {
	_, err := lipgloss.Fprintln(t.Out, text)
	return err
}

// Harmless is a text that somebody else wrote, as it may go to a terminal:
// what would move the cursor, ring or command the terminal is spelled out. Who
// wants the very bytes asks for JSON.
func Harmless(s string) string {
	return beeos.SpellOut(strings.ReplaceAll(s, "\r", ""), func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' })
}

// PrintEither prints v as JSON, or the line that people want of it.
func (t *Terminal) PrintEither(asJSON bool, v any, line string) error {
	if asJSON {
		return t.PrintJSON(v)
	}
	return t.PrintLine(line)
}

// PrintList prints items as JSON, or as a table under a head of one word per
// column.
func PrintList[T any](t *Terminal, asJSON bool, items []T, head string, row func(*T) []string) error {
	if asJSON {
		return t.PrintJSON(append([]T{}, items...)) // nothing is [], not null
	}
	rows := [][]string{strings.Fields(head)}
	for i := range items {
		rows = append(rows, row(&items[i]))
	}
	return t.printRows(rows)
}

// PrintTable prints rows of cells under their heads.
func (t *Terminal) PrintTable(head []string, rows [][]string) error {
	return t.printRows(append([][]string{head}, rows...))
}

// PrintFields prints one thing as lines of a label and a value; those without
// a value are left out.
func (t *Terminal) PrintFields(fields [][]string) error {
	return t.printRows(slices.DeleteFunc(fields, func(field []string) bool { return field[1] == "" }))
}

// printRows prints rows in columns. Cells may hold what strangers wrote, so
// control characters are taken out.
func (t *Terminal) printRows(rows [][]string) error {
	w := tabwriter.NewWriter(t.Out, 0, 8, 2, ' ', 0)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = Printable(cell)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t")) //nolint:errcheck // Flush reports it
	}
	return w.Flush()
}

// Printable makes one harmless line of a text that somebody else wrote.
func Printable(s string) string {
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

// Quote returns a word as a shell takes it, in quotes where it needs them.
func Quote(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@%+,=", r)
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Shorten cuts s to at most n characters.
func Shorten(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}

// Ago says how long since, roughly.
func Ago(at time.Time) string {
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

// Until is the moment at which something expires.
func Until(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return at.Local().Format("2006-01-02 15:04")
}

// Took writes a duration with as many digits as anybody reads.
func Took(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d < 10*time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}

// ProgramName returns how this program was most likely called, for commands
// that a person may copy.
func ProgramName() string {
	if exe, err := os.Executable(); err == nil && strings.Contains(exe, "go-build") {
		return "go run ./cmd/beeos"
	}
	return "beeos"
}
