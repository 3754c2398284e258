package schema

import (
	"bytes"
	"encoding/json"
	"net/url"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/beeos/beeos"
)

// Mask stands for a value that nobody gets to see.
const Mask = "•••"

var maskJSON = []byte(`"` + Mask + `"`)

// maxLooks bounds the work on one document. What was not looked at counts as
// secret.
const maxLooks = 100_000

// Secrets are the places of a tool's arguments that its schemas name secret:
// those with "writeOnly": true, "format": "password" or "x-secret": true, however
// deep, behind a local $ref or in a branch of allOf, anyOf and oneOf. A tool may
// have had several schemas; what one of them names is secret. A $ref that cannot be
// followed may lead to anything, so what it describes is secret, too.
//
// The zero value knows no schema at all: then every value is secret.
type Secrets struct{ roots []root }

// allSecret is a schema by which every value is, while names are shown.
var allSecret = []root{{doc: map[string]any{
	"additionalProperties": map[string]any{"x-secret": true}, "items": map[string]any{"x-secret": true},
}}}

// root is a schema, decoded, with what its references lead to.
type root struct {
	doc     any
	anchors map[string]any
}

// ReadSecrets reads schemas. One that is empty names nothing; one that cannot be
// read may name anything, so everything is secret.
func ReadSecrets(schemas ...json.RawMessage) Secrets {
	var s Secrets
	for _, raw := range schemas {
		r := root{anchors: map[string]any{}}
		if len(raw) > 0 && json.Unmarshal(raw, &r.doc) != nil {
			return Secrets{}
		}
		r.findAnchors(r.doc)
		s.roots = append(s.roots, r)
	}
	return s
}

// NamesSecrets reports whether a schema names anything secret.
func NamesSecrets(raw json.RawMessage) bool {
	var doc any
	if len(raw) == 0 || json.Unmarshal(raw, &doc) != nil {
		return len(raw) > 0
	}
	return namesSecrets(doc)
}

// namesSecrets looks everywhere: a property may have the name of a keyword, which
// makes no difference to who asks.
func namesSecrets(v any) bool {
	if m, ok := v.(map[string]any); ok {
		if isSecret(m) {
			return true
		}
		if ref, ok := m["$ref"].(string); ok && !strings.HasPrefix(ref, "#") {
			return true
		}
	}
	for sub := range inside(v) {
		if namesSecrets(sub) {
			return true
		}
	}
	return false
}

func isSecret(m map[string]any) bool {
	return m["writeOnly"] == true || m["format"] == "password" || m["x-secret"] == true
}

func (r *root) findAnchors(v any) {
	if m, ok := v.(map[string]any); ok {
		for _, name := range []string{"$anchor", "$dynamicAnchor"} {
			if anchor, ok := m[name].(string); ok {
				r.anchors[anchor] = m
			}
		}
	}
	for sub := range inside(v) {
		r.findAnchors(sub)
	}
}

// target is what a reference leads to; nil = nowhere.
func (r *root) target(ref string) any {
	pointer, err := url.PathUnescape(strings.TrimPrefix(ref, "#"))
	switch {
	case err != nil || !strings.HasPrefix(ref, "#"):
		return nil
	case pointer == "":
		return r.doc
	case pointer[0] != '/':
		return r.anchors[pointer]
	}
	return (&cost{root: r.doc}).walk(pointer)
}

// Mask returns the document with the mask in every secret place, and all else
// byte for byte. A null stays: it keeps nothing back. What is no JSON is masked
// whole.
func (s Secrets) Mask(doc json.RawMessage) json.RawMessage {
	if len(doc) == 0 {
		return doc
	}
	spots, ok := s.find(doc)
	if !ok {
		return maskJSON
	}
	if len(spots) == 0 {
		return doc
	}
	var b bytes.Buffer
	at := 0
	for _, p := range spots {
		b.Write(doc[at:p.from])
		b.Write(maskJSON)
		at = p.to
	}
	b.Write(doc[at:])
	return b.Bytes()
}

// HasMask reports whether a document has the mask itself in a secret place, as
// one has that was shown to somebody and came back.
func (s Secrets) HasMask(doc json.RawMessage) bool {
	spots, _ := s.find(doc)
	for _, p := range spots {
		if isMask(doc[p.from:p.to]) {
			return true
		}
	}
	return false
}

func isMask(raw []byte) bool {
	var text string
	return json.Unmarshal(raw, &text) == nil && text == Mask
}

// spot is where a secret value stands in a document.
type spot struct{ from, to int }

// finder looks through one document.
type finder struct {
	dec      *json.Decoder
	spots    []spot
	looks    int
	patterns map[string]*regexp.Regexp // nil = it is none
}

// find returns the places of secret values in order; ok is false when the document
// cannot be read.
func (s Secrets) find(doc []byte) (spots []spot, ok bool) {
	f := &finder{dec: json.NewDecoder(bytes.NewReader(doc)), patterns: map[string]*regexp.Regexp{}}
	f.dec.UseNumber()
	roots := s.roots
	if len(roots) == 0 {
		roots = allSecret
	}
	var at []applied
	for i := range roots {
		at = append(at, applied{&roots[i], roots[i].doc})
	}
	ok = f.walk(f.expand(at))
	return f.spots, ok
}

// applied is a schema that applies to a value, and where its references lead.
type applied struct {
	root   *root
	schema any
}

// branches are the keywords whose schemas apply to the same value.
var branches = []string{"allOf", "anyOf", "oneOf", "dependentSchemas", "dependencies"}

// expand adds the schemas that others lead to: by reference, and in branches. secret
// says that one of them names the value so, or that there is no telling.
func (f *finder) expand(list []applied) (all []applied, secret bool) {
	if f.looks > maxLooks {
		return nil, true
	}
	seen := map[uintptr]bool{}
	for len(list) > 0 {
		a := list[len(list)-1]
		list = list[:len(list)-1]
		m, ok := a.schema.(map[string]any)
		if !ok || seen[reflect.ValueOf(m).Pointer()] {
			continue // true, false, and what was here already
		}
		seen[reflect.ValueOf(m).Pointer()] = true
		if f.looks++; f.looks > maxLooks || isSecret(m) {
			return nil, true
		}
		for _, keyword := range []string{"$ref", "$dynamicRef"} {
			if ref, ok := m[keyword].(string); ok {
				target := a.root.target(ref)
				if target == nil {
					return nil, true
				}
				list = append(list, applied{a.root, target})
			}
		}
		for _, keyword := range branches {
			for sub := range inside(m[keyword]) {
				list = append(list, applied{a.root, sub})
			}
		}
		for _, keyword := range []string{"if", "then", "else"} {
			list = append(list, applied{a.root, m[keyword]})
		}
		all = append(all, a)
	}
	return all, false
}

// walk reads the next value, to which some schemas apply, and notes what of it is
// secret.
func (f *finder) walk(here []applied, secret bool) bool {
	if secret {
		return f.note()
	}
	token, err := f.dec.Token()
	if err != nil {
		return false
	}
	switch token {
	case json.Delim('{'):
		for f.dec.More() {
			name, err := f.dec.Token()
			if err != nil {
				return false
			}
			text, _ := name.(string)
			if sub, hidden := f.expand(f.member(here, text)); !f.walk(sub, hidden) {
				return false
			}
		}
	case json.Delim('['):
		for i := 0; f.dec.More(); i++ {
			if sub, hidden := f.expand(f.element(here, i)); !f.walk(sub, hidden) {
				return false
			}
		}
	default:
		return true
	}
	_, err = f.dec.Token()
	return err == nil
}

// note notes the next value as secret.
func (f *finder) note() bool {
	var raw json.RawMessage
	if f.dec.Decode(&raw) != nil {
		return false
	}
	if string(raw) != "null" {
		to := int(f.dec.InputOffset())
		f.spots = append(f.spots, spot{to - len(raw), to})
	}
	return true
}

// member returns the schemas of a member of an object.
func (f *finder) member(here []applied, name string) (list []applied) {
	for _, a := range here {
		m := a.schema.(map[string]any) //nolint:forcetypeassert // expand returns nothing else
		properties, _ := m["properties"].(map[string]any)
		sub, known := properties[name]
		if known {
			list = append(list, applied{a.root, sub})
		}
		patterns, _ := m["patternProperties"].(map[string]any)
		for pattern, sub := range patterns {
			if f.looks++; f.looks > maxLooks {
				return list // expand knows
			}
			if f.matches(pattern, name) {
				list, known = append(list, applied{a.root, sub}), true
			}
		}
		if !known {
			list = append(list, applied{a.root, m["additionalProperties"]}, applied{a.root, m["unevaluatedProperties"]})
		}
	}
	return list
}

// matches says of a pattern that is none that it does: there is no telling.
func (f *finder) matches(pattern, name string) bool {
	re, known := f.patterns[pattern]
	if !known {
		re, _ = regexp.Compile(pattern)
		f.patterns[pattern] = re
	}
	return re == nil || re.MatchString(name)
}

// element returns the schemas of an element of a list.
func (f *finder) element(here []applied, i int) (list []applied) {
	for _, a := range here {
		m := a.schema.(map[string]any) //nolint:forcetypeassert // expand returns nothing else
		for _, keyword := range []string{"prefixItems", "items"} {
			if tuple, ok := m[keyword].([]any); ok && i < len(tuple) {
				list = append(list, applied{a.root, tuple[i]})
			}
		}
		for _, keyword := range []string{"items", "additionalItems", "unevaluatedItems", "contains"} {
			list = append(list, applied{a.root, m[keyword]})
		}
	}
	return list
}

// Restore puts the true values back into a document that was shown masked and then
// edited: where the mask still stands in a secret place, what is stored takes its
// place. A mask anywhere else is text. In a list that became longer or shorter an
// item keeps its secrets only if nothing else of it was changed: there is no telling
// whose they would be; unclear says where that is so.
func (s Secrets) Restore(edited, stored json.RawMessage) (doc json.RawMessage, unclear string, err error) {
	masked := s.Mask(stored)
	if bytes.Equal(masked, stored) {
		return edited, "", nil
	}
	var now, shown, truth any
	for to, raw := range map[*any]json.RawMessage{&now: edited, &shown: masked, &truth: stored} {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if err := d.Decode(to); err != nil {
			return nil, "", err
		}
	}
	r := &restorer{}
	now = r.restore(now, shown, truth, "")
	if r.unclear != "" || !r.done {
		return edited, r.unclear, nil
	}
	doc, err = beeos.EncodeJSON(now)
	return doc, "", err
}

// restorer puts secrets back.
type restorer struct {
	done    bool
	unclear string
}

func (r *restorer) restore(now, shown, truth any, path string) any {
	if shown == Mask && now == Mask {
		r.done = true
		return truth
	}
	switch now := now.(type) {
	case map[string]any:
		was, _ := shown.(map[string]any)
		is, _ := truth.(map[string]any)
		for name, v := range now {
			if _, there := was[name]; there {
				now[name] = r.restore(v, was[name], is[name], path+"/"+name)
			}
		}
	case []any:
		was, _ := shown.([]any)
		is, _ := truth.([]any)
		for i, v := range now {
			at := findItem(v, was, i, len(now) == len(was))
			switch {
			case at >= 0 && at < len(is):
				now[i] = r.restore(v, was[at], is[at], path+"/"+strconv.Itoa(i))
			case holdsMask(v) && holdsMask(was):
				r.unclear = path + "/" + strconv.Itoa(i)
			}
		}
	}
	return now
}

// findItem finds the item of a list that another was made of: the one that is
// still the same, else the one in its place where the list is as long as before.
func findItem(item any, was []any, i int, sameLength bool) int {
	if sameLength && reflect.DeepEqual(item, was[i]) {
		return i
	}
	found := -1
	for at := range was {
		if reflect.DeepEqual(item, was[at]) {
			if found >= 0 {
				found = -1 // which of them, nobody knows
				break
			}
			found = at
		}
	}
	if found < 0 && sameLength {
		return i
	}
	return found
}

func holdsMask(v any) bool {
	if v == Mask {
		return true
	}
	for sub := range inside(v) {
		if holdsMask(sub) {
			return true
		}
	}
	return false
}
