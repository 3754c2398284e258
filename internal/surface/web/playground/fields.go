package playground

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/beeos/beeos/internal/surface/web/safetext"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// kind is how an argument is asked for.
type kind string

const (
	kindText   kind = "text"
	kindSecret kind = "secret" // never shown again
	kindNumber kind = "number"
	kindSwitch kind = "boolean"
	kindChoice kind = "enum"
	kindLines  kind = "lines"  // a list of simple values, one a line
	kindGroup  kind = "object" // fields of its own
	kindJSON   kind = "json"   // whatever has no field that is simpler
)

// field asks for one argument.
type field struct {
	Name     string // in the form: a JSON pointer
	Key      string // in the arguments
	Label    string
	Text     string // what the schema says about it
	Kind     kind
	Type     string // of the value, or of each line: string, number, integer or boolean
	Required bool
	Value    string
	Choices  []choice
	Min, Max string // of numbers
	Input    string // type of the input of a text: text, date, email, url
	Fields   []field
}

// choice is one of the values that a schema allows.
type choice struct {
	Value  string // JSON
	Text   string
	Picked bool
}

const (
	maxFields  = 80 // more are asked for as JSON
	maxChoices = 200
)

// node is the part of a JSON Schema that forms are made of.
type node struct {
	Type        json.RawMessage   `json:"type"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Properties  json.RawMessage   `json:"properties"`
	Required    []string          `json:"required"`
	Enum        []json.RawMessage `json:"enum"`
	Items       json.RawMessage   `json:"items"`
	Default     json.RawMessage   `json:"default"`
	Minimum     json.RawMessage   `json:"minimum"`
	Maximum     json.RawMessage   `json:"maximum"`
	Format      string            `json:"format"`
	WriteOnly   bool              `json:"writeOnly"`
	Secret      bool              `json:"x-secret"`
	AnyOf       []json.RawMessage `json:"anyOf"`
	OneOf       json.RawMessage   `json:"oneOf"`
	AllOf       json.RawMessage   `json:"allOf"`
	Ref         string            `json:"$ref"`
}

// fieldsOf makes the fields of a tool's inputSchema; false where that cannot be
// asked for field by field.
func fieldsOf(raw json.RawMessage) ([]field, bool) {
	if len(raw) == 0 {
		return nil, true
	}
	n, ok := readNode(raw)
	if !ok || n.simpleType() != "object" && len(n.Type) > 0 || len(n.AnyOf) > 0 || n.OneOf != nil || n.AllOf != nil || n.Ref != "" {
		return nil, false
	}
	left := maxFields
	list := n.fields("", true, &left)
	return list, left >= 0
}

// readNode reads a schema. Of "this or null", which generators write for what may
// be left out, it is this.
func readNode(raw json.RawMessage) (n node, ok bool) {
	if json.Unmarshal(raw, &n) != nil {
		return n, false
	}
	if len(n.AnyOf) != 2 {
		return n, true
	}
	for i, option := range n.AnyOf {
		var null, only node
		if json.Unmarshal(option, &null) != nil || string(null.Type) != `"null"` || json.Unmarshal(n.AnyOf[1-i], &only) != nil {
			continue
		}
		only.Title, only.Description, only.Default = cmp.Or(n.Title, only.Title), cmp.Or(n.Description, only.Description), n.Default
		only.WriteOnly, only.Secret = only.WriteOnly || n.WriteOnly, only.Secret || n.Secret
		return only, true
	}
	return n, true
}

// simpleType is the one type of a value, besides null; empty = several, or any.
func (n *node) simpleType() string {
	var one string
	if json.Unmarshal(n.Type, &one) == nil {
		return one
	}
	var several []string
	if json.Unmarshal(n.Type, &several) != nil {
		return ""
	}
	several = slices.DeleteFunc(several, func(t string) bool { return t == "null" })
	if len(several) != 1 {
		return ""
	}
	return several[0]
}

// fields makes those of an object's properties, in their order. Objects inside
// of it have fields of their own, once.
func (n *node) fields(path string, top bool, left *int) (list []field) {
	for name, raw := range strictjson.Fields(n.Properties) {
		if *left--; *left < 0 {
			return nil
		}
		list = append(list, newField(path, name, raw, slices.Contains(n.Required, name), top, left))
	}
	return list
}

var pointerEscape = strings.NewReplacer("~", "~0", "/", "~1")

func newField(path, key string, raw json.RawMessage, required, top bool, left *int) field {
	f := field{Name: path + "/" + pointerEscape.Replace(key), Key: key, Label: safetext.Line(key, 80), Kind: kindJSON, Required: required}
	n, ok := readNode(raw)
	if !ok {
		return f
	}
	f.Text = endSentence(safetext.Line(cmp.Or(n.Description, n.Title), 400))
	f.Type = n.simpleType()
	switch {
	case n.WriteOnly || n.Secret:
		f.Kind = kindSecret
	case n.OneOf != nil || n.AllOf != nil || n.Ref != "" || len(n.AnyOf) > 0:
	case len(n.Enum) > 0 && len(n.Enum) <= maxChoices:
		f.Kind, f.Choices = kindChoice, choicesOf(n.Enum)
	case f.Type == "string":
		f.Kind, f.Input = kindText, inputs[n.Format]
	case f.Type == "number" || f.Type == "integer":
		f.Kind, f.Min, f.Max = kindNumber, numberText(n.Minimum), numberText(n.Maximum)
	case f.Type == "boolean":
		f.Kind, f.Choices = kindSwitch, []choice{{Value: "true", Text: "true"}, {Value: "false", Text: "false"}}
	case f.Type == "array":
		f.readItems(n.Items)
	case f.Type == "object" && top && len(n.Properties) > 0:
		if f.Fields = n.fields(f.Name, false, left); len(f.Fields) > 0 {
			f.Kind = kindGroup
		}
	}
	if len(n.Default) > 0 && f.Kind != kindSecret {
		f.fill(n.Default)
	}
	return f
}

// endSentence puts a full stop behind a text that other words follow.
func endSentence(s string) string {
	if last, _ := utf8.DecodeLastRuneInString(s); unicode.IsLetter(last) || unicode.IsDigit(last) {
		return s + "."
	}
	return s
}

// simpleTypes are those of values that stand on one line.
var simpleTypes = []string{"string", "number", "integer", "boolean"}

// inputs are the kinds of text that browsers know.
var inputs = map[string]string{"date": "date", "email": "email", "uri": "url"}

// readItems makes a list one value a line, where its values are simple.
func (f *field) readItems(raw json.RawMessage) {
	n, ok := readNode(raw)
	if !ok || len(n.Enum) > 0 || len(n.AnyOf) > 0 || n.OneOf != nil || n.AllOf != nil || n.Ref != "" || n.WriteOnly || n.Secret {
		return
	}
	if t := n.simpleType(); slices.Contains(simpleTypes, t) {
		f.Kind, f.Type = kindLines, t
	}
}

func numberText(raw json.RawMessage) string {
	if _, err := strconv.ParseFloat(string(raw), 64); err != nil {
		return ""
	}
	return string(raw)
}

func choicesOf(values []json.RawMessage) (list []choice) {
	for _, v := range values {
		var text string
		if json.Unmarshal(v, &text) != nil {
			text = string(v)
		}
		list = append(list, choice{Value: compact(v), Text: safetext.Line(text, 80)})
	}
	return list
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// fill puts a value into the field. One that does not fit leaves it empty.
func (f *field) fill(raw json.RawMessage) {
	switch f.Kind {
	case kindSecret:
	case kindText:
		f.Value, _ = strictjson.StringValue(raw)
	case kindNumber:
		f.Value = numberText(raw)
	case kindSwitch, kindChoice:
		for i := range f.Choices {
			f.Choices[i].Picked = f.Choices[i].Value == compact(raw)
		}
	case kindLines:
		var lines []string
		for v := range strictjson.Elements(raw) {
			text, ok := strictjson.StringValue(v)
			if !ok {
				text = string(v)
			}
			lines = append(lines, text)
		}
		f.Value = strings.Join(lines, "\n")
	case kindGroup:
		fillFields(f.Fields, raw)
	default:
		f.Value = string(raw)
	}
}

// fillFields puts arguments into fields.
func fillFields(list []field, args json.RawMessage) {
	for i := range list {
		if raw := strictjson.Field(args, list[i].Key); raw != nil {
			list[i].fill(raw)
		}
	}
}
