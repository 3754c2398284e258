package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
)

// era is how an MCP client speaks.
type era struct {
	version string // "" = bare JSON-RPC, as by curl
	session bool
}

// eras are the clients of today and of tomorrow, and those without a library.
var eras = map[string]era{
	"bare":       {},
	"2025-11-25": {"2025-11-25", true},
	"2026-07-28": {"2026-07-28", false},
}

// ask makes one tools/call the way e does, under an id of its own, and reads
// all that comes back. It complains unless exactly one result or one error is
// for that id. idempotency may be empty.
func (c *caller) ask(ctx context.Context, e era, id, text, idempotency string) (string, error) {
	header := http.Header{"Accept": {"application/json, text/event-stream"}}
	if e.session {
		if err := c.initialize(ctx, e.version, header); err != nil {
			return "", err
		}
	}
	args := map[string]any{"message": text}
	if idempotency != "" {
		args["idempotency_key"] = idempotency
	}
	meta := map[string]any{"progressToken": id}
	if e.version != "" {
		header.Set("Mcp-Protocol-Version", e.version)
	}
	if e.version != "" && !e.session {
		meta["io.modelcontextprotocol/protocolVersion"] = e.version
		meta["io.modelcontextprotocol/clientCapabilities"] = map[string]any{}
		header.Set("Mcp-Method", "tools/call")
		header.Set("Mcp-Name", c.agent)
	}
	body, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": id, "method": "tools/call",
		"params": map[string]any{"name": c.agent, "arguments": args, "_meta": meta},
	})
	if err != nil {
		return "", err
	}
	resp, err := c.post(ctx, http.MethodPost, c.node.mcp+"/"+c.agent+"/mcp", body, header)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", &cutOff{err}
	}
	return theAnswer(id, resp, answer)
}

func (c *caller) initialize(ctx context.Context, version string, header http.Header) error {
	body := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"faults","version":"1"}}}`, version)
	resp, err := c.post(ctx, http.MethodPost, c.node.mcp+"/"+c.agent+"/mcp", body, header)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return &cutOff{err}
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("initialize: %s", resp.Status)
	}
	header.Set("Mcp-Session-Id", resp.Header.Get("Mcp-Session-Id"))
	return nil
}

// theAnswer finds the one answer to id among all messages of a response.
func theAnswer(id string, resp *http.Response, body []byte) (string, error) {
	messages := [][]byte{body}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		messages = nil
		for line := range bytes.Lines(body) {
			if data, ok := bytes.CutPrefix(line, []byte("data:")); ok && len(bytes.TrimSpace(data)) > 0 {
				messages = append(messages, data)
			}
		}
	}
	type message struct {
		ID     any
		Method string
		Result *client.ToolResult
		Error  *struct {
			Message string
			Data    struct{ Code beeos.Code }
		}
	}
	var answers []message
	for _, raw := range messages {
		var m message
		if err := json.Unmarshal(raw, &m); err != nil {
			return "", fmt.Errorf("%s: %q is no JSON", resp.Status, raw)
		}
		if m.Method != "" {
			continue // progress
		}
		if m.ID != id || (m.Result == nil) == (m.Error == nil) {
			return "", fmt.Errorf("%s: %s is no answer to %s", resp.Status, raw, id)
		}
		answers = append(answers, m)
	}
	switch {
	case len(answers) == 0:
		return "", &cutOff{fmt.Errorf("%s: no answer to %s", resp.Status, id)} // a stream that ended
	case len(answers) > 1:
		return "", fmt.Errorf("%d answers to %s: %s", len(answers), id, body)
	case answers[0].Error != nil:
		return "", &beeos.Error{Code: answers[0].Error.Data.Code, Message: answers[0].Error.Message}
	}
	return answers[0].Result.Text(), nil
}
