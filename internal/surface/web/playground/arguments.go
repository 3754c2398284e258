package playground

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// readArguments returns the arguments that a form asks a tool to be called with:
// as JSON, or field by field. What is filled in stays in the fields.
func readArguments(list []field, form url.Values) (json.RawMessage, error) {
	if form.Has("arguments") {
		return readJSON(form.Get("arguments"))
	}
	args, _, err := readObject(list, form)
	return args, err
}

func readJSON(text string) (json.RawMessage, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return json.RawMessage(`{}`), nil
	}
	if err := strictjson.Check([]byte(text)); err != nil {
		return nil, beeos.Errorf(beeos.InvalidParam, "the arguments cannot be read: %s", beeos.Public(err).Message)
	}
	if text[0] != '{' {
		return nil, beeos.Errorf(beeos.InvalidParam, "the arguments must be a JSON object, such as {}")
	}
	return json.RawMessage(text), nil
}

// readObject reads the fields of an object; empty = nothing is filled in.
func readObject(list []field, form url.Values) (raw json.RawMessage, empty bool, err error) {
	b, empty := bytes.NewBufferString("{"), true
	for i := range list {
		f := &list[i]
		value, err := f.read(form)
		if err != nil {
			return nil, false, err
		}
		if value == nil {
			continue
		}
		if !empty {
			b.WriteByte(',')
		}
		empty = false
		key, err := beeos.EncodeJSON(f.Key)
		if err != nil {
			return nil, false, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), empty, nil
}

// read returns the value of a field; nil = it was left empty.
func (f *field) read(form url.Values) (json.RawMessage, error) {
	if f.Kind == kindGroup {
		raw, empty, err := readObject(f.Fields, form)
		if empty && !f.Required {
			return nil, err
		}
		return raw, err
	}
	text := strings.ReplaceAll(form.Get(f.Name), "\r\n", "\n")
	if f.Kind != kindSecret {
		f.Value = text
	}
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	switch f.Kind {
	case kindSwitch, kindChoice:
		return f.readChoice(text)
	case kindLines:
		return f.readLines(text)
	case kindSecret:
		if slices.Contains(simpleTypes, f.Type) {
			return f.readValue(text)
		}
		fallthrough
	case kindJSON:
		if err := strictjson.Check([]byte(text)); err != nil {
			return nil, beeos.Errorf(beeos.InvalidParam, "%s must be JSON: %s", f.Label, beeos.Public(err).Message)
		}
		return json.RawMessage(strings.TrimSpace(text)), nil
	case kindNumber:
		return f.readValue(strings.TrimSpace(text))
	}
	return f.readValue(text)
}

func (f *field) readChoice(text string) (json.RawMessage, error) {
	found := false
	for i := range f.Choices {
		f.Choices[i].Picked = f.Choices[i].Value == text
		found = found || f.Choices[i].Picked
	}
	if !found {
		return nil, beeos.Errorf(beeos.InvalidParam, "%s has no such choice now; open the page again", f.Label)
	}
	return json.RawMessage(text), nil
}

func (f *field) readLines(text string) (json.RawMessage, error) {
	var values []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		v, err := f.readValue(line)
		if err != nil {
			return nil, err
		}
		values = append(values, string(v))
	}
	return json.RawMessage("[" + strings.Join(values, ",") + "]"), nil
}

// readValue is a value of the field's type.
func (f *field) readValue(text string) (json.RawMessage, error) {
	switch f.Type {
	case "number", "integer":
		if numberText(json.RawMessage(text)) == "" || !json.Valid([]byte(text)) {
			return nil, beeos.Errorf(beeos.InvalidParam, "%s must be a number; %q is none", f.Label, beeos.Shorten(beeos.Visible(text), 40))
		}
		return json.RawMessage(text), nil
	case "boolean":
		if text != "true" && text != "false" {
			return nil, beeos.Errorf(beeos.InvalidParam, "%s takes true or false, one a line", f.Label)
		}
		return json.RawMessage(text), nil
	}
	return beeos.EncodeJSON(text)
}

// withoutSecrets takes the values of secret fields out of arguments.
func withoutSecrets(list []field, args json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(args, &members) != nil {
		return nil
	}
	found := false
	for i := range list {
		f := &list[i]
		raw, given := members[f.Key]
		switch {
		case given && f.Kind == kindSecret:
			delete(members, f.Key)
			found = true
		case given && f.Kind == kindGroup:
			if rest := withoutSecrets(f.Fields, raw); string(rest) != string(raw) {
				members[f.Key], found = rest, true
			}
		}
	}
	if !found {
		return args
	}
	rest, err := beeos.EncodeJSON(members)
	if err != nil {
		return nil
	}
	return rest
}
