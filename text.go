package beeos

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
)

// Visible spells out what a reader would not see: control characters, marks
// that turn the direction of writing, signs of no width, spaces that are none.
// Line breaks and tabs stay. What a person is asked to agree to is shown this
// way, so that it cannot say one thing and mean another.
func Visible(s string) string { return SpellOut(s, unseen) }

// SpellOut writes the characters that hidden picks as their code points.
func SpellOut(s string, hidden func(rune) bool) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
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
	case '\u2800': // a letter that is blank
		return true
	}
	return !unicode.IsGraphic(r) || unicode.IsSpace(r) || unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// Shorten cuts s after so many bytes, between two characters, and shows that it
// did.
func Shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// EncodeJSON is json.Marshal that leaves <, > and & as they are.
func EncodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
