package wire

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// ReadInput reads inputResponses: results by key, each of them an object.
func ReadInput(raw []byte) (map[string]json.RawMessage, error) {
	if Kind(raw) != '{' {
		return nil, beeos.Errorf(beeos.InvalidParam, "inputResponses must be an object of results by key")
	}
	input := map[string]json.RawMessage{}
	for key, value := range strictjson.Fields(raw) {
		if Kind(value) != '{' {
			return nil, beeos.Errorf(beeos.InvalidParam, "inputResponses: the result of %.100q must be an object", key)
		}
		input[strings.Clone(key)] = bytes.Clone(value)
	}
	return input, nil
}

// InputRequests writes questions by their keys.
func InputRequests(asks []beeos.Event) []byte {
	b := []byte{'{'}
	for i, ev := range asks {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendText(append(AppendText(b, ev.Key), `:{"method":`...), ev.Method)
		if len(ev.Data) > 0 {
			b = append(append(b, `,"params":`...), ev.Data...)
		}
		b = append(b, '}')
	}
	return append(b, '}')
}
