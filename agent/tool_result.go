package agent

import (
	"encoding/json"
	"errors"
	"strings"
)

// toolResult is a result of MCP's tools/call.
type toolResult struct {
	Content    []json.RawMessage          `json:"content"`
	Structured json.RawMessage            `json:"structuredContent"`
	IsError    bool                       `json:"isError"`
	Meta       map[string]json.RawMessage `json:"_meta"`
}

// SendToolResult ends the answer with a result of MCP's tools/call that somebody
// else has made: as parts, which every surface knows, and as it is where parts
// would say less.
func (r *Reply) SendToolResult(raw json.RawMessage) error {
	var res toolResult
	var whole map[string]json.RawMessage
	if json.Unmarshal(raw, &whole) != nil || json.Unmarshal(raw, &res) != nil {
		return errors.New("the tool answered with something that is no result")
	}
	text, known, err := r.addToolContent(res.Content)
	if err != nil {
		return err
	}
	known = known && (len(res.Content) > 0 || len(res.Structured) == 0)
	if len(res.Structured) > 0 {
		known = known && res.Structured[0] == '{'
		if err := r.Structured(res.Structured); err != nil {
			return err
		}
	}
	if len(res.Meta) > 0 {
		if err := r.Meta(res.Meta); err != nil {
			return err
		}
	}
	for name := range whole {
		switch name {
		case "content", "structuredContent", "isError", "_meta":
		default:
			known = false
		}
	}
	if !known {
		if whole["content"] == nil {
			whole["content"] = json.RawMessage(`[]`)
		}
		if err := r.Result(whole); err != nil {
			return err
		}
	}
	if res.IsError {
		return r.Fail(text)
	}
	return r.Send(text)
}

// addToolContent adds blocks of content, and returns their text and whether every
// surface knows them.
func (r *Reply) addToolContent(blocks []json.RawMessage) (text string, known bool, err error) {
	var all strings.Builder
	known = true
	for _, raw := range blocks {
		var block struct{ Type, Text string }
		if json.Unmarshal(raw, &block) != nil || r.Content(raw) != nil {
			return "", false, errors.New("the tool answered with content that has no type")
		}
		switch block.Type {
		case "text":
			all.WriteString(block.Text)
		case "image", "audio", "resource", "resource_link":
		default:
			known = false
		}
	}
	return all.String(), known, nil
}
