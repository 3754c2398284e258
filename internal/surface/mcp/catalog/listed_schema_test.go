package catalog

import "testing"

func TestListedSchema(t *testing.T) {
	for raw, want := range map[string]string{
		``:                                       `{"type":"object","properties":{}}`,
		`{}`:                                     `{"type":"object","properties":{}}`,
		"{ \n}":                                  "{ \n" + `"type":"object","properties":{}}`,
		`{"type":"object"}`:                      `{"type":"object","properties":{}}`,
		"{\"type\":\"object\"}\n":                `{"type":"object","properties":{}}`,
		`{"properties":{"a":{}}}`:                `{"properties":{"a":{}},"type":"object"}`,
		`{ "type": "object", "properties": {} }`: `{ "type": "object", "properties": {} }`,
		`true`:                                   `true`,
		`{"type":`:                               `{"type":`,
	} {
		if got := string(listedSchema([]byte(raw))); got != want {
			t.Errorf("%q:\n got %q\nwant %q", raw, got, want)
		}
	}
}
