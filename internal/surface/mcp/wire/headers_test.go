package wire

import (
	"encoding/base64"
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
		if got, ok := DecodeHeader(tt.values); ok != tt.ok || ok && got != tt.want {
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
		if got, ok := DecodeHeader([]string{v}); ok && !utf8.ValidString(got) {
			t.Errorf("%q became %q", v, got)
		}
		if !utf8.ValidString(v) {
			return
		}
		got, ok := DecodeHeader([]string{"=?base64?" + base64.StdEncoding.EncodeToString([]byte(v)) + "?="})
		if !ok || got != v {
			t.Errorf("%q came back as %q, %v", v, got, ok)
		}
	})
}
