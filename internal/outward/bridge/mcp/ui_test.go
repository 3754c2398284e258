package mcp

import (
	"strings"
	"testing"
)

// TestPagesAreDeclaredToServers: a server learns that its pages can be shown, and
// a caller that shows pages needs no session of its own for that.
func TestPagesAreDeclaredToServers(t *testing.T) {
	declared := clientCapabilities([]string{"elicitation", "ui"})
	if got := string(declared["extensions"]); !strings.Contains(got, `"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}`) || declared["ui"] != nil {
		t.Errorf("%v", declared)
	}
	if got := clientCapabilities(nil); len(got) != 0 {
		t.Errorf("%v", got)
	}
}
