package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"reflect"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
)

// cost foretells how much work a validation is. Schemas that refer to
// themselves or fan out can ask for exponential work, or recurse until the
// stack is gone, which no recover catches. So before the validator runs, a
// dry run visits every pair of schema and value that the validator could, and
// gives up at a budget.
type cost struct {
	root    any
	anchors map[string]any
	nodes   int // values in it, schemas or not
	walked  map[uintptr]walk
	refs    []string       // without any, nodes times the size of the value is the limit
	steps   map[string]int // how much a byte costs each of its regular expressions
	total   int            // of them, as often as they are there
}

const (
	budget    = 200_000 // visits; around 50 ms of validation
	deepest   = 500     // schemas inside each other on one value
	printUnit = 64      // bytes that cost as much to print as a visit
	walkUnit  = 2       // names that cost as much to look up
	equalUnit = 4       // values that cost as much to compare with
	matchUnit = 128     // steps of regular expressions that do
	stepsMost = 100_000 // in one schema: each takes memory, too
)

// walk is what the validator goes through of one schema by itself, whatever it
// is applied to and however little of that there is.
type walk struct {
	always int // on every value
	object int // on objects, besides
}

func newCost(raw []byte) (*cost, error) {
	c := &cost{anchors: map[string]any{}, steps: map[string]int{}, walked: map[uintptr]walk{}}
	if err := json.Unmarshal(raw, &c.root); err != nil {
		return nil, err
	}
	if _, ok := c.root.(map[string]any); !ok {
		return nil, errors.New("it is not an object")
	}
	if _, err := c.survey(c.root, true); err != nil {
		return nil, err
	}
	for _, ref := range c.refs {
		if c.target(ref) == nil {
			return nil, fmt.Errorf("$ref %.100q leads nowhere", ref)
		}
	}
	return c, nil
}

// survey counts what may be walked through, collects anchors and refuses what
// the dry run cannot follow. It returns the weight of v.
func (c *cost) survey(v any, root bool) (size int, err error) {
	c.nodes++
	size = 8
	switch v := v.(type) {
	case string:
		size += len(v)
	case []any:
		for _, e := range v {
			n, err := c.survey(e, false)
			if err != nil {
				return 0, err
			}
			size += n
		}
	case map[string]any:
		if err := c.surveyNames(v, root); err != nil {
			return 0, err
		}
		compared := 0
		for name, e := range v {
			n, err := c.survey(e, false)
			if err != nil {
				return 0, err
			}
			if size += len(name) + n; name == "enum" || name == "const" {
				compared += n
			}
		}
		c.walked[reflect.ValueOf(v).Pointer()] = walkOf(v, compared)
	}
	return size, nil
}

// walkOf counts the names that are looked up in every object, and the values, of
// some weight, that every value is compared with, and printed beside when it is
// none of them.
func walkOf(s map[string]any, compared int) walk {
	names := 0
	for _, keyword := range []string{"properties", "required", "dependentRequired", "dependencies", "dependentSchemas"} {
		for e := range inside(s[keyword]) {
			names++
			if list, ok := e.([]any); ok {
				names += len(list)
			}
		}
	}
	enum, _ := s["enum"].([]any)
	return walk{always: len(enum)/equalUnit + compared/printUnit, object: names / walkUnit}
}

// inside ranges over the elements of a list, or the values of an object.
func inside(v any) iter.Seq[any] {
	if list, ok := v.([]any); ok {
		return slices.Values(list)
	}
	members, _ := v.(map[string]any)
	return maps.Values(members)
}

func (c *cost) surveyNames(v map[string]any, root bool) error {
	if ref, ok := v["$ref"].(string); ok {
		c.refs = append(c.refs, ref)
		if !strings.HasPrefix(ref, "#") {
			return fmt.Errorf("$ref %.100q points outside of it", ref)
		}
	}
	if _, ok := v["$dynamicRef"].(string); ok {
		return errors.New("$dynamicRef is not supported")
	}
	if _, ok := v["$id"].(string); ok && !root {
		return errors.New("only its root may have an $id")
	}
	for _, name := range []string{"$anchor", "$dynamicAnchor"} {
		if anchor, ok := v[name].(string); ok {
			if c.anchors[anchor] != nil {
				return fmt.Errorf("$anchor %.100q is there twice", anchor)
			}
			c.anchors[anchor] = v
		}
	}
	return c.surveyPatterns(v)
}

// surveyPatterns weighs the regular expressions. They take time in proportion
// to the text, and a counted repetition makes that thousands of times as much.
func (c *cost) surveyPatterns(v map[string]any) error {
	if pattern, ok := v["pattern"].(string); ok {
		c.weigh(pattern)
	}
	patterns, _ := v["patternProperties"].(map[string]any)
	for pattern := range patterns {
		c.weigh(pattern)
	}
	if c.total > stepsMost {
		return errors.New("its regular expressions are too large")
	}
	return nil
}

func (c *cost) weigh(pattern string) {
	if _, known := c.steps[pattern]; !known {
		c.steps[pattern] = 0
		if re, err := syntax.Parse(pattern, syntax.Perl); err == nil { // else the validator says so
			if prog, err := syntax.Compile(re.Simplify()); err == nil {
				c.steps[pattern] = len(prog.Inst)
			}
		}
	}
	c.total += c.steps[pattern]
}

// affordable reports whether value, written in size bytes, can be validated
// within the budget.
func (c *cost) affordable(value any, size int) bool {
	if len(c.refs) == 0 && c.nodes*(1+size/2)+c.total*size/matchUnit <= budget {
		return true
	}
	r := dryRun{cost: c, left: budget}
	return r.visit(c.root, value, 0)
}

type dryRun struct {
	*cost
	left int
}

// visit charges for one schema on one value and everything below. depth is
// how many schemas already look at the same value: each of them that fails
// prints it into its complaint, so it is paid for by size.
func (r *dryRun) visit(schema, value any, depth int) bool {
	r.left--
	if depth > 0 {
		r.left -= weight(value) / printUnit
	}
	if r.left <= 0 || depth > deepest {
		return false
	}
	s, ok := schema.(map[string]any)
	if !ok {
		return true
	}
	w := r.walked[reflect.ValueOf(s).Pointer()]
	r.left -= w.always
	if _, ok := value.(map[string]any); ok {
		r.left -= w.object
	}
	return r.left > 0 && r.here(s, value, depth+1) && r.below(s, value)
}

// here follows the keywords that apply other schemas to the same value.
func (r *dryRun) here(s map[string]any, value any, depth int) bool {
	if text, ok := value.(string); ok && !r.match(s["pattern"], text) {
		return false
	}
	if ref, ok := s["$ref"].(string); ok && !r.visit(r.target(ref), value, depth) {
		return false
	}
	for _, name := range []string{"allOf", "anyOf", "oneOf", "dependentSchemas", "dependencies"} {
		for sub := range inside(s[name]) {
			if !r.visit(sub, value, depth) {
				return false
			}
		}
	}
	return r.each(s, value, depth, "not", "if", "then", "else")
}

// below follows the keywords that apply schemas to members and elements.
func (r *dryRun) below(s map[string]any, value any) bool {
	switch value := value.(type) {
	case map[string]any:
		properties, _ := s["properties"].(map[string]any)
		for name, v := range value {
			if sub, ok := properties[name]; ok {
				if !r.visit(sub, v, 0) || !r.each(s, v, 0, "unevaluatedProperties") {
					return false
				}
			} else if !r.each(s, v, 0, "additionalProperties", "unevaluatedProperties") {
				return false
			}
			if !r.patterns(s, name, v) || !r.each(s, name, 0, "propertyNames") {
				return false
			}
		}
	case []any:
		prefix, _ := s["prefixItems"].([]any)
		tuple, _ := s["items"].([]any)
		for i, v := range value {
			if i < len(prefix) && !r.visit(prefix[i], v, 0) || i < len(tuple) && !r.visit(tuple[i], v, 0) {
				return false
			}
			if !r.each(s, v, 0, "items", "additionalItems", "contains", "unevaluatedItems") {
				return false
			}
		}
	}
	return true
}

func (r *dryRun) patterns(s map[string]any, name string, v any) bool {
	patterns, _ := s["patternProperties"].(map[string]any)
	for pattern, sub := range patterns {
		if !r.match(pattern, name) || !r.visit(sub, v, 0) {
			return false
		}
	}
	return true
}

// match charges for a regular expression on a text.
func (r *dryRun) match(pattern any, text string) bool {
	name, _ := pattern.(string)
	r.left -= r.steps[name] * len(text) / matchUnit
	return r.left > 0
}

// each visits the schemas that s has under some keywords.
func (r *dryRun) each(s map[string]any, v any, depth int, names ...string) bool {
	for _, name := range names {
		if sub := s[name]; sub != nil && !r.visit(sub, v, depth) {
			return false
		}
	}
	return true
}

// target resolves a reference inside the schema; nil when it leads nowhere.
func (c *cost) target(ref string) any {
	pointer, err := url.PathUnescape(strings.TrimPrefix(ref, "#"))
	if err != nil {
		return nil
	}
	if pointer == "" {
		return c.root
	}
	if pointer[0] != '/' {
		return c.anchors[pointer]
	}
	return c.walk(pointer)
}

// walk follows a JSON pointer, which begins with a slash.
func (c *cost) walk(pointer string) any {
	at := c.root
	for token := range strings.SplitSeq(pointer[1:], "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch v := at.(type) {
		case map[string]any:
			at = v[token]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			at = v[i]
		default:
			return nil
		}
	}
	return at
}

// weight is how large a value is when printed, roughly.
func weight(value any) int {
	n := 8
	switch v := value.(type) {
	case string:
		n += len(v)
	case []any:
		for _, e := range v {
			n += weight(e)
		}
	case map[string]any:
		for name, e := range v {
			n += len(name) + weight(e)
		}
	}
	return n
}
