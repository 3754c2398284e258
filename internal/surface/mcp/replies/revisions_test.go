package replies

import (
	"encoding/json"
	"testing"

	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// blocks has a content block of every type.
var blocks = map[string]string{
	"text":          `{"type":"text","text":"hi"}`,
	"image":         `{"type":"image","data":"AAAA","mimeType":"image/png"}`,
	"audio":         `{"type":"audio","data":"AAAA","mimeType":"audio/wav","annotations":{"priority":1}}`,
	"resource":      `{"type":"resource","resource":{"uri":"note://a","text":"a"}}`,
	"resource_link": `{"type":"resource_link","uri":"note://a","name":"A \"note\"","mimeType":"text/plain","description":"About a."}`,
}

// TestContentOfEveryRevision: no client meets a type of content that is newer
// than the revision it speaks, and none meets less than it could.
func TestContentOfEveryRevision(t *testing.T) {
	since := map[string]wire.Version{"text": wire.V20241105, "image": wire.V20241105, "resource": wire.V20241105, "audio": wire.V20250326, "resource_link": wire.V20250618}
	older := map[string]string{
		"audio":         `{"type":"resource","resource":{"uri":"beeos://content/audio/1","mimeType":"audio/wav","blob":"AAAA"},"annotations":{"priority":1}}`,
		"resource_link": `{"type":"text","text":"Resource \"A \\\"note\\\"\" (text/plain): note://a\nAbout a."}`,
	}
	const first = `{"type":"text","text":"first"}`
	for kind := range shapes {
		if blocks[kind] == "" {
			t.Errorf("%s is not in the matrix", kind)
		}
	}
	for v := wire.Unversioned; int(v) < len(wire.VersionNames); v++ {
		for kind, block := range blocks {
			want := block
			if v != wire.Unversioned && v < since[kind] {
				want = older[kind]
			}
			result := RenderFor(v, "tools/call", []byte(`{"content":[`+first+`,`+block+`],"isError":true}`))
			if got := `{"content":[` + first + `,` + want + `],"isError":true}`; string(result) != got {
				t.Errorf("%s of %v:\n got %s\nwant %s", kind, v, result, got)
			}
			prompt := RenderFor(v, "prompts/get", []byte(`{"messages":[{"role":"user","content":`+first+`},{"role":"user","content":`+block+`}]}`))
			if got := `{"messages":[{"role":"user","content":` + first + `},{"role":"user","content":` + want + `}]}`; string(prompt) != got {
				t.Errorf("%s of %v in a prompt:\n got %s\nwant %s", kind, v, prompt, got)
			}
			for shown := range strictjson.Elements(strictjson.Field(result, "content")) {
				if kind, _ := strictjson.StringField(shown, "type"); !json.Valid(shown) || !wellFormed(kind, shown) {
					t.Errorf("%s", shown)
				}
			}
			if other := []byte(`{"contents":[` + block + `]}`); string(RenderFor(v, "resources/read", other)) != string(other) {
				t.Errorf("%s of %v in a method without content blocks", kind, v)
			}
		}
	}
}
