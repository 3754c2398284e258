package safetext

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// drawn writes a difference on lines: what is marked is in brackets.
func drawn(list []Change) string {
	var b strings.Builder
	side := func(line []Span) string {
		var s strings.Builder
		for _, st := range line {
			text := st.Text
			if st.Invisible {
				text = "!" + text
			}
			if st.Mark {
				text = "[" + text + "]"
			}
			s.WriteString(text)
		}
		return s.String()
	}
	for _, c := range list {
		switch {
		case c.Skipped > 0:
			fmt.Fprintf(&b, "(%d)\n", c.Skipped)
		case c.Same:
			fmt.Fprintf(&b, "%s\n", side(c.Is))
		default:
			fmt.Fprintf(&b, "%s | %s\n", side(c.Was), side(c.Is))
		}
	}
	return b.String()
}

func TestCompare(t *testing.T) {
	for name, c := range map[string]struct{ was, is, want string }{
		"nothing":        {"a\nb", "a\nb", "(2)\n"},
		"a word":         {"save the file", "save a file", "save [the] file | save [a] file\n"},
		"an added line":  {"a\nc", "a\nb\nc", "a\n | [b]\nc\n"},
		"a removed line": {"a\nb\nc", "a\nc", "a\n[b] | \nc\n"},
		"far away":       {"1\n2\n3\n4\n5\n6\nx", "1\n2\n3\n4\n5\n6\ny", "(4)\n5\n6\n[x] | [y]\n"},
		"unseen":         {"a", "a⟨U+202E⟩b", "a | a[!⟨U+202E⟩][b]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, drawn(Compare(c.was, c.is))); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestCompareIsBounded: a huge text is shown whole, only less finely.
func TestCompareIsBounded(t *testing.T) {
	line := func(word string) string { return strings.TrimSuffix(strings.Repeat(word+"\n", 20_000), "\n") }
	list := Compare(line("a"), line("b"))
	if len(list) != 20_000 {
		t.Errorf("%d lines", len(list))
	}
	long := Compare(strings.Repeat("a ", 50_000), strings.Repeat("b ", 50_000))
	if len(long) != 1 || len(long[0].Is) == 0 {
		t.Errorf("%d lines", len(long))
	}
}
