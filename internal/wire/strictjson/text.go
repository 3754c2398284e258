package strictjson

import (
	"encoding/binary"
	"strings"
	"unicode"
	"unicode/utf8"
)

// text passes over a string, quotes included, and reports whether it has
// escapes. UTF-8 has been checked, so bytes from 0x80 on are fine.
func (s *scanner) text() (escaped, ok bool) {
	b, i := s.b, s.i+1
	for {
		for i+8 <= len(b) && plain8(binary.LittleEndian.Uint64(b[i:])) {
			i += 8
		}
		for i < len(b) && !special[b[i]] {
			i++
		}
		if s.i = i; i == len(b) {
			return escaped, s.fail("the string has no closing quote")
		}
		switch b[i] {
		case '"':
			s.i++
			return escaped, true
		case '\\':
			if escaped = true; !s.escape() {
				return escaped, false
			}
			i = s.i
		default:
			return escaped, s.fail("a control character in a string has to be escaped")
		}
	}
}

// special are the bytes that a string cannot just pass over.
var special = func() (t [256]bool) {
	for c := range 0x20 {
		t[c] = true
	}
	t['"'], t['\\'] = true, true
	return t
}()

// plain8 reports whether none of the 8 bytes in w is special. Each term has
// the high bit set in bytes that are below 0x20, a quote or a backslash; the
// borrow of a subtraction can only set it in vain, which costs a slow loop.
func plain8(w uint64) bool {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	control := w - 0x20*ones
	quote := w ^ '"'*ones
	slash := w ^ '\\'*ones
	return (control&^w|(quote-ones)&^quote|(slash-ones)&^slash)&high == 0
}

// escape passes over the escape sequence at i.
func (s *scanner) escape() bool {
	s.i++
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.i++
		return true
	case 'u':
		s.i--
	default:
		return s.fail("there is no such escape")
	}
	r, ok := hex4(s.b[s.i:])
	switch {
	case !ok:
		return s.fail("\\u needs four hexadecimal digits")
	case r == 0:
		return s.fail("NUL is not accepted")
	case r >= 0xdc00 && r <= 0xdfff:
		return s.fail("the second half of a surrogate pair stands alone")
	case r >= 0xd800 && r <= 0xdbff:
		if low, ok := hex4(s.b[s.i+6:]); !ok || low < 0xdc00 || low > 0xdfff {
			return s.fail("the first half of a surrogate pair stands alone")
		}
		s.i += 6
	}
	s.i += 6
	return true
}

// hex4 reads the \uXXXX that b begins with.
func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// A name is where a member's name stands, without its quotes. Plain names
// (ASCII, no escapes) whose marks differ cannot be equal under case folding,
// which settles nearly every comparison. Mark 0 is a name that is not plain.
type name struct {
	start, end int
	mark       uint32
}

// members are the names of one object so far: s.names from first on while
// they are few and plain, and a set of folded names from then on.
type members struct {
	first int
	many  map[string]struct{}
}

const fewNames = 16

func (s *scanner) nameOf(start, end int, escaped bool) name {
	n := name{start: start, end: end}
	text := s.b[start:end]
	if escaped {
		return n
	}
	for _, c := range text {
		if c >= utf8.RuneSelf {
			return n
		}
	}
	n.mark = uint32(len(text))<<16 | 1
	if len(text) > 0 {
		n.mark |= uint32(text[0]|0x20) << 8
	}
	return n
}

// text returns the name as a program would see it.
func (n name) text(b []byte) string { return unescape(b[n.start:n.end]) }

// add reports whether the object has no such name yet.
func (s *scanner) add(seen *members, n name) bool {
	few := s.names[seen.first:]
	if seen.many == nil && (n.mark == 0 || len(few) == fewNames) {
		seen.many = make(map[string]struct{}, 2*fewNames)
		for _, old := range few {
			seen.addFolded(old.text(s.b))
		}
	}
	if seen.many != nil {
		return seen.addFolded(n.text(s.b))
	}
	for _, old := range few {
		if old.mark == n.mark && strings.EqualFold(old.text(s.b), n.text(s.b)) {
			return false
		}
	}
	s.names = append(s.names, n)
	return true
}

func (m *members) addFolded(text string) bool {
	text = fold(text)
	if _, twice := m.many[text]; twice {
		return false
	}
	m.many[text] = struct{}{}
	return true
}

// fold maps all names that strings.EqualFold holds equal to one of them. Most
// names are lower case ASCII already and come back as they are.
func fold(s string) string {
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || (c >= 'A' && c <= 'Z') {
			return strings.Map(foldRune, s)
		}
	}
	return s
}

// foldRune returns the smallest rune of r's folding orbit, except that ASCII
// letters stay in lower case.
func foldRune(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	if least >= 'A' && least <= 'Z' {
		least += 'a' - 'A'
	}
	return least
}
