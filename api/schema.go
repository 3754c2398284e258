package api

import (
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// schema is the part of JSON Schema that the document uses.
type schema struct {
	Ref         string `json:"$ref"`
	Type        any
	Format      string
	Const       any
	Enum        []any
	Description string
	Minimum     *float64
	Maximum     *float64
	MinLength   *int
	MaxLength   *int
	MaxItems    *int
	Required    []string
	Properties  map[string]*schema
	Items       *schema
	AllOf       []*schema
	OneOf       []*schema
	Additional  json.RawMessage `json:"additionalProperties"`

	all map[string]*schema // where names lead, for examples
}

// member is one member of an object.
type member struct {
	Name     string
	Required bool
	Schema   *schema
}

// Fields are the members of an object, the required ones first.
func (s *schema) Fields() []member {
	var list []member
	for _, part := range s.AllOf { // an envelope, which goes without saying, and what is in it
		list = append(list, part.Fields()...)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		list = append(list, member{name, slices.Contains(s.Required, name), s.Properties[name]})
	}
	slices.SortStableFunc(list, func(a, b member) int {
		switch {
		case a.Required == b.Required:
			return 0
		case a.Required:
			return -1
		}
		return 1
	})
	return list
}

// typeOf says in a few words, with links, what a schema lets pass.
func typeOf(s *schema) template.HTML {
	if s == nil {
		return ""
	}
	return template.HTML(describe(s)) //nolint:gosec // describe escapes what it does not write itself
}

func describe(s *schema) string {
	switch {
	case s.Ref != "":
		name := html.EscapeString(lastName(s.Ref))
		return `<a href="#schema-` + name + `">` + name + `</a>`
	case s.Const != nil:
		return code(s.Const)
	case len(s.Enum) > 0:
		words := make([]string, len(s.Enum))
		for i, e := range s.Enum {
			words[i] = code(e)
		}
		return strings.Join(words, " ")
	case s.Items != nil:
		return "list of " + describe(s.Items) + limits("at most %v", s.MaxItems)
	case len(s.OneOf) > 0:
		words := make([]string, len(s.OneOf))
		for i, o := range s.OneOf {
			words[i] = describe(o)
		}
		return strings.Join(words, " or ")
	case s.Type == nil:
		return "any JSON"
	}
	word := html.EscapeString(strings.Trim(fmt.Sprint(s.Type), "[]"))
	if s.Format != "" {
		word += " (" + html.EscapeString(s.Format) + ")"
	}
	return word + limits("from %v", s.Minimum) + limits("to %v", s.Maximum) + limits("at least %v characters", s.MinLength) + limits("at most %v characters", s.MaxLength)
}

func limits[T any](words string, n *T) string {
	if n == nil {
		return ""
	}
	if f, ok := any(*n).(float64); ok {
		return ", " + fmt.Sprintf(words, int64(f))
	}
	return ", " + fmt.Sprintf(words, *n)
}

func code(v any) string { return "<code>" + html.EscapeString(fmt.Sprint(v)) + "</code>" }

// example is a value with what the schema requires, and nothing else.
func (s *schema) example() any {
	if s.Ref != "" {
		found := s.all[lastName(s.Ref)]
		if found == nil {
			return nil
		}
		found.all = s.all
		return found.example()
	}
	switch {
	case s.Const != nil:
		return s.Const
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Properties != nil || s.AllOf != nil:
		o := map[string]any{}
		for _, f := range s.Fields() {
			if f.Required {
				f.Schema.all = s.all
				o[f.Name] = f.Schema.example()
			}
		}
		return o
	case s.Items != nil:
		return []any{}
	case s.Type == "integer":
		return 0
	case s.Type == "boolean":
		return true
	case s.Format == "uri":
		return "https://example.com/"
	case s.Format == "email":
		return "you@example.com"
	}
	return "…"
}

var (
	inlineCode = regexp.MustCompile("`([^`]+)`")
	inlineBold = regexp.MustCompile(`\*\*([^*]+)\*\*`)
)

// markup turns the little markup that descriptions use into HTML.
func markup(text string) template.HTML {
	var b strings.Builder
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		p := html.EscapeString(paragraph)
		p = inlineCode.ReplaceAllString(p, "<code>$1</code>")
		p = inlineBold.ReplaceAllString(p, "<strong>$1</strong>")
		b.WriteString("<p>" + p + "</p>\n")
	}
	return template.HTML(b.String()) //nolint:gosec // escaped above
}
