package terminal

import (
	"strings"
	"testing"
)

func TestListIsATableOrJSON(t *testing.T) {
	row := func(s *string) []string { return []string{*s, "x"} }
	for _, c := range []struct {
		items  []string
		asJSON bool
		want   string
	}{
		{[]string{"one", "a\x1b[2Jb\nc"}, false, "NAME     WHAT\none      x\na[2Jb c  x\n"},
		{nil, false, "NAME  WHAT\n"},
		{nil, true, "[]\n"},
		{[]string{"<one>"}, true, "[\n  \"<one>\"\n]\n"},
	} {
		var out strings.Builder
		if err := PrintList(New(nil, &out, nil), c.asJSON, c.items, "NAME WHAT", row); err != nil || out.String() != c.want {
			t.Errorf("got %q, %v, want %q", out.String(), err, c.want)
		}
	}
}

func TestWordsAreQuotedForTheShell(t *testing.T) {
	for word, want := range map[string]string{
		"weather": "weather", "./a/b-1.yaml": "./a/b-1.yaml", "my agent": "'my agent'", "it's": `'it'\''s'`, "": "''", "$(x)": "'$(x)'", "größe": "'größe'",
	} {
		if got := Quote(word); got != want {
			t.Errorf("%q becomes %s, want %s", word, got, want)
		}
	}
}
