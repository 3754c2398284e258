package wire

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

func TestParse(t *testing.T) {
	tests := []struct {
		body   string
		id     string
		method string
		params string
		code   beeos.Code
	}{
		{body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`, id: "1", method: "ping"},
		{body: `{"jsonrpc":"2.0","id":"x","method":"ping","params":{}}`, id: `"x"`, method: "ping", params: "{}"},
		{body: `{"jsonrpc":"2.0","id":-0.0e400,"method":"p","params":null}`, id: "-0.0e400", method: "p"},
		{body: `{"jsonrpc":"2.0","method":"notifications\/initialized"}`, method: "notifications/initialized"},
		{body: ` { "params" : { "a" : [1] } , "method" : "m" , "id" : "" , "jsonrpc" : "2.0" } `, id: `""`, method: "m", params: `{ "a" : [1] }`},
		{body: `{"jsonrpc":"2.0","id":7,"result":null}`, id: "7"},
		{body: `{"jsonrpc":"2.0","id":7,"error":{}}`, id: "7"},
		{body: `{"jsonrpc":"2.0","id":7,"error":{},"result":1}`, id: "7", code: beeos.InvalidBody},
		{body: `{"jsonrpc":"2.0","id":7,"error":1}`, id: "7", code: beeos.InvalidBody},
		{body: `{"jsonrpc":"2.0","result":{}}`, code: beeos.InvalidBody},
		{body: `{"jsonrpc":"2.0","id":true,"method":"m"}`, code: beeos.InvalidBody},
		{body: `{"jsonrpc":"2.0","id":[],"method":"m"}`, code: beeos.InvalidBody},
		{body: `{"jsonrpc":"2.0","id":1,"method":5}`, id: "1", code: beeos.InvalidBody},
		{body: `{"jsonrpc":"2.0","id":1,"method":""}`, id: "1", code: beeos.InvalidBody},
		{body: `{"jsonrpc":2.0,"id":1,"method":"m"}`, id: "1", code: beeos.InvalidBody},
		{body: `{"id":1,"method":"m"}`, id: "1", code: beeos.InvalidBody},
		{body: `{"jsonrpc":"2.0","id":1,"ｍethod":"m"}`, id: "1", code: beeos.InvalidBody},
		{body: `{"jsonrpc":"2.0","id":1,"method":"m","params":"x"}`, id: "1", method: "m", params: `"x"`, code: beeos.InvalidParam},
		{body: `5`, code: beeos.InvalidBody},
	}
	for _, tt := range tests {
		m, err := ParseMessage([]byte(tt.body))
		code := beeos.Code("")
		if err != nil {
			code = beeos.CodeOf(err)
		}
		if string(m.ID) != tt.id || m.Method != tt.method || string(m.Params) != tt.params || code != tt.code {
			t.Errorf("%s: id %s, method %s, params %s, code %q", tt.body, m.ID, m.Method, m.Params, code)
		}
	}
}

// FuzzParse compares the scanner with encoding/json on what the strict reader
// lets through: the same members, or a refusal.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":[1,{"y":"z"}]}}}`,
		`{"jsonrpc":"2.0","id":"\u0061\"","method":"a\\b"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`, `[]`, `{}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if strictjson.Check(body) != nil {
			return
		}
		m, err := ParseMessage(body)
		if err != nil {
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(body, &want); err != nil {
			t.Fatalf("accepted %q: %v", body, err)
		}
		if !bytes.Equal(bytes.TrimSpace(want["id"]), m.ID) {
			t.Errorf("id of %q: %q, want %q", body, m.ID, want["id"])
		}
		var method string
		if raw, ok := want["method"]; ok && (json.Unmarshal(raw, &method) != nil || method != m.Method) {
			t.Errorf("method of %q: %q", body, m.Method)
		}
		if params := bytes.TrimSpace(want["params"]); m.Params != nil && !bytes.Equal(params, m.Params) {
			t.Errorf("params of %q: %q", body, m.Params)
		}
	})
}
