package manage

import (
	"errors"
	"fmt"
	"strings"

	"github.com/beeos/beeos/internal/cli/terminal"
)

// answerPrinter prints an answer as it comes: text to stdout, thoughts to
// stderr, and a sign of life to a person until the first of either.
type answerPrinter struct {
	t       *terminal.Terminal
	quiet   bool // only the final JSON is wanted
	shown   strings.Builder
	thought bool
	hint    bool
}

func (p *answerPrinter) waiting(name string) {
	if p.t.Person && !p.quiet {
		p.hint = true
		fmt.Fprintf(p.t.Err, "\x1b[2m%s is thinking …\x1b[0m", terminal.Printable(name)) //nolint:errcheck // only for the looks
	}
}

// clear takes the sign of life away.
func (p *answerPrinter) clear() {
	if p.hint {
		p.hint = false
		fmt.Fprint(p.t.Err, "\r\x1b[K") //nolint:errcheck // only for the looks
	}
}

func (p *answerPrinter) reasoning(text string) {
	if text == "" || p.quiet {
		return
	}
	p.clear()
	p.thought = true
	fmt.Fprint(p.t.Err, text) //nolint:errcheck // the answer is what counts
}

func (p *answerPrinter) delta(text string) {
	if text == "" || p.quiet {
		return
	}
	p.clear()
	if p.thought {
		p.thought = false
		fmt.Fprintln(p.t.Err) //nolint:errcheck // the answer is what counts
	}
	p.shown.WriteString(text)
	fmt.Fprint(p.t.Out, text) //nolint:errcheck // done reports it
}

// again takes the whole text so far, of which some may have been shown.
func (p *answerPrinter) again(text string) {
	if rest, ok := strings.CutPrefix(text, p.shown.String()); ok {
		p.delta(rest)
	}
}

// done prints what the deltas have not shown yet. The whole text is the
// truth; deltas may have got lost on the way.
func (p *answerPrinter) done(text string, isError bool, whole any) error {
	p.clear()
	var failed error
	if isError {
		failed = terminal.ErrAgent
	}
	if p.quiet {
		return errors.Join(p.t.PrintJSON(whole), failed)
	}
	rest, ok := strings.CutPrefix(text, p.shown.String())
	switch {
	case isError && p.shown.Len() == 0:
		p.t.Say("the agent failed: %s", text)
		return failed
	case !ok:
		rest = "\n" + text
	}
	return errors.Join(p.t.PrintLine(rest), failed)
}
