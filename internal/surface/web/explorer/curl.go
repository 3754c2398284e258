package explorer

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/sight"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/wire/schema"
)

// again is a command that makes the same call again, for a terminal.
type again struct {
	Command string
	Note    string // what has to be put into it; or why there is none
}

// commandOf returns the command for a call: a message goes over REST, a tool is called
// over MCP. Nil = no surface that programs reach has such a call.
func (e *Explorer) commandOf(r *page.Request, c *sight.Call) (*again, error) {
	switch {
	case c.MetadataOnly:
		return nil, nil
	case c.Payload.Method == "" && e.RESTURL != "":
		return writeCommand(e.RESTURL+"/api/v1/agents/"+c.AgentID+"/invoke", map[string]string{"message": c.Body})
	case c.Payload.Method != "tools/call" || e.MCPURL == "":
		return nil, nil
	}
	agent, err := e.Options.Agents.Get(r.Context(), c.AgentID)
	if err != nil && beeos.CodeOf(err) == beeos.AgentNotFound || err == nil && !agent.MCPEnabled {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	arguments := c.Payload.Arguments
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	return writeCommand(e.MCPURL+"/"+c.AgentID+"/mcp", map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": c.Payload.Tool, "arguments": arguments},
	}, "Accept: application/json, text/event-stream")
}

// writeCommand writes a POST of JSON as a line for a shell.
func writeCommand(url string, body any, headers ...string) (*again, error) {
	text, err := beeos.EncodeJSON(body)
	if err != nil {
		return nil, fmt.Errorf("write the call as a command: %w", err)
	}
	if len(text) > maxShown {
		return &again{Note: "What was asked is too long for a line in a terminal. Replay the call instead."}, nil
	}
	var b strings.Builder
	b.WriteString("curl -X POST " + url + " \\\n  -H \"Authorization: Bearer $BEEOS_KEY\" \\\n  -H 'Content-Type: application/json' \\\n")
	for _, h := range headers {
		b.WriteString("  -H '" + h + "' \\\n")
	}
	b.WriteString("  -d '" + strings.ReplaceAll(escapeInvisible(string(text)), "'", `'\''`) + "'")
	note := "BEEOS_KEY is a key of yours or of the agent's."
	if strings.Contains(string(text), schema.Mask) {
		note += " Put the secret in the place of " + schema.Mask + "."
	}
	return &again{b.String(), note}, nil
}

// escapeInvisible writes the characters of JSON that nobody can see, or that turn the
// direction of writing, as escapes: who copies a command should see all of it.
func escapeInvisible(text string) string {
	if !strings.ContainsFunc(text, isInvisible) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !isInvisible(r):
			b.WriteRune(r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

func isInvisible(r rune) bool { return r >= 0x7f && !unicode.IsPrint(r) }
