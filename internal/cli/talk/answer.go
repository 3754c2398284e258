package talk

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/cli/terminal"
)

// answerPrinter prints an answer as it comes: text to stdout, thoughts to
// stderr, and a sign of life to a person until the first of either.
type answerPrinter struct {
	mu      sync.Mutex // notes about approvals come from aside
	t       *terminal.Terminal
	quiet   bool // only the final JSON is wanted
	shown   strings.Builder
	thought bool
	hint    bool
}

func (p *answerPrinter) showWaiting(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.t.Person && !p.quiet {
		p.hint = true
		fmt.Fprintf(p.t.Err, "\x1b[2m%s is thinking …\x1b[0m", terminal.Printable(name)) //nolint:errcheck // only for the looks
	}
}

// note tells the person something while the answer is awaited.
func (p *answerPrinter) note(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clearHint()
	p.t.Note(format, args...)
}

// clearWaiting takes the sign of life away.
func (p *answerPrinter) clearWaiting() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clearHint()
}

func (p *answerPrinter) clearHint() {
	if p.hint {
		p.hint = false
		fmt.Fprint(p.t.Err, "\r\x1b[K") //nolint:errcheck // only for the looks
	}
}

func (p *answerPrinter) printReasoning(text string) {
	if text == "" || p.quiet {
		return
	}
	p.clearWaiting()
	p.thought = true
	fmt.Fprint(p.t.Err, terminal.Harmless(text)) //nolint:errcheck // the answer is what counts
}

func (p *answerPrinter) printDelta(text string) {
	if text == "" || p.quiet {
		return
	}
	p.clearWaiting()
	if p.thought {
		p.thought = false
		fmt.Fprintln(p.t.Err) //nolint:errcheck // the answer is what counts
	}
	p.shown.WriteString(text)
	fmt.Fprint(p.t.Out, terminal.Harmless(text)) //nolint:errcheck // done reports it
}

// printSoFar takes the whole text so far, of which some may have been shown.
func (p *answerPrinter) printSoFar(text string) {
	if rest, ok := strings.CutPrefix(text, p.shown.String()); ok {
		p.printDelta(rest)
	}
}

// nameFiles says where the files of an answer are.
func (p *answerPrinter) nameFiles(files []beeos.FilePart) {
	for _, f := range files {
		p.t.Note("file %s: %s", terminal.Printable(cmp.Or(f.Name, "without a name")), terminal.Printable(f.URL))
	}
}

// finish prints what the deltas have not shown yet. The whole text is the
// truth; deltas may have got lost on the way.
func (p *answerPrinter) finish(text string, isError bool, files []beeos.FilePart, whole any) error {
	p.clearWaiting()
	if !p.quiet {
		defer p.nameFiles(files)
	}
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
