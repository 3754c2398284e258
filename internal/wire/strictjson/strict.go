// Package strictjson reads JSON of strangers so that everybody who looks at it
// sees the same: Strict checks a whole value in one pass (strict.go, text.go),
// Fields, Field, Elements, StringValue and StringField take out of it what is
// needed without decoding the rest (fields.go).
package strictjson

import (
	"fmt"
	"sync"
	"unicode/utf8"

	"github.com/beeos/beeos"
)

// maxDepth is how deep arrays and objects may nest.
const maxDepth = 100

// Check checks in one pass that b is one JSON value which every parser
// reads the same way. Beyond the grammar it refuses what parsers are known
// to disagree on, because a check and the code behind it may use different
// ones: two names in one object that differ in case at most, invalid UTF-8,
// half a surrogate pair, NUL (which SQL text cannot hold), anything after the
// value, and nesting that is deeper than maxDepth. The error is InvalidJSON
// and says what is wrong at which byte.
func Check(b []byte) error {
	if !utf8.Valid(b) {
		return invalidUTF8(b)
	}
	s := scanners.Get().(*scanner)
	defer func() { s.b = nil; scanners.Put(s) }()
	*s = scanner{b: b, names: s.names[:0]}
	s.space()
	if s.value() {
		if s.space(); s.i == len(b) {
			return nil
		}
		s.fail("something follows the end of the JSON value")
	}
	return s.failure()
}

// scanners keeps the room for names; without it every body costs an allocation.
var scanners = sync.Pool{New: func() any { return &scanner{names: make([]name, 0, 2*fewNames)} }}

func invalidUTF8(b []byte) error {
	for i := 0; ; {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n <= 1 {
			return beeos.Errorf(beeos.InvalidJSON, "the body is not valid JSON: invalid UTF-8 at byte %d", i)
		}
		i += n
	}
}

// scanner walks over b. Its methods return false when they have found an
// error; only then is the error's text made.
type scanner struct {
	b       []byte
	i       int
	depth   int
	problem string
	at      int

	names []name // of all open objects, innermost last
}

func (s *scanner) fail(problem string) bool {
	s.problem, s.at = problem, s.i
	return false
}

func (s *scanner) failure() error {
	if s.at >= len(s.b) {
		return beeos.Errorf(beeos.InvalidJSON, "the body is not valid JSON: it ends too early, at byte %d: %s", s.at, s.problem)
	}
	return beeos.Errorf(beeos.InvalidJSON, "the body is not valid JSON: at byte %d: %s", s.at, s.problem)
}

// peek returns the byte at i, or 0 at the end, which no rule accepts.
func (s *scanner) peek() byte {
	if s.i < len(s.b) {
		return s.b[s.i]
	}
	return 0
}

func (s *scanner) space() {
	for s.i < len(s.b) && s.b[s.i] <= ' ' {
		switch s.b[s.i] {
		case ' ', '\n', '\r', '\t':
			s.i++
		default:
			return
		}
	}
}

func (s *scanner) value() bool {
	switch c := s.peek(); c {
	case '"':
		_, ok := s.text()
		return ok
	case '{':
		return s.object()
	case '[':
		return s.array()
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	default:
		if c == '-' || (c >= '0' && c <= '9') {
			return s.number()
		}
		return s.fail("a value is expected here")
	}
}

func (s *scanner) word(w string) bool {
	if len(s.b)-s.i < len(w) || string(s.b[s.i:s.i+len(w)]) != w {
		return s.fail("only true, false and null are words")
	}
	s.i += len(w)
	return true
}

func (s *scanner) number() bool {
	if s.peek() == '-' {
		s.i++
	}
	switch c := s.peek(); {
	case c == '0':
		s.i++ // and nothing may follow it but . or e: the caller sees to that
	case !s.digits():
		return s.fail("a digit is expected here")
	}
	if s.peek() == '.' {
		s.i++
		if !s.digits() {
			return s.fail("a digit is expected after the point")
		}
	}
	if s.peek()|0x20 == 'e' {
		s.i++
		if c := s.peek(); c == '+' || c == '-' {
			s.i++
		}
		if !s.digits() {
			return s.fail("a digit is expected in the exponent")
		}
	}
	return true
}

func (s *scanner) digits() bool {
	start := s.i
	for s.i < len(s.b) && s.b[s.i]-'0' <= 9 {
		s.i++
	}
	return s.i > start
}

func (s *scanner) array() bool {
	if !s.enter() {
		return false
	}
	if s.peek() == ']' {
		return s.leave()
	}
	for {
		if !s.value() {
			return false
		}
		s.space()
		switch s.peek() {
		case ',':
			s.i++
			s.space()
		case ']':
			return s.leave()
		default:
			return s.fail("a comma or ] is expected here")
		}
	}
}

func (s *scanner) object() bool {
	if !s.enter() {
		return false
	}
	if s.peek() == '}' {
		return s.leave()
	}
	seen := members{first: len(s.names)}
	for {
		if s.peek() != '"' {
			return s.fail("a name in quotes is expected here")
		}
		if !s.member(&seen) || !s.value() {
			return false
		}
		s.space()
		switch s.peek() {
		case ',':
			s.i++
			s.space()
		case '}':
			s.names = s.names[:seen.first]
			return s.leave()
		default:
			return s.fail("a comma or } is expected here")
		}
	}
}

// member reads a name and its colon.
func (s *scanner) member(seen *members) bool {
	start := s.i
	escaped, ok := s.text()
	if !ok {
		return false
	}
	if n := s.nameOf(start+1, s.i-1, escaped); !s.add(seen, n) {
		s.i = start
		return s.fail(fmt.Sprintf("the name %.60q stands twice in one object, up to case", n.text(s.b)))
	}
	s.space()
	if s.peek() != ':' {
		return s.fail("a colon is expected after the name")
	}
	s.i++
	s.space()
	return true
}

func (s *scanner) enter() bool {
	if s.depth++; s.depth > maxDepth {
		return s.fail(fmt.Sprintf("arrays and objects nest deeper than %d", maxDepth))
	}
	s.i++
	s.space()
	return true
}

func (s *scanner) leave() bool {
	s.depth--
	s.i++
	return true
}
