package catalog

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestFrontMatter(t *testing.T) {
	const base = "name: a\ndescription: Does a.\n"
	tests := []struct{ head, want string }{
		{base, `{"name":"a","description":"Does a."}`},
		{base + "license: MIT # of course\n", ""},
		{base + "license: 'it''s'\n\n# a remark\nversion: 1.5\nuser-invocable: true\n", `{"name":"a","description":"Does a.","license":"it's","version":1.5,"user-invocable":true}`},
		{base + "quoted: \"a \\\"b\\\": c\"\n", `{"name":"a","description":"Does a.","quoted":"a \"b\": c"}`},
		{base + "tags:\n- one\n- two\n", `{"name":"a","description":"Does a.","tags":["one","two"]}`},
		{base + "metadata:\n  author: me\n  rank: 3\n", `{"name":"a","description":"Does a.","metadata":{"author":"me","rank":3}}`},
		{"name: a\ndescription: >-\n  Does a\n  and b.\n", `{"name":"a","description":"Does a and b."}`},
		{"name: a\ndescription: |\n  Does a\n  and b.\n", `{"name":"a","description":"Does a\nand b.\n"}`},
		{"name: a\ndescription: >\n  Does a\n\n  and b.\n", ""},
		{base + "deep:\n  a:\n    b: c\n", ""},
		{base + "flow: [a, b]\n", ""},
		{base + "odd: a: b\n", ""},
		{base + "&anchor: b\n", ""},
		{base + "bomb: &a boom\nagain: *a\n", ""},
		{base + "tags: &a\n- one\nmore: *a\n", ""},
		{base + "odd: !!binary aGk=\n", ""},
		{base + "name: b\n", ""},
		{base + "long: " + strings.Repeat("x", frontMatterMax) + "\n", ""},
		{"name: a\n", ""},
		{"description: b\n", ""},
		{"name: 5\ndescription: b\n", ""},
	}
	for _, tt := range tests {
		for _, text := range []string{"---\n" + tt.head + "---\nbody", "\ufeff---\r\n" + strings.ReplaceAll(tt.head, "\n", "\r\n") + "---\r\n"} {
			got, name, ok := readFrontMatter(text)
			if ok != (tt.want != "") || ok && (string(got) != tt.want || name != "a") {
				t.Errorf("%q: %s, %q, %v", text, got, name, ok)
			}
		}
	}
	for _, text := range []string{"", "---\n", "---\nname: a\n", "name: a\ndescription: b\n---\n"} {
		if _, _, ok := readFrontMatter(text); ok {
			t.Errorf("%q has a head", text)
		}
	}
}

// FuzzFrontMatter: whatever an agent writes, what we make of it is JSON.
func FuzzFrontMatter(f *testing.F) {
	f.Add("---\nname: a\ndescription: >-\n  b\ntags:\n- c\nm:\n  d: 'e'\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		if got, _, ok := readFrontMatter(text); ok && !json.Valid(got) {
			t.Errorf("%q: %s", text, got)
		}
	})
}
