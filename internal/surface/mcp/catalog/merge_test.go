package catalog

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

func TestURIsInAUnion(t *testing.T) {
	text := "x"
	a := &beeos.Agent{Slug: "bee", Definition: beeos.Definition{Resources: []beeos.Resource{{URI: "n://a", Name: "a", Text: &text}}}}
	e := &Server{Agent: a, Lists: newLists(a)}
	for raw, want := range map[string]string{
		`{"content":[{"type":"resource_link","uri":"https://example.com/"}]}`: ``,
		`{"structuredContent":{"uri":"n://a"},"_meta":{"uri":"n://a"}}`:       ``,
		`{"content":[{"type":"text","text":"\"uri\" n://a"}],"uri":5}`:        ``,
		`{"content":[]}`: ``,
		`{"content":[{"type":"resource","resource":{"uri":"n://a","text":"\u00fc"}}]}`:               `{"content":[{"type":"resource","resource":{"uri":"beeos://bee/n://a","text":"\u00fc"}}]}`,
		`{"messages":[{"role":"user","content":{"type":"resource_link","uri":"n://a","name":"a"}}]}`: `{"messages":[{"role":"user","content":{"type":"resource_link","uri":"beeos://bee/n://a","name":"a"}}]}`,
		`{"contents":[{"uri":"n://asked"},{"uri":"n://other"}]}`:                                     `{"contents":[{"uri":"beeos://bee/n://asked"},{"uri":"n://other"}]}`,
	} {
		if want == "" {
			want = raw
		}
		if got := string(e.ToUnion([]byte(raw), "n://asked")); got != want {
			t.Errorf("%s became %s", raw, got)
		}
	}
}

// FuzzURIsInAUnion: whatever an agent's result is, it stays JSON with the same
// members, and only URIs change.
func FuzzURIsInAUnion(f *testing.F) {
	text := "x"
	a := &beeos.Agent{Slug: "bee", Definition: beeos.Definition{Resources: []beeos.Resource{{URI: "n://a", Name: "a", Text: &text}}}}
	e := &Server{Agent: a, Lists: newLists(a)}
	f.Add([]byte(`{"content":[{"type":"resource","resource":{"uri":"n://a","text":""}},{"uri":["n://a"]}],"resources":{"uri":"\u006e://a"}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if strictjson.Check(raw) != nil || wire.Kind(raw) != '{' {
			return
		}
		var before, after any
		got := e.ToUnion(raw, "n://b")
		if json.Unmarshal(raw, &before) != nil {
			return // a number out of range
		}
		if err := json.Unmarshal(bytes.ReplaceAll(got, []byte("beeos://bee/"), nil), &after); err != nil {
			t.Fatalf("%s became %s: %v", raw, got, err)
		}
		if !bytes.Contains(raw, []byte("beeos:")) && !cmp.Equal(before, after) {
			t.Errorf("%s became %s", raw, got)
		}
	})
}

func TestUnionNames(t *testing.T) {
	a := &beeos.Agent{Slug: strings.Repeat("long-", 12)}
	one, two := unionName(a, "first"), unionName(a, "second")
	if len(one) != nameMax || len(two) != nameMax || one == two {
		t.Errorf("%s and %s", one, two)
	}
	if got := string(wire.ReplaceMember([]byte(`{"name":"a\"b","x":1}`), "name", wire.EncodeText("new"))); got != `{"name":"new","x":1}` {
		t.Error(got)
	}
}
