package strictjson

import (
	"bytes"
	"iter"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// Fields ranges over the members of an object that is known to be valid JSON: the
// exact name, unescaped, and the raw value. Nothing is copied, so neither may
// outlive a change of obj. Anything but an object has no members.
func Fields(obj []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		i := open(obj, '{')
		for i < len(obj) && obj[i] == '"' {
			end := skip(obj, i)
			if end < i+2 {
				return
			}
			name := unescape(obj[i+1 : end-1])
			i = blanks(obj, end)
			i = blanks(obj, i+1) // past the colon
			if i >= len(obj) {
				return
			}
			end = skip(obj, i)
			if !yield(name, obj[i:end]) {
				return
			}
			if i = blanks(obj, end); i >= len(obj) || obj[i] != ',' {
				return
			}
			i = blanks(obj, i+1)
		}
	}
}

// Elements ranges over the raw elements of an array that is known to be valid JSON.
// Anything but an array has none.
func Elements(arr []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		i := open(arr, '[')
		for i < len(arr) && arr[i] != ']' {
			end := skip(arr, i)
			if !yield(arr[i:end]) {
				return
			}
			if i = blanks(arr, end); i >= len(arr) || arr[i] != ',' {
				return
			}
			i = blanks(arr, i+1)
		}
	}
}

// Field returns the raw value of one member, or nil when obj has none of
// exactly that name.
func Field(obj []byte, name string) []byte {
	for n, raw := range Fields(obj) {
		if n == name {
			return raw
		}
	}
	return nil
}

// StringValue decodes a raw string value; ok is false when raw is not one.
// The result is a copy.
func StringValue(raw []byte) (s string, ok bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	inside := raw[1 : len(raw)-1]
	if bytes.IndexByte(inside, '\\') < 0 {
		return string(inside), true
	}
	return unescape(inside), true
}

// StringField returns the string that is one member's value; ok is false when
// obj has none of exactly that name, or it is not a string.
func StringField(obj []byte, name string) (s string, ok bool) { return StringValue(Field(obj, name)) }

// open returns the index of the first thing inside a container that starts
// with bracket, or len(b) when b is something else.
func open(b []byte, bracket byte) int {
	i := blanks(b, 0)
	if i >= len(b) || b[i] != bracket {
		return len(b)
	}
	return blanks(b, i+1)
}

func blanks(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// skip returns the index after the value at i. It trusts the grammar that
// was checked before, and never runs past the end even if it was not.
func skip(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i = skipString(b, i)
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\n', '\r', '\t':
			i++
			continue
		default:
			i = skipScalar(b, i)
		}
		if depth <= 0 {
			return i
		}
	}
	return len(b)
}

func skipString(b []byte, i int) int {
	for i++; i < len(b); i++ {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			break
		}
		i += n
		back := i
		for back > 0 && b[back-1] == '\\' {
			back--
		}
		if (i-back)%2 == 0 {
			return i + 1
		}
	}
	return len(b)
}

func skipScalar(b []byte, i int) int {
	for i < len(b) {
		switch b[i] {
		case ',', ':', ' ', '\n', '\r', '\t', '}', ']', '{', '[', '"':
			return i
		}
		i++
	}
	return i
}

// unescape decodes the inside of a string that has passed Strict. Without
// escapes the result shares raw's memory.
func unescape(raw []byte) string {
	i := bytes.IndexByte(raw, '\\')
	if i < 0 {
		return unsafe.String(unsafe.SliceData(raw), len(raw))
	}
	var out strings.Builder
	out.Grow(len(raw))
	for i >= 0 && i+1 < len(raw) {
		out.Write(raw[:i])
		raw = raw[i:]
		if raw[1] == 'u' {
			r, n := unescapeRune(raw)
			out.WriteRune(r)
			raw = raw[n:]
		} else {
			out.WriteByte(unescaped[raw[1]])
			raw = raw[2:]
		}
		i = bytes.IndexByte(raw, '\\')
	}
	out.Write(raw)
	return out.String()
}

var unescaped = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescapeRune decodes \uXXXX, or a pair of them, and returns its length.
func unescapeRune(raw []byte) (r rune, n int) {
	r, ok := hex4(raw)
	if !ok {
		return utf8.RuneError, 2
	}
	if utf16.IsSurrogate(r) {
		if low, ok := hex4(raw[6:]); ok {
			return utf16.DecodeRune(r, low), 12
		}
	}
	return r, 6
}
