package replies

import (
	"testing"

	"github.com/beeos/beeos"
)

// TestFilePartsAreLinks: MCP has a word of its own for a file that a client
// may fetch.
func TestFilePartsAreLinks(t *testing.T) {
	for part, want := range map[string]string{
		`{"type":"file","url":"https://x/files/file_1?sig=a&b","mime_type":"text/plain","name":"a \"b\".txt","size":3,"file_id":"file_1"}`: `{"type":"resource_link","uri":"https://x/files/file_1?sig=a&b","name":"a \"b\".txt","mimeType":"text/plain","size":3,"_meta":{"file_id":"file_1"}}`,
		`{"type":"file","url":"https://x/"}`:                     `{"type":"resource_link","uri":"https://x/","name":"file"}`,
		`{"type":"file","url":"https://x/","size":"3","name":7}`: `{"type":"resource_link","uri":"https://x/","name":"file"}`,
		`{"type":"file","name":"no address"}`:                    ``,
	} {
		got, err := ToolResult(&beeos.Message{Type: beeos.AgentReply, Parts: []byte(`[` + part + `]`)})
		if whole := `{"content":[` + want + `]}`; string(got) != whole || err != nil {
			t.Errorf("%s\n got %s, %v\nwant %s", part, got, err, whole)
		}
	}
}
