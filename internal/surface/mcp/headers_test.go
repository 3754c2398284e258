package mcp

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestHeaderValue(t *testing.T) {
	tests := []struct {
		values []string
		want   string
		ok     bool
	}{
		{values: []string{"plain"}, want: "plain", ok: true},
		{values: []string{"with space"}, want: "with space", ok: true},
		{values: []string{"=?base64?SGVsbG8=?="}, want: "Hello", ok: true},
		{values: []string{"=?base64??="}, want: "", ok: true},
		{values: []string{"=?base64?SGVsbG8=", "x"}},
		{values: []string{"=?base64?SGVsbG8="}, want: "=?base64?SGVsbG8=", ok: true},
		{values: []string{"SGVsbG8=?="}, want: "SGVsbG8=?=", ok: true},
		{values: []string{"=?BASE64?SGVsbG8=?="}, want: "=?BASE64?SGVsbG8=?=", ok: true},
		{values: []string{"=?base64?SGVsbG8?="}},
		{values: []string{"=?base64?SGVs!!bG8=?="}},
		{values: []string{"=?base64?/w==?="}}, // not UTF-8
		{values: []string{"Zürich"}},
		{values: []string{"a\x00b"}},
		{values: nil},
	}
	for _, tt := range tests {
		if got, ok := decodeHeader(tt.values); ok != tt.ok || ok && got != tt.want {
			t.Errorf("%q: %q, %v", tt.values, got, ok)
		}
	}
}

// FuzzHeaderValue: what decodes is UTF-8, and every value has an encoding that
// decodes to it.
func FuzzHeaderValue(f *testing.F) {
	for _, seed := range []string{"plain", "=?base64?SGVsbG8=?=", "=?base64?", "?=", "ü", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, v string) {
		if got, ok := decodeHeader([]string{v}); ok && !utf8.ValidString(got) {
			t.Errorf("%q became %q", v, got)
		}
		if !utf8.ValidString(v) {
			return
		}
		got, ok := decodeHeader([]string{"=?base64?" + base64.StdEncoding.EncodeToString([]byte(v)) + "?="})
		if !ok || got != v {
			t.Errorf("%q came back as %q, %v", v, got, ok)
		}
	})
}

func TestBindings(t *testing.T) {
	schema := `{"properties":{
		"a":{"type":"string","x-mcp-header":"Region"},
		"b":{"type":"number","x-mcp-header":"Number"},
		"c":{"type":"string","x-mcp-header":"two words"},
		"d":{"type":"array","items":{"properties":{"e":{"type":"string","x-mcp-header":"Item"}}}},
		"f":{"type":"object","properties":{"g":{"type":"integer","x-mcp-header":"deep"}}}}}`
	got, _ := json.Marshal(func() (list []string) {
		for _, b := range bindings([]byte(schema), nil) {
			list = append(list, b.header+" "+strings.Join(b.path, "."))
		}
		return list
	}())
	if want := `["Mcp-Param-Region a","Mcp-Param-Deep f.g"]`; string(got) != want {
		t.Errorf("bindings %s", got)
	}
}

// TestVersionSkew: a hosted client sends an older version header with a modern
// body. By default that works; a strict server refuses it.
func TestVersionSkew(t *testing.T) {
	s := newStack(t)
	for _, tt := range []struct {
		strict  bool
		headers http.Header
		status  int
	}{
		{false, http.Header{headerVersion: {"2025-11-25"}}, http.StatusOK},
		{true, http.Header{headerVersion: {"2025-11-25"}}, http.StatusBadRequest},
		{false, http.Header{headerVersion: {"2025-11-25"}, headerMethod: {"tools/call"}}, http.StatusBadRequest},
		{false, http.Header{headerVersion: {"1999-01-01"}}, http.StatusBadRequest},
		{false, http.Header{headerVersion: {"2026-07-28", "2026-07-28"}, headerMethod: {"tools/list"}}, http.StatusBadRequest},
		{false, http.Header{headerVersion: {"2026-07-28"}, headerMethod: {"tools/list", "tools/list"}}, http.StatusBadRequest},
		{false, http.Header{headerVersion: {"2026-07-28"}, headerMethod: {"tools/list"}}, http.StatusOK},
	} {
		s.gateway.opt.Strict = tt.strict
		r := httptest.NewRequest(http.MethodPost, "/"+s.agents["clerk"]+"/mcp", strings.NewReader(s.fill(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{${meta}}}`, "")))
		r.Header = tt.headers
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+s.keys["user"])
		w := httptest.NewRecorder()
		s.gateway.ServeHTTP(w, r)
		if w.Code != tt.status {
			t.Errorf("strict %v, %v: %d %s", tt.strict, tt.headers, w.Code, w.Body)
		}
		if code := `"code":-32020`; tt.status != http.StatusOK && !strings.Contains(w.Body.String(), code) {
			t.Errorf("%v: %s", tt.headers, w.Body)
		}
	}
}
