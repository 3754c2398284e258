package skill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beeos/beeos"
)

// longestResult is how much of a tool's answer the model reads.
const longestResult = 64 << 10

// Result is what a tool answered.
type Result struct {
	Text    string
	IsError bool // the tool failed, and Text says why

	// Whole is the result as MCP writes it, of CallWhole alone.
	Whole json.RawMessage `json:",omitempty"`
}

// MaxWhole is how large a result may be that a caller gets as it is.
const MaxWhole = 768 << 10

// ErrUncertain is the error of a call that may have run: it reached the server,
// or may have, and there is no answer.
var ErrUncertain = errors.New("the call may have been carried out; its result is not known")

// Call calls a tool of the server by the server's name for it. An error means
// that the tool did not answer; a tool that answers with a failure is a Result.
// Nothing is sent a second time that may have run.
func (c *Client) Call(ctx context.Context, tool string, arguments json.RawMessage) (Result, error) {
	got, err := c.callTool(ctx, tool, arguments)
	if err != nil {
		return Result{}, err
	}
	return Result{Text: Shorten(resultText(got)), IsError: got.IsError}, nil
}

// CallWhole is Call for somebody who gets the result as the server wrote it.
func (c *Client) CallWhole(ctx context.Context, tool string, arguments json.RawMessage) (Result, error) {
	got, err := c.callTool(ctx, tool, arguments)
	if err != nil {
		return Result{}, err
	}
	whole, err := json.Marshal(got)
	if err != nil {
		return Result{}, fmt.Errorf("the answer of %s of skill %s cannot be read: %w", tool, c.opt.Server.Name, err)
	}
	if len(whole) > MaxWhole {
		text := fmt.Sprintf("the tool was called and answered with %d KiB, and %d KiB is the most; ask it for less", len(whole)>>10, MaxWhole>>10)
		return Result{Text: text, IsError: true}, nil
	}
	return Result{Text: Shorten(resultText(got)), IsError: got.IsError, Whole: whole}, nil
}

// callTool calls a tool once.
func (c *Client) callTool(ctx context.Context, tool string, arguments json.RawMessage) (*mcp.CallToolResult, error) {
	for again := true; ; again = false {
		session, err := c.Session(ctx)
		if err != nil {
			return nil, err
		}
		sent, f := c.followCall(ctx)
		got, err := session.CallTool(sent, &mcp.CallToolParams{Name: tool, Arguments: arguments, Meta: traceMeta(ctx)})
		if err == nil {
			return got, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if !f.broken(err) {
			return nil, fmt.Errorf("call %s of skill %s: %w", tool, c.opt.Server.Name, c.hideQuery(err))
		}
		c.dropSession(session)
		switch {
		case f.cutOff() != nil:
			return nil, fmt.Errorf("the skill server %s: %w: %w", c.opt.Server.Name, f.cutOff(), ErrUncertain)
		case f.mayHaveRun():
			return nil, fmt.Errorf("the connection to the skill server %s broke: %w", c.opt.Server.Name, ErrUncertain)
		case again && f.stale(): // the server was restarted since
			continue
		}
		return nil, c.explainFailure(f, err)
	}
}

// traceMeta tells the server where the call stands in a distributed trace, if it
// does: servers that are no HTTP have no headers, and proxies may change those.
func traceMeta(ctx context.Context) mcp.Meta {
	t := beeos.TraceOf(ctx)
	if t.IsZero() {
		return nil
	}
	meta := mcp.Meta{"traceparent": t.Parent}
	if t.State != "" {
		meta["tracestate"] = t.State
	}
	return meta
}

// resultText writes a result as a model reads it.
func resultText(r *mcp.CallToolResult) string {
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

// Shorten cuts an answer to what a model reads of it.
func Shorten(s string) string {
	if len(s) <= longestResult {
		return s
	}
	return strings.ToValidUTF8(s[:longestResult], "") + fmt.Sprintf("\n[cut: the answer has %d bytes, the first %d are here]", len(s), longestResult)
}
