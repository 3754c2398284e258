package replay

import (
	"errors"
	"fmt"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/cli/terminal"
	"github.com/beeos/beeos/internal/engine/sight/compare"
)

// pair is a call and its replay.
type pair struct {
	Same     bool               `json:"same"`
	Original *client.CallDetail `json:"original"`
	Replay   *client.CallDetail `json:"replay"`
	Diff     string             `json:"diff,omitempty"`
	was, is  string             // the answers, as they are compared
}

func newPair(was, is *client.CallDetail) pair {
	p := pair{Original: was, Replay: is, was: answerOf(was), is: answerOf(is)}
	if p.Same = was.Outcome == is.Outcome && p.was == p.is; !p.Same {
		p.Diff = draw(compare.Texts(p.was, p.is))
	}
	return p
}

func answerOf(c *client.CallDetail) string {
	if c.Reply == nil {
		return ""
	}
	return compare.Read(c.Reply.Text, c.Reply.Parts, c.Reply.Payload).String()
}

// print shows both calls side by side, then where the answers differ.
func (p *pair) print(t *terminal.Terminal) error {
	rows := [][]string{{"", "original", "replay"}, {"id", p.Original.ID, p.Replay.ID}}
	if p.Original.AgentID != p.Replay.AgentID {
		rows = append(rows, []string{"agent", p.Original.AgentID, p.Replay.AgentID})
	}
	rows = append(rows, []string{"outcome", p.Original.Outcome, p.Replay.Outcome}, []string{"took", terminal.Took(p.Original.Took()), terminal.Took(p.Replay.Took())})
	if was, is := tokensOf(p.Original), tokensOf(p.Replay); was+is != "" {
		rows = append(rows, []string{"tokens", was, is})
	}
	for _, row := range rows {
		if err := t.PrintLine(strings.TrimRight(fmt.Sprintf("%-8s  %-36s  %s", row[0], terminal.Printable(row[1]), terminal.Printable(row[2])), " ")); err != nil {
			return err
		}
	}
	if err := t.PrintLine(""); err != nil {
		return err
	}
	if p.Same {
		return t.PrintStyled(terminal.Green.Render("the answers are the same") + "\n" + terminal.Harmless(p.is))
	}
	return t.PrintStyled(paint(compare.Texts(p.was, p.is)))
}

func tokensOf(c *client.CallDetail) string {
	in, out := c.Tokens()
	if in+out == 0 {
		return ""
	}
	return fmt.Sprintf("%d in, %d out", in, out)
}

// paint draws a difference for a terminal: what was in red with a minus before
// it, what is in green with a plus, and the words that differ in bold.
func paint(list []compare.Change) string {
	return drawChanges(list, func(sign string, line []compare.Span) string {
		style := terminal.Green
		if sign == "-" {
			style = terminal.Red
		}
		var b strings.Builder
		b.WriteString(style.Render(sign + " "))
		for _, s := range line {
			if text := terminal.Harmless(s.Text); s.Mark {
				b.WriteString(style.Bold(true).Render(text))
			} else {
				b.WriteString(style.Render(text))
			}
		}
		return b.String()
	})
}

// draw is paint without colours, for files.
func draw(list []compare.Change) string {
	return drawChanges(list, func(sign string, line []compare.Span) string { return sign + " " + joinSpans(line) })
}

// drawChanges writes changes on lines; changed writes one that only one side has.
func drawChanges(list []compare.Change, changed func(sign string, line []compare.Span) string) string {
	var lines, added []string
	flush := func() {
		lines, added = append(lines, added...), nil
	}
	for _, c := range list {
		switch {
		case c.Skipped > 0:
			flush()
			lines = append(lines, fmt.Sprintf("  … %d equal lines", c.Skipped))
		case c.Same:
			flush()
			lines = append(lines, "  "+terminal.Harmless(joinSpans(c.Was)))
		default:
			if c.Was != nil {
				lines = append(lines, changed("-", c.Was))
			}
			if c.Is != nil {
				added = append(added, changed("+", c.Is))
			}
		}
	}
	flush()
	return strings.Join(lines, "\n")
}

func joinSpans(line []compare.Span) string {
	var b strings.Builder
	for _, s := range line {
		b.WriteString(s.Text)
	}
	return b.String()
}

func asError(err error) (*beeos.Error, bool) { return errors.AsType[*beeos.Error](err) }

// isPassing reports whether an error may be gone at the next try.
func isPassing(err error) bool {
	if _, ok := errors.AsType[*client.UnreachableError](err); ok {
		return true
	}
	return beeos.CodeOf(err) == beeos.AgentServiceUnavailable
}
