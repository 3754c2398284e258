//go:build unix

package clients

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beeos/beeos/test/cluster"
)

// TestGoSDK has the same conversation with the official Go client, in every
// revision that it speaks.
func TestGoSDK(t *testing.T) {
	if testing.Short() {
		t.Skip("starts two servers and PostgreSQL per revision")
	}
	bin := build(t)
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			world := start(t, bin)
			var progress rising
			session := connect(t, world, version, &progress)
			goOn(t, session, "Ada")
			result, err := session.CallTool(t.Context(), &mcp.CallToolParams{
				Name: "test_tool_with_progress", Meta: mcp.Meta{"progressToken": "p1"},
			})
			if err != nil || said(result) != "done" {
				t.Errorf("progress: %v, %v", result, err)
			}
			progress.check(t)
			cancelled(t, session, &progress)
			read, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "test://watched-resource"})
			if err != nil || read.Contents[0].Text != "Watched resource content" {
				t.Errorf("resource: %v, %v", read, err)
			}
			prompt, err := session.GetPrompt(t.Context(), &mcp.GetPromptParams{
				Name: "test_prompt_with_arguments", Arguments: map[string]string{"arg1": "one", "arg2": "two"},
			})
			if err != nil || len(prompt.Messages) != 1 {
				t.Errorf("prompt: %v, %v", prompt, err)
			}
			awaitCancel(t, world)

			world.Nodes[0].Kill()
			world.Balancer.Use(world.Key, world.Nodes[1])
			goOn(t, session, "again")
		})
	}
}

// rising collects progress, which the client handles beside results.
type rising struct {
	mu   sync.Mutex
	seen []float64
}

func (r *rising) all() []float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.seen)
}

// await waits until there are so many reports, or ctx ends.
func (r *rising) await(ctx context.Context, n int) (seen []float64) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for seen = r.all(); len(seen) < n && ctx.Err() == nil; seen = r.all() {
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	return seen
}

func (r *rising) check(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if seen := r.await(ctx, 3); len(seen) < 3 || !slices.IsSorted(seen) {
		t.Errorf("progress: %v", seen)
	}
}

func connect(t *testing.T, world *cluster.Cluster, version string, progress *rising) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "gosdk", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			progress.mu.Lock()
			defer progress.mu.Unlock()
			progress.seen = append(progress.seen, r.Params.Progress)
		},
	})
	// Connections of its own, so that none of them is left to the next test.
	transport := &mcp.StreamableClientTransport{Endpoint: world.URL, HTTPClient: &http.Client{Transport: &http.Transport{}}}
	session, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	})
	if got := session.InitializeResult().ProtocolVersion; got != version {
		t.Errorf("negotiated %s, want %s", got, version)
	}
	return session
}

// goOn lists and calls.
func goOn(t *testing.T, session *mcp.ClientSession, name string) {
	t.Helper()
	tools, err := session.ListTools(t.Context(), nil)
	if err != nil || !slices.ContainsFunc(tools.Tools, func(tool *mcp.Tool) bool { return tool.Name == "greet" }) {
		t.Errorf("list: %v, %v", tools, err)
	}
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "greet", Arguments: map[string]string{"name": name}})
	if err != nil || said(result) != "Hello, "+name+"!" {
		t.Errorf("call: %v, %v", result, err)
	}
}

// cancelled gives up on a call as soon as it is under way.
func cancelled(t *testing.T, session *mcp.ClientSession, progress *rising) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	before := len(progress.all())
	go func() { // ends with the call
		progress.await(ctx, before+1)
		cancel()
	}()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "test_wait", Meta: mcp.Meta{"progressToken": "p2"}})
	if err == nil {
		t.Errorf("a cancelled call has a result: %v", result)
	}
}

func said(r *mcp.CallToolResult) string {
	if r == nil || len(r.Content) == 0 {
		return ""
	}
	text, _ := r.Content[0].(*mcp.TextContent)
	if text == nil {
		return ""
	}
	return text.Text
}
