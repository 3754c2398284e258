// Package safetext makes text that strangers wrote safe to show: one clean line
// for a sentence of ours (also of Markdown), invisible characters spelled out, Markdown laid out
// without letting any HTML through, links that lead to the web alone, and two
// versions of a text side by side.
package safetext

import (
	"net/url"
	"regexp"
	"strings"
	"unicode"

	"github.com/beeos/beeos"
)

// Line makes text that a stranger wrote fit for a sentence of ours: one line of
// at most so many characters. Characters that have no shape of their own
// (control characters, marks that change the direction of writing, zero-width
// joiners) become one visible sign.
func Line(s string, most int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	var b strings.Builder
	n, space := 0, false
	for _, r := range s {
		if unicode.IsSpace(r) {
			space = b.Len() > 0
			continue
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Co, r) || !unicode.IsGraphic(r) {
			r = '\uFFFD'
		}
		if space {
			b.WriteByte(' ')
			n++
			space = false
		}
		if n >= most-1 {
			b.WriteRune('…')
			break
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}

// Address is where a receiver of messages is, for a page. People put keys behind the
// question mark, and names with passwords before the host: neither is shown.
func Address(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "an address that cannot be read"
	}
	return Line((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String(), 120)
}

// Piece is a stretch of text. An invisible one is the sign that stands for a
// character nobody could see.
type Piece struct {
	Text      string
	Invisible bool
}

// Pieces splits a text at the signs that beeos.Visible or Reveal put into it,
// so that a page can mark them.
func Pieces(s string) (list []Piece) {
	for s != "" {
		at := invisibleSign.FindStringIndex(s)
		if at == nil {
			return append(list, Piece{Text: s})
		}
		if at[0] > 0 {
			list = append(list, Piece{Text: s[:at[0]]})
		}
		list = append(list, Piece{Text: s[at[0]:at[1]], Invisible: true})
		s = s[at[1]:]
	}
	return list
}

var invisibleSign = regexp.MustCompile(`⟨U\+[0-9A-F]{4,6}⟩`)

// Reveal spells out the characters of a conversation that would deceive its
// reader. It is milder than beeos.Visible, which is for text that people agree
// to: the joiners of scripts and emoji and typographic spaces stay as they are.
func Reveal(s string) string {
	return beeos.SpellOut(strings.ReplaceAll(s, "\r\n", "\n"), deceives)
}

func deceives(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r == '\u200C' || r == '\u200D' || unicode.Is(unicode.Variation_Selector, r) && r < 0xE0000:
		return false
	case unicode.IsSpace(r):
		return unicode.IsControl(r) || r == '\u2028' || r == '\u2029'
	}
	return !unicode.IsGraphic(r)
}

// LinkTarget returns the address that a link may lead to: the web or mail.
func LinkTarget(address string) (string, bool) {
	u, err := url.Parse(address)
	if err != nil {
		return "", false
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		return u.String(), u.Host != ""
	case "mailto":
		return u.String(), true
	}
	return "", false
}

// LinkHost is where a link leads, as people are shown it.
func LinkHost(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return Line(u.Host, 80)
}
