package talk

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/cli/terminal"
)

// TestAnswersCannotCommandTheTerminal: what an agent says stays text, in every
// way in which it is printed.
func TestAnswersCannotCommandTheTerminal(t *testing.T) {
	const hostile = "a\x1b]0;title\x07b\x1b[2Jc\u009b31md\re\x00f h 👨‍👩‍👧"
	const harmless = "a⟨U+001B⟩]0;title⟨U+0007⟩b⟨U+001B⟩[2Jc⟨U+009B⟩31mde⟨U+0000⟩f h 👨‍👩‍👧"
	for name, print := range map[string]func(p *answerPrinter) error{
		"delta":     func(p *answerPrinter) error { p.printDelta(hostile); return p.finish(hostile, false, nil, nil) },
		"so far":    func(p *answerPrinter) error { p.printSoFar(hostile); return p.finish(hostile, false, nil, nil) },
		"whole":     func(p *answerPrinter) error { return p.finish(hostile, false, nil, nil) },
		"failure":   func(p *answerPrinter) error { p.finish(hostile, true, nil, nil); return nil },
		"reasoning": func(p *answerPrinter) error { p.printReasoning(hostile); return nil },
		"note":      func(p *answerPrinter) error { p.t.Note("%s", hostile); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			var out, notes bytes.Buffer
			if err := print(&answerPrinter{t: terminal.New(nil, &out, &notes)}); err != nil {
				t.Error(err)
			}
			if got := out.String() + notes.String(); !strings.Contains(got, harmless) || strings.ContainsAny(got, "\x1b\x07\r\x00\u009b") {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestOfflineAgentIsNamed(t *testing.T) {
	weather := &client.Agent{Name: "weather", Slug: "weather"}
	got := terminal.Sentence(hintOffline(beeos.Errorf(beeos.AgentServiceUnavailable, "gone"), weather))
	if want := `agent "weather" is offline — start it with: beeos agent run ./weather`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if err := hintOffline(nil, weather); err != nil {
		t.Errorf("hintOffline(nil) = %v", err)
	}
}

func TestAnswerPrinter(t *testing.T) {
	for name, c := range map[string]struct {
		deltas  []string
		final   string
		isError bool
		out     string
		err     string
		failed  bool
	}{
		"streamed":        {[]string{"a", "b"}, "ab", false, "ab\n", "", false},
		"not streamed":    {nil, "ab", false, "ab\n", "", false},
		"tail lost":       {[]string{"a"}, "ab", false, "ab\n", "", false},
		"middle lost":     {[]string{"a", "c"}, "abc", false, "ac\nabc\n", "", false},
		"failed":          {nil, "broken", true, "", "beeos: the agent failed: broken\n", true},
		"failed half-way": {[]string{"a"}, "broken", true, "a\nbroken\n", "", true},
	} {
		var out, errs strings.Builder
		p := &answerPrinter{t: terminal.New(nil, &out, &errs)}
		for _, d := range c.deltas {
			p.printDelta(d)
		}
		err := p.finish(c.final, c.isError, nil, nil)
		if out.String() != c.out || errs.String() != c.err || errors.Is(err, terminal.ErrAgent) != c.failed {
			t.Errorf("%s: out %q, err %q, %v", name, out.String(), errs.String(), err)
		}
	}
}
