package skill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// longestResult is how much of a tool's answer the model reads.
const longestResult = 64 << 10

// Result is what a tool answered.
type Result struct {
	Text    string
	IsError bool // the tool failed, and Text says why
}

// Call calls a tool of the server by the server's name for it. An error means
// that the tool did not answer; a tool that answers with a failure is a Result.
func (c *Client) Call(ctx context.Context, tool string, arguments json.RawMessage) (Result, error) {
	for again := true; ; again = false {
		session, err := c.Session(ctx)
		if err != nil {
			return Result{}, err
		}
		got, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
		switch {
		case err == nil:
			return Result{Text: shorten(textOf(got)), IsError: got.IsError}, nil
		case ctx.Err() != nil:
			return Result{}, context.Cause(ctx)
		case errors.Is(err, mcp.ErrSessionMissing) && again:
			c.drop(session) // the server was restarted: it has not run this call
			continue
		case broken(err):
			c.drop(session)
			return Result{}, c.explain(err)
		}
		return Result{}, fmt.Errorf("call %s of skill %s: %w", tool, c.opt.Server.Name, err)
	}
}

// broken reports whether an error is the connection's and not the server's
// answer.
func broken(err error) bool {
	var answer *jsonrpc.Error
	var unsent *url.Error
	return !errors.As(err, &answer) || errors.As(err, &unsent) || errors.Is(err, mcp.ErrConnectionClosed) || errors.Is(err, mcp.ErrSessionMissing)
}

// textOf is a result as a model reads it.
func textOf(r *mcp.CallToolResult) string {
	var parts []string
	for _, c := range r.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			parts = append(parts, c.Text)
		case *mcp.ImageContent:
			parts = append(parts, fmt.Sprintf("[image, %s, %d bytes]", c.MIMEType, len(c.Data)))
		case *mcp.AudioContent:
			parts = append(parts, fmt.Sprintf("[audio, %s, %d bytes]", c.MIMEType, len(c.Data)))
		case *mcp.ResourceLink:
			parts = append(parts, fmt.Sprintf("[%s: %s]", c.Name, c.URI))
		case *mcp.EmbeddedResource:
			if c.Resource != nil && c.Resource.Text != "" {
				parts = append(parts, c.Resource.Text)
			} else if c.Resource != nil {
				parts = append(parts, fmt.Sprintf("[%s, %s, %d bytes]", c.Resource.URI, c.Resource.MIMEType, len(c.Resource.Blob)))
			}
		}
	}
	if len(parts) == 0 && r.StructuredContent != nil {
		if raw, err := json.Marshal(r.StructuredContent); err == nil {
			parts = append(parts, string(raw))
		}
	}
	return strings.Join(parts, "\n")
}

func shorten(s string) string {
	if len(s) <= longestResult {
		return s
	}
	return strings.ToValidUTF8(s[:longestResult], "") + fmt.Sprintf("\n[cut: the answer has %d bytes, the first %d are here]", len(s), longestResult)
}
