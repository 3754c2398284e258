package browser

import (
	"slices"
	"strings"

	"github.com/chromedp/chromedp"
)

// listen keeps what the browser says to the developers of a page until the
// window closes; the channel is closed then.
func (b *Tab) listen() <-chan struct{} {
	heard, messages := make(chan struct{}), chromedp.Console(b.ctx)
	go func() { // ends with the window, and its clean-up waits for that
		defer close(heard)
		for m, err := range messages {
			if err != nil {
				return
			}
			line := string(m.Type) + ": " + m.Text
			if m.Source == "network" { // says that, and not of what
				line += " at " + m.URL
			}
			b.mu.Lock()
			b.said = append(b.said, line)
			b.mu.Unlock()
		}
	}()
	return heard
}

// NoComplaints fails the test for everything that the browser said and a
// healthy page makes it not say, but for lines with a word that was expected.
func (b *Tab) NoComplaints(expected ...string) {
	b.T.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, line := range b.said {
		bad := strings.Contains(line, "Content Security Policy") || strings.HasPrefix(line, "error") || strings.HasPrefix(line, "exception")
		if bad && !slices.ContainsFunc(expected, func(word string) bool { return strings.Contains(line, word) }) {
			b.T.Errorf("the browser complains: %s", line)
		}
	}
}
