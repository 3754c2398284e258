// Package stock calls agents as programs do that know nothing of BeeOS: with the
// official Go libraries of MCP and A2A, which get an address and a key.
package stock

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ErrTool is a result that its tool marked as a failure.
var ErrTool = errors.New("the tool failed")

// CallTool calls a tool over MCP and returns the text of its result.
func CallTool(ctx context.Context, url, key, tool string, arguments map[string]any) (string, error) {
	c := mcp.NewClient(&mcp.Implementation{Name: "stock", Version: "1"}, nil)
	session, err := c.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: withKey(key)}, nil)
	if err != nil {
		return "", err
	}
	defer session.Close() //nolint:errcheck // the call has its answer
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, c := range result.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			text.WriteString(t.Text)
		}
	}
	if result.IsError {
		return "", fmt.Errorf("%w: %s", ErrTool, text.String())
	}
	return text.String(), nil
}

// Say says something to an agent over A2A and returns the text of what it made.
func Say(ctx context.Context, url, key, text string) (string, error) {
	web := withKey(key)
	card, err := agentcard.NewResolver(web).Resolve(ctx, url)
	if err != nil {
		return "", err
	}
	c, err := a2aclient.NewFromCard(ctx, card, a2aclient.WithDefaultsDisabled(), a2aclient.WithJSONRPCTransport(web))
	if err != nil {
		return "", err
	}
	got, err := c.SendMessage(ctx, &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))})
	if err != nil {
		return "", err
	}
	task, ok := got.(*a2a.Task)
	if !ok || task.Status.State != a2a.TaskStateCompleted {
		return "", fmt.Errorf("%+v, want a completed task", got)
	}
	var made strings.Builder
	for _, artifact := range task.Artifacts {
		for _, part := range artifact.Parts {
			made.WriteString(part.Text())
		}
	}
	return made.String(), nil
}

// bearer sends a credential along.
type bearer string

func withKey(key string) *http.Client { return &http.Client{Transport: bearer(key)} }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}
