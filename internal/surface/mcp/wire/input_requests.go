package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
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
	var list [][]byte
	for i := range asks {
		list = append(list, fmt.Appendf(nil, `%s:{%s}`, EncodeText(asks[i].Key), QuestionMembers(&asks[i])))
	}
	return fmt.Appendf(nil, `{%s}`, bytes.Join(list, []byte{','}))
}

// QuestionMembers writes what a question asks of a client.
func QuestionMembers(ev *beeos.Event) []byte {
	b := AppendText([]byte(`"method":`), ev.Method)
	if len(ev.Data) > 0 {
		b = append(append(b, `,"params":`...), ev.Data...)
	}
	return b
}

// InputRequired is the result that sends a client away with questions, if there
// are any, and a state to bring back.
func InputRequired(requests []byte, state string) []byte {
	b := []byte(`{"resultType":"input_required"`)
	if len(requests) > 0 {
		b = append(append(b, `,"inputRequests":`...), requests...)
	}
	return append(AppendMember(b, "requestState", state), '}')
}
