package safetext

import (
	"strings"
	"testing"
)

// TestSummaryLeavesTheWords: cards of agents show no marks of Markdown, and
// nothing that was written is lost or comes through as HTML.
func TestSummaryLeavesTheWords(t *testing.T) {
	for markdown, want := range map[string]string{
		"Knows **tomorrow's** weather, _most_ of the time.": "Knows tomorrow's weather, most of the time.",
		"# Clerk\n\nFiles:\n\n- letters\n- `forms`":         "Clerk Files: letters forms",
		"See [the manual](https://x.example) or\nask":       "See the manual or ask",
		"<b>bold</b> & <script>x</script>":                  "<b>bold</b> & <script>x</script>",
		"<div>\nin a block\n</div>":                         "<div> in a block </div>",
		"```\ncode\n```\n\n    more":                        "code more",
		"turn\u202eed https://x.example":                    "turn\ufffded https://x.example",
		"":                                                  "",
		strings.Repeat("> ", 40) + "deep":                   strings.Repeat("> ", 40) + "deep",
	} {
		if got := Summary(markdown, 160); got != want {
			t.Errorf("%q becomes %q, want %q", markdown, got, want)
		}
	}
	if got := Summary(strings.Repeat("word ", 100_000), 20); got != "word word word word …" {
		t.Errorf("a long one becomes %q", got)
	}
}
