package skill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// longestResult is how much of a tool's answer the model reads.
const longestResult = 64 << 10

// Result is what a tool answered.
type Result struct {
	Text    string
	IsError bool // the tool failed, and Text says why
}

// ErrUncertain is the error of a call that may have run: it reached the server,
// or may have, and there is no answer.
var ErrUncertain = errors.New("the call may have been carried out; its result is not known")

// Call calls a tool of the server by the server's name for it. An error means
// that the tool did not answer; a tool that answers with a failure is a Result.
// Nothing is sent a second time that may have run.
func (c *Client) Call(ctx context.Context, tool string, arguments json.RawMessage) (Result, error) {
	for again := true; ; again = false {
		session, err := c.Session(ctx)
		if err != nil {
			return Result{}, err
		}
		sent, f := c.follow(ctx)
		got, err := session.CallTool(sent, &mcp.CallToolParams{Name: tool, Arguments: arguments})
		if err == nil {
			return Result{Text: shorten(textOf(got)), IsError: got.IsError}, nil
		}
		if ctx.Err() != nil {
			return Result{}, context.Cause(ctx)
		}
		if !f.broken(err) {
			return Result{}, fmt.Errorf("call %s of skill %s: %w", tool, c.opt.Server.Name, c.discreet(err))
		}
		c.drop(session)
		switch {
		case f.cutOff() != nil:
			return Result{}, fmt.Errorf("the skill server %s: %w: %w", c.opt.Server.Name, f.cutOff(), ErrUncertain)
		case f.mayHaveRun():
			return Result{}, fmt.Errorf("the connection to the skill server %s broke: %w", c.opt.Server.Name, ErrUncertain)
		case again && f.stale(): // the server was restarted since
			continue
		}
		return Result{}, c.explain(f, err)
	}
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
