package schema

import "slices"

// nullVisits is how many schemas are looked at to find out whether null fits;
// a schema that takes more is left to the validator.
const nullVisits = 1000

// MayOmitNull reports whether a null for this property says no more than
// leaving it out: it is optional, and null does not fit it.
func (s *Schema) MayOmitNull(property string) bool {
	root, _ := s.cost.root.(map[string]any)
	properties, _ := root["properties"].(map[string]any)
	sub, known := properties[property]
	required, _ := root["required"].([]any)
	if !known || slices.Contains(required, any(property)) {
		return false
	}
	left := nullVisits
	return !s.cost.admitsNull(sub, &left)
}

// admitsNull reports whether null may fit a schema. In doubt it does.
func (c *cost) admitsNull(schema any, left *int) bool {
	if *left--; *left <= 0 {
		return true
	}
	if takes, ok := schema.(bool); ok {
		return takes
	}
	s, ok := schema.(map[string]any)
	if !ok {
		return true
	}
	if ref, ok := s["$ref"].(string); ok && !c.admitsNull(c.target(ref), left) {
		return false
	}
	if !typeAdmitsNull(s["type"]) {
		return false
	}
	if enum, ok := s["enum"].([]any); ok && !slices.Contains(enum, nil) {
		return false
	}
	if value, ok := s["const"]; ok && value != nil {
		return false
	}
	admits := func(sub any) bool { return c.admitsNull(sub, left) }
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if list, ok := s[keyword].([]any); ok && !slices.ContainsFunc(list, admits) {
			return false
		}
	}
	all, _ := s["allOf"].([]any)
	return !slices.ContainsFunc(all, func(sub any) bool { return !admits(sub) })
}

func typeAdmitsNull(kind any) bool {
	switch kind := kind.(type) {
	case string:
		return kind == "null"
	case []any:
		return slices.Contains(kind, any("null"))
	}
	return true
}
