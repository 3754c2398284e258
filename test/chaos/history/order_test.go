package history

import (
	"strings"
	"testing"
	"time"
)

// TestMisplaced: what overlaps may stand either way, and what does not may not.
func TestMisplaced(t *testing.T) {
	said := func(text string, sent, ended int) *Op {
		return &Op{Text: text, Sent: time.Duration(sent) * time.Second, Ended: time.Duration(ended) * time.Second}
	}
	for _, c := range []struct {
		name  string
		ops   []*Op
		order string // in which they are stored
		want  string // empty = nothing is wrong
	}{
		{"one after the other", []*Op{said("a", 1, 2), said("b", 3, 4), said("c", 5, 6)}, "a b c", ""},
		{"the other way round", []*Op{said("a", 1, 2), said("b", 3, 4)}, "b a", "a, answered after 2s, stands behind b, sent after 3s"},
		{"both at once", []*Op{said("a", 1, 4), said("b", 2, 3)}, "b a", ""},
		{"one that takes long", []*Op{said("a", 1, 9), said("b", 2, 3), said("c", 4, 5)}, "b a c", ""},
		{"one that takes long, last", []*Op{said("a", 1, 9), said("b", 2, 3), said("c", 4, 5)}, "b c a", ""},
		{"two beside one that takes long", []*Op{said("a", 1, 9), said("b", 2, 3), said("c", 4, 5)}, "c a b", "b, answered after 3s, stands behind c, sent after 4s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			places := map[string]int{}
			for i, text := range strings.Fields(c.order) {
				places[text] = i
			}
			if got := strings.Join(misplaced(c.ops, places), "; "); got != c.want {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}
