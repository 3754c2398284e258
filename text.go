package beeos

import (
	"fmt"
	"strings"
	"unicode"
)

// Visible spells out what a reader would not see: control characters, marks
// that turn the direction of writing, signs of no width, spaces that are none.
// Line breaks and tabs stay. What a person is asked to agree to is shown this
// way, so that it cannot say one thing and mean another.
func Visible(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if !strings.ContainsFunc(s, unseen) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unseen(r) {
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func unseen(r rune) bool {
	switch r {
	case '\n', '\t', ' ':
		return false
	case '\u115F', '\u1160', '\u2800', '\u3164', '\uFFA0': // letters that are blank
		return true
	}
	return !unicode.IsGraphic(r) || unicode.IsSpace(r) || unicode.Is(unicode.Variation_Selector, r)
}
