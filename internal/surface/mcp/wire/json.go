package wire

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

const hexDigits = "0123456789abcdef"

// AppendText appends s as a JSON string. Unlike encoding/json it leaves HTML
// alone, so that an agent's words reach the client as they were.
func AppendText(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
		}
		b = append(b, s[start:i]...)
		b = appendEscape(b, c)
		i++
		start = i
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

func appendEscape(b []byte, c byte) []byte {
	switch {
	case c == '"' || c == '\\':
		return append(b, '\\', c)
	case c == '\n':
		return append(b, `\n`...)
	case c == '\t':
		return append(b, `\t`...)
	case c == '\r':
		return append(b, `\r`...)
	case c < 0x20:
		return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
	}
	return append(b, `\ufffd`...) // a byte that is not UTF-8
}

func AppendMember(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	b = append(b, `,"`+name+`":`...)
	return AppendText(b, value)
}

// withoutMembers returns obj itself when it has no members of those names.
func withoutMembers(obj []byte, names []string) []byte {
	gone := func(name string) bool { return slices.Contains(names, name) }
	for name := range strictjson.Fields(obj) {
		if gone(name) {
			return PruneMembers(obj, gone)
		}
	}
	return obj
}

// PruneMembers copies an object without the members that are to go.
func PruneMembers(raw []byte, gone func(name string) bool) []byte {
	b := append(make([]byte, 0, len(raw)), '{')
	for name, value := range strictjson.Fields(raw) {
		if gone(name) {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = AppendText(b, name)
		b = append(b, ':')
		b = append(b, value...)
	}
	return append(b, '}')
}

// ReplaceMember copies an object with another value for one of its members.
func ReplaceMember(obj []byte, name string, value []byte) []byte {
	b := append(make([]byte, 0, len(obj)+len(value)), '{')
	for n, v := range strictjson.Fields(obj) {
		if n == name {
			v = value
		}
		b = append(append(append(AppendText(b, n), ':'), v...), ',')
	}
	return append(bytes.TrimSuffix(b, []byte{','}), '}')
}

// StringAfter reads the string that a definition has after its head.
func StringAfter(definition []byte, head string) (text string, end int) {
	end = len(head) + stringLength(definition[len(head):])
	text, _ = strictjson.StringValue(definition[len(head):end])
	return text, end
}

// ReplaceString puts another string after the head of a definition.
func ReplaceString(definition []byte, head, text string) []byte {
	_, end := StringAfter(definition, head)
	b := AppendText(append(make([]byte, 0, len(definition)+len(text)), head...), text)
	return append(b, definition[end:]...)
}

// stringLength returns the length of the JSON string that b begins with.
func stringLength(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// Encode writes v, a type of ours around JSON that an agent gave. The store
// has checked that; should it be broken after all, the one item is left out.
func Encode(v any) ([]byte, bool) {
	raw, err := beeos.EncodeJSON(v)
	return raw, err == nil
}

func AppendTextBlock(b []byte, s string) []byte {
	b = append(b, `{"type":"text","text":`...)
	return append(AppendText(b, s), '}')
}

// ErrorResult is a result that tells a model what went wrong.
func ErrorResult(text string) []byte {
	return append(AppendTextBlock([]byte(`{"content":[`), text), `],"isError":true}`...)
}
