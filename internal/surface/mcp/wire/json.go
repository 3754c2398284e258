package wire

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// AppendText appends s as a JSON string. Unlike encoding/json it leaves HTML
// alone, so that an agent's words reach the client as they were. Most texts
// need no escapes, and are copied.
func AppendText(b []byte, s string) []byte {
	if !strings.ContainsFunc(s, needsEscape) {
		return append(append(append(b, '"'), s...), '"')
	}
	escaped, _ := beeos.EncodeJSON(s) // a string can always be encoded
	return append(b, escaped...)
}

func needsEscape(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r == utf8.RuneError }

// EncodeText returns s as a JSON string.
func EncodeText(s string) []byte { return AppendText(nil, s) }

func AppendMember(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	b = append(b, `,"`+name+`":`...)
	return AppendText(b, value)
}

// EditMembers copies an object with the values that edit returns for its
// members. Those for which it returns nil are left out.
func EditMembers(obj []byte, edit func(name string, value []byte) []byte) []byte {
	b := append(make([]byte, 0, len(obj)), '{')
	for name, value := range strictjson.Fields(obj) {
		if value = edit(name, value); value != nil {
			b = append(append(append(AppendText(b, name), ':'), value...), ',')
		}
	}
	return append(bytes.TrimSuffix(b, []byte{','}), '}')
}

// PruneMembers copies an object without the members that are to go.
func PruneMembers(obj []byte, gone func(name string) bool) []byte {
	return EditMembers(obj, func(name string, value []byte) []byte {
		if gone(name) {
			return nil
		}
		return value
	})
}

// ReplaceMember copies an object with another value for one of its members.
func ReplaceMember(obj []byte, name string, value []byte) []byte {
	return EditMembers(obj, func(n string, v []byte) []byte {
		if n == name {
			return value
		}
		return v
	})
}

func AppendTextBlock(b []byte, s string) []byte {
	b = append(b, `{"type":"text","text":`...)
	return append(AppendText(b, s), '}')
}

// ErrorResult is a result that tells a model what went wrong.
func ErrorResult(text string) []byte {
	return append(AppendTextBlock([]byte(`{"content":[`), text), `],"isError":true}`...)
}
