package agents

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/beeos/beeos"
)

// encodeDefinition writes a definition as JSON in which every raw part stands
// byte for byte as the agent sent it; json.Marshal would compact and escape
// it. Each raw part is a mark while the rest is marshalled, then put back.
func encodeDefinition(d beeos.Definition) (string, error) {
	mark, _ := json.Marshal(rand.Text())
	d = copyDefinition(d)
	var raws [][]byte
	eachRaw(reflect.ValueOf(&d).Elem(), func(raw *json.RawMessage) {
		if len(*raw) > 0 { // else it is omitted
			raws = append(raws, *raw)
			*raw = mark
		}
	})
	text, err := json.Marshal(d)
	if err != nil {
		return "", fmt.Errorf("encode definition: %w", err)
	}
	pieces := bytes.Split(text, mark)
	if len(pieces) != len(raws)+1 {
		return "", fmt.Errorf("encode definition: %d raw parts, %d marks", len(raws), len(pieces)-1)
	}
	out := pieces[0:1:1]
	for i, raw := range raws {
		out = append(out, raw, pieces[i+1])
	}
	return string(bytes.Join(out, nil)), nil
}

// copyDefinition copies as deep as eachRaw writes.
func copyDefinition(d beeos.Definition) beeos.Definition {
	d.Skills = slices.Clone(d.Skills)
	d.Resources = slices.Clone(d.Resources)
	d.Prompts = slices.Clone(d.Prompts)
	return d
}

// eachRaw visits the raw JSON of a definition in the order in which
// json.Marshal writes it.
func eachRaw(v reflect.Value, visit func(*json.RawMessage)) {
	if raw, ok := v.Addr().Interface().(*json.RawMessage); ok {
		visit(raw)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			eachRaw(v.Field(i), visit)
		}
	case reflect.Slice:
		if k := v.Type().Elem().Kind(); k == reflect.Struct {
			for i := range v.Len() {
				eachRaw(v.Index(i), visit)
			}
		}
	}
}
