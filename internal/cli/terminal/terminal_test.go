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
