package blob

import (
	"strings"
	"unicode"
)

// SafeName is a name that people gave to a file as something to show or to
// save under: one line, no folders, nothing that turns the reading direction.
// What cannot stay becomes an underscore.
func SafeName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r == unicode.ReplacementChar || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(name, "_"))
	if strings.Trim(name, ". ") == "" { // empty, "." and ".." name no file
		return "file"
	}
	return name
}

// Attachment is the Content-Disposition header of a file to be saved: the name
// in plain ASCII for all, and whole, as RFC 6266 and 5987 have it, for those
// who can read it.
func Attachment(name string) string {
	name = SafeName(name)
	plain := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '%' {
			return '_'
		}
		return r
	}, name)
	header := `attachment; filename="` + plain + `"`
	if plain != name {
		header += "; filename*=UTF-8''" + extValue(name)
	}
	return header
}

// extValue percent-encodes all but RFC 5987's attr-char.
func extValue(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for _, c := range []byte(s) {
		switch {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', strings.IndexByte("!#$&+-.^_`|~", c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return b.String()
}
