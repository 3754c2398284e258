package mcp_test

//lint:file-ignore SA1019 what is deprecated has to get through as well

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beeos/beeos/agent"
	bridge "github.com/beeos/beeos/internal/outward/bridge/mcp"
	"github.com/beeos/beeos/internal/outward/bridge/settings"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/bridgetest"
)

// caller is an MCP client of the gateway.
type caller struct {
	*mcp.ClientSession
	progress, logs, changes, updates chan string
}

func call(t *testing.T, app *apptest.App, id, name string) *caller {
	t.Helper()
	c := &caller{progress: make(chan string, 16), logs: make(chan string, 16), changes: make(chan string, 16), updates: make(chan string, 16)}
	o := &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": name}}, nil
		},
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Model: "m", Role: "assistant", Content: &mcp.TextContent{Text: "hi from " + name}}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { c.progress <- r.Params.Message },
		LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) {
			c.logs <- fmt.Sprint(r.Params.Level, " ", r.Params.Logger, " ", r.Params.Data)
		},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { c.changes <- "tools" },
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { c.updates <- r.Params.URI },
	}
	if name == "" { // one that cannot be asked
		o.ElicitationHandler, o.CreateMessageHandler, o.Capabilities = nil, nil, &mcp.ClientCapabilities{}
	}
	cl := mcp.NewClient(&mcp.Implementation{Name: "caller", Version: "1"}, o)
	tr := &mcp.StreamableClientTransport{Endpoint: app.MCP + "/" + id + "/mcp", HTTPClient: &http.Client{Transport: keyed{app.UserKey}}}
	s, err := cl.Connect(t.Context(), tr, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	c.ClientSession = s
	t.Cleanup(func() { s.Close() })
	return c
}

type keyed struct{ key string }

func (k keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+k.key)
	return http.DefaultTransport.RoundTrip(r)
}

func (c *caller) tool(t *testing.T, name string, args any) (string, bool) {
	t.Helper()
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		return err.Error(), true
	}
	var b strings.Builder
	for _, content := range res.Content {
		if text, ok := content.(*mcp.TextContent); ok {
			b.WriteString(text.Text)
		}
	}
	return b.String(), res.IsError
}

// want waits for one word, or fails.
func want(t *testing.T, ch <-chan string, word string) {
	t.Helper()
	select {
	case got := <-ch:
		if got != word {
			t.Errorf("got %q, want %q", got, word)
		}
	case <-time.After(10 * time.Second):
		t.Errorf("%q did not come", word)
	}
}

func TestServerAnswers(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	server := bridgetest.NewMCPServer()
	stateful := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		if r.Header.Get("Authorization") != "Bearer "+bridgetest.Secret {
			return nil
		}
		return server
	}, nil))
	t.Cleanup(stateful.Close)
	for name, server := range map[string]string{"stdio": self, "http": stateful.URL} {
		t.Run(name, func(t *testing.T) {
			app := apptest.Start(t, apptest.Config(t))
			var log bridgetest.Journal
			id := bridgetest.Connect(t, app, &log, "stand", func(ctx context.Context, ao agent.Options) error {
				return (&bridge.Options{Server: bridgetest.Command(server)}).Run(ctx, settings.Bridge{
					Env: append(os.Environ(), "BRIDGE_TEST_MCP=1"), Header: http.Header{"Authorization": {"Bearer " + bridgetest.Secret}}, Agent: ao,
				})
			})
			ann, bob := call(t, app, id, "Ann"), call(t, app, id, "Bob")
			testLists(t, ann)
			testAnswers(t, ann)
			testQuestions(t, ann, bob)
			testCancel(t, ann, func() bool {
				return strings.Contains(log.String(), "work was cancelled") || len(bridgetest.Cancelled) > 0
			})
			plain := call(t, app, id, "")
			testChanges(t, plain)
			if t.Failed() {
				t.Log(log.String())
			}
			if name == "stdio" {
				testDeath(t, ann)
				testDeath(t, plain)
				if !strings.Contains(log.String(), "the server is gone; starting again") {
					t.Errorf("the log does not say that the server died:\n%s", log.String())
				}
			}
		})
	}
}

func testLists(t *testing.T, c *caller) {
	t.Helper()
	if i := c.InitializeResult(); i.Instructions != "Ask nicely." || i.ServerInfo.Title != "A stand" || i.ServerInfo.Version != "7" {
		t.Errorf("the agent is %+v", i)
	}
	tools, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools.Tools {
		if tool.Name == "echo" {
			var want any
			if err := json.Unmarshal([]byte(bridgetest.EchoSchema), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, tool.InputSchema); diff != "" {
				t.Error(diff)
			}
		}
	}
	if len(tools.Tools) < 6 {
		t.Errorf("%d tools", len(tools.Tools))
	}
}

func testAnswers(t *testing.T, c *caller) {
	t.Helper()
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "<&>"}})
	if err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal(res)
	const want = `{"_meta":{"example.com/kept":true},"content":[{"type":"text","text":"a"},{"type":"image","mimeType":"image/png","data":"eA=="},{"type":"text","text":"b"}],"structuredContent":{"got":{"text":"<&>"}}}`
	var a, b any
	if err := errors.Join(json.Unmarshal(got, &a), json.Unmarshal([]byte(want), &b)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b, a); diff != "" {
		t.Errorf("echo (-want +got):\n%s", diff)
	}
	if text, failed := c.tool(t, "fail", nil); text != "as you wish" || !failed {
		t.Errorf("fail: %q, %v", text, failed)
	}
	for _, uri := range []string{"note://one", "note://of/me"} {
		r, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err != nil || r.Contents[0].Text != "text of "+uri {
			t.Errorf("%s: %+v, %v", uri, r, err)
		}
	}
	p, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "greet", Arguments: map[string]string{"who": "you"}})
	if err != nil || p.Messages[0].Content.(*mcp.TextContent).Text != "Hello you" {
		t.Errorf("greet: %+v, %v", p, err)
	}
	v, err := c.Complete(t.Context(), &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "greet"}, Argument: mcp.CompleteParamsArgument{Name: "who", Value: "par"}})
	if err != nil || v.Completion.Values[0] != "paris" {
		t.Errorf("completion: %+v, %v", v, err)
	}
}

// testQuestions: two callers at once, each is asked its own.
func testQuestions(t *testing.T, ann, bob *caller) {
	t.Helper()
	if err := ann.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "info"}); err != nil {
		t.Fatal(err)
	}
	done := make(chan string, 1)
	go func() { // awaited below
		text, _ := bob.tool(t, "ask", nil)
		done <- text
	}()
	text, failed := ann.tool(t, "ask", nil)
	if text != "Ann says hi from Ann" || failed {
		t.Errorf("Ann: %q", text)
	}
	if text := <-done; text != "Bob says hi from Bob" {
		t.Errorf("Bob: %q", text)
	}
	want(t, ann.logs, "notice stand asked")
}

// testCancel: the server hears that nobody waits, and says how far it is.
func testCancel(t *testing.T, c *caller, heard func() bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { // awaited below
		p := &mcp.CallToolParams{Name: "work", Arguments: map[string]any{}}
		p.SetProgressToken("p1")
		_, err := c.CallTool(ctx, p)
		done <- err
	}()
	want(t, c.progress, "half")
	cancel()
	if err := <-done; err == nil {
		t.Error("a call that was cancelled has an answer")
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for patience := time.After(10 * time.Second); !heard(); {
		select {
		case <-tick.C:
		case <-patience:
			t.Fatal("the server did not hear of it")
		}
	}
}

// testChanges: what the server says about itself reaches its callers, also
// when its lists read as before.
func testChanges(t *testing.T, c *caller) {
	t.Helper()
	if err := c.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "note://one"}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if text, failed := c.tool(t, "grow", nil); failed {
			t.Errorf("grow: %s", text)
		}
		want(t, c.changes, "tools")
		want(t, c.updates, "note://one")
	}
	if text, failed := c.tool(t, "grown", nil); failed {
		t.Errorf("grown: %s", text)
	}
}

// testDeath: the server is started again, and the agent goes on.
func testDeath(t *testing.T, c *caller) {
	t.Helper()
	const gone = "the program behind this agent ended before it had answered; try again"
	if text, failed := c.tool(t, "die", nil); !failed || text != gone {
		t.Errorf("die: %q, %v", text, failed)
	}
	if text, failed := c.tool(t, "fail", nil); text != "as you wish" || !failed {
		t.Errorf("after its death: %q, %v", text, failed)
	}
}
