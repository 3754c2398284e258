package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/beeos/beeos"
)

// ToolResult is what a tool of an agent returned.
type ToolResult struct {
	Content    []json.RawMessage `json:"content"`
	Structured json.RawMessage   `json:"structuredContent,omitempty"`
	IsError    bool              `json:"isError"`
}

// Text returns the text parts of the result, or its structured content when
// there are none.
func (r *ToolResult) Text() string {
	var texts []string
	for _, raw := range r.Content {
		var part struct{ Type, Text string }
		if json.Unmarshal(raw, &part) == nil && part.Type == "text" {
			texts = append(texts, part.Text)
		}
	}
	if len(texts) == 0 && r.Structured != nil {
		return string(r.Structured)
	}
	return strings.Join(texts, "\n")
}

// Files are those parts of the result that point to files.
func (r *ToolResult) Files() (files []beeos.FilePart) {
	for _, raw := range r.Content {
		var part struct {
			Type, URI, Name, MIMEType string
			Size                      int64
		}
		if json.Unmarshal(raw, &part) == nil && part.Type == "resource_link" {
			files = append(files, beeos.FilePart{Type: beeos.PartFile, URL: part.URI, Name: part.Name, MIMEType: part.MIMEType, Size: part.Size})
		}
	}
	return files
}

// CallTool calls one tool of an agent at its MCP endpoint, which checks the
// arguments against the tool's schema.
func (c *Client) CallTool(ctx context.Context, a *Agent, tool string, args json.RawMessage) (*ToolResult, error) {
	if a.MCPURL == "" {
		return nil, fmt.Errorf("the server names no MCP endpoint for agent %q", a.Name)
	}
	call := map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call",
		"params": map[string]any{"name": tool, "arguments": args},
	}
	mcp := &Client{HTTP: c.HTTP, base: a.MCPURL, key: c.key}
	resp, err := mcp.send(ctx, http.MethodPost, "", "application/json", call)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var answer struct {
		Result *ToolResult `json:"result"`
		Error  *rpcError   `json:"error"`
	}
	switch err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&answer); {
	case err != nil:
		return nil, fmt.Errorf("read the result of tool %q: %w", tool, err)
	case answer.Error != nil:
		return nil, answer.Error.public()
	case answer.Result == nil:
		return nil, errors.New("the MCP endpoint answered with neither result nor error")
	}
	return answer.Result, nil
}

// rpcError is the error of a JSON-RPC answer; data.code is a word of the
// vocabulary that all surfaces share.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    struct {
		Code   beeos.Code   `json:"code"`
		Stored beeos.Stored `json:"stored"`
	} `json:"data"`
}

// public returns the error in our own words. JSON-RPC's own numbers come
// without such a word.
func (e *rpcError) public() *beeos.Error {
	code := e.Data.Code
	switch {
	case code != "":
	case e.Code == -32601:
		code = beeos.NotFound
	case e.Code == -32602:
		code = beeos.InvalidParam
	default:
		code = beeos.InternalError
	}
	return &beeos.Error{Code: code, Message: e.Message, Stored: e.Data.Stored}
}
