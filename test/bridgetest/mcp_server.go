package bridgetest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

//lint:file-ignore SA1019 what is deprecated has to get through as well

// EchoSchema is the schema of the tool echo.
const EchoSchema = `{"type":"object","properties":{"n":{"type":"integer","maximum":9007199254740993},"text":{"type":"string"}},"$comment":"<kept>"}`

// Cancelled hears of each call of the tool work that was cancelled.
var Cancelled = make(chan struct{}, 16)

// NewMCPServer returns a real server with a bit of everything.
func NewMCPServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "stand", Title: "A stand", Version: "7"}, &mcp.ServerOptions{
		Instructions:       "Ask nicely.",
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		CompletionHandler: func(_ context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{r.Params.Argument.Value + "is"}}}, nil
		},
	})
	s.AddTool(&mcp.Tool{Name: "echo", InputSchema: json.RawMessage(EchoSchema)}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{
			Meta: mcp.Meta{"example.com/kept": true}, StructuredContent: map[string]any{"got": json.RawMessage(r.Params.Arguments)},
			Content: []mcp.Content{&mcp.TextContent{Text: "a"}, &mcp.ImageContent{MIMEType: "image/png", Data: []byte("x")}, &mcp.TextContent{Text: "b"}},
		}, nil
	})
	any := json.RawMessage(`{"type":"object"}`)
	s.AddTool(&mcp.Tool{Name: "fail", InputSchema: any}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "as you wish"}}}, nil
	})
	s.AddTool(&mcp.Tool{Name: "die", InputSchema: any}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		os.Exit(3)
		return nil, nil
	})
	s.AddTool(&mcp.Tool{Name: "work", InputSchema: any}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if token := r.Params.GetProgressToken(); token != nil {
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: 1, Total: 2, Message: "half"})
		}
		<-ctx.Done()
		fmt.Fprintln(os.Stderr, "work was cancelled") // heard when this is a program
		select {
		case Cancelled <- struct{}{}: // and when it is not
		default:
		}
		return nil, ctx.Err()
	})
	s.AddTool(&mcp.Tool{Name: "ask", InputSchema: any}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		e, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Who?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)})
		if err != nil {
			return nil, err
		}
		m, err := r.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 9, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "?"}}}})
		if err != nil {
			return nil, err
		}
		_ = r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "notice", Logger: "stand", Data: "asked"})
		text := fmt.Sprintf("%v says %s", e.Content["name"], m.Content.(*mcp.TextContent).Text)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
	})
	s.AddTool(&mcp.Tool{Name: "grow", InputSchema: any}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.AddTool(&mcp.Tool{Name: "grown", InputSchema: any}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
		return &mcp.CallToolResult{}, s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: "note://one"})
	})
	read := func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: "text of " + r.Params.URI}}}, nil
	}
	s.AddResource(&mcp.Resource{URI: "note://one", Name: "one"}, read)
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "note://of/{who}", Name: "of"}, read)
	s.AddPrompt(&mcp.Prompt{Name: "greet", Arguments: []*mcp.PromptArgument{{Name: "who"}}}, func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "Hello " + r.Params.Arguments["who"]}}}}, nil
	})
	return s
}

// serveMCP runs the server as a program.
func serveMCP() {
	if err := NewMCPServer().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
