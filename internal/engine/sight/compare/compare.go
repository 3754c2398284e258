// Package compare says whether two answers to the same question are the same, and
// where they differ: texts are compared as they are, JSON by what it means
// (compare.go). texts.go puts two texts side by side.
package compare

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/beeos/beeos"
)

// Answer is what an agent answered, in a form in which equal answers are equal
// texts.
type Answer struct {
	Text string
	Data string // JSON: what was answered besides text; empty = nothing
}

// Read takes the terminal reply to a call: its text, its parts and its payload.
func Read(text string, parts, payload json.RawMessage) Answer {
	data := map[string]any{}
	if list := contentParts(parts); len(list) > 0 {
		data["parts"] = list
	}
	for name, value := range payloadContent(payload) {
		data[name] = value
	}
	a := Answer{Text: text}
	if isJSON(text) {
		a.Text = encode(decode([]byte(text)))
	}
	if len(data) > 0 {
		a.Data = encode(data)
	}
	return a
}

// ReadInput takes what was said to an agent in the same form: its text, and the
// arguments of its tool.
func ReadInput(text string, arguments json.RawMessage) Answer {
	a := Answer{Text: text}
	if v := decode(arguments); v != nil {
		a.Data = encode(v)
	}
	return a
}

// String is the whole answer, for people who compare it with another.
func (a Answer) String() string {
	return strings.TrimSuffix(a.Text+"\n"+a.Data, "\n")
}

// besides is what an agent keeps with an answer and does not answer: what it
// remembers, what was said before it failed, and notes for the protocol.
var besides = []string{"_meta", "memory", "partial", "direct"}

func payloadContent(payload json.RawMessage) map[string]any {
	content, _ := decode(payload).(map[string]any)
	for _, name := range besides {
		delete(content, name)
	}
	return content
}

// work are parts that tell how an answer came about.
var work = []string{"tool_use", "tool_result", "thinking"}

// contentParts are the parts of an answer that are content. A file is the same if
// it has the same name, kind and size: where it lies is new each time.
func contentParts(parts json.RawMessage) []any {
	list, _ := decode(parts).([]any)
	return slices.DeleteFunc(list, func(one any) bool {
		part, _ := one.(map[string]any)
		kind, _ := part["type"].(string)
		if kind == beeos.PartFile && part["file_id"] != nil {
			delete(part, "file_id")
			delete(part, "url")
		}
		return slices.Contains(work, kind)
	})
}

// isJSON reports whether a text is an object or a list; a number or a word is
// just a text.
func isJSON(text string) bool {
	text = strings.TrimSpace(text)
	return text != "" && (text[0] == '{' || text[0] == '[') && json.Valid([]byte(text))
}

// decode reads JSON with its numbers as they are written; nil = it is none.
func decode(raw []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if len(raw) == 0 || d.Decode(&v) != nil {
		return nil
	}
	return v
}

// encode writes JSON with members in order, on lines.
func encode(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if e.Encode(v) != nil {
		return "" // it was JSON before
	}
	return strings.TrimSuffix(b.String(), "\n")
}
