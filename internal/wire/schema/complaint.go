package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/beeos/beeos"
)

// What is wrong with arguments is read by models, which know JSON. The library
// prints values and schemas as Go does, so its sentences about those are
// replaced by ours, with the keyword's value as the schema has it.

// wants are our sentences, by keyword; the keyword's value follows.
var wants = map[string]string{
	"enum":             "must be one of ",
	"const":            "must be ",
	"minimum":          "must be at least ",
	"maximum":          "must be at most ",
	"exclusiveMinimum": "must be more than ",
	"exclusiveMaximum": "must be less than ",
	"multipleOf":       "must be a multiple of ",
	"anyOf":            "must fit one of ",
	"oneOf":            "must fit exactly one of ",
	"not":              "must not fit ",
	"contains":         "must have an item that fits ",
}

// hasType finds the kind of value in the library's complaint about a type: the
// value before it may hold anything.
var hasType = regexp.MustCompile(`has type "([a-z]+)", want (one of )?"[^"]*"$`)

// complaint is what is wrong, where, and short.
func (s *Schema) complaint(err error) string {
	where, what := innermost(err)
	keyword, _, _ := strings.Cut(what, ":")
	if keyword == "type" {
		if found := hasType.FindString(what); found != "" {
			what = "type: " + found
		}
	} else if sentence := wants[keyword]; sentence != "" {
		what = keyword + ": " + sentence + s.keywordValue(where, keyword)
	}
	if where != "root" {
		what = where + ": " + what
	}
	return beeos.Shorten(what, ComplaintSize)
}

// innermost takes the library's wrappings off: where in the schema the fault
// was found, and what it is.
func innermost(err error) (where, what string) {
	outer := err
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		outer, err = err, next
	}
	what = err.Error()
	where = strings.TrimSuffix(strings.TrimPrefix(outer.Error(), "validating "), ": "+what)
	return where, what
}

// keywordValue is the value of a keyword in the schema at that place, as JSON.
func (s *Schema) keywordValue(where, keyword string) string {
	at := s.cost.root
	if strings.HasPrefix(where, "/") {
		at = s.cost.walk(where)
	}
	members, _ := at.(map[string]any)
	value, ok := members[keyword]
	if !ok {
		return "what the schema says"
	}
	text, err := beeos.EncodeJSON(value)
	if err != nil {
		return "what the schema says"
	}
	return string(text)
}

// plainDecodeError says what cannot be read in a schema without the names of
// our types.
func plainDecodeError(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err
	}
	if wrong.Field == "" {
		return fmt.Errorf("a keyword has a %s for its value, which it cannot have", wrong.Value)
	}
	return fmt.Errorf("%.100q has a %s for its value, which it cannot have", wrong.Field, wrong.Value)
}
