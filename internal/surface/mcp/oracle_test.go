package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beeos/beeos/internal/surface/mcp/wire"
)

// roundRobin sends each request to the next replica, with a key. A client
// that notices would need sticky sessions.
type roundRobin struct {
	key  string
	urls []string
	next atomic.Int64
}

func (rr *roundRobin) RoundTrip(r *http.Request) (*http.Response, error) {
	target, err := url.Parse(rr.urls[int(rr.next.Add(1))%len(rr.urls)])
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.URL.Host, r.Host = target.Host, ""
	r.Header.Set("Authorization", "Bearer "+rr.key)
	return http.DefaultTransport.RoundTrip(r)
}

// heard is what a client was told and asked.
type heard struct {
	mu       sync.Mutex
	progress []mcp.ProgressNotificationParams
	logs     []string
	asked    []string
}

func (h *heard) options() *mcp.ClientOptions {
	return &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.progress = append(h.progress, *r.Params)
		},
		//lint:ignore SA1019 Deprecated since 2026-07-28; the clients of today use it.
		LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.logs = append(h.logs, string(r.Params.Level))
		},
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.asked = append(h.asked, r.Params.Message)
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"sure": true}}, nil
		},
	}
}

func (s *stack) client(t *testing.T, agent, version string, h *heard) *mcp.ClientSession {
	t.Helper()
	rr := &roundRobin{key: s.keys["user"], urls: []string{s.server.URL, s.other.URL}}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, h.options())
	transport := &mcp.StreamableClientTransport{
		Endpoint:   s.server.URL + "/" + s.agents[agent] + "/mcp",
		HTTPClient: &http.Client{Transport: rr},
	}
	session, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	})
	return session
}

func resultText(r *mcp.CallToolResult) string {
	var all strings.Builder
	for _, c := range r.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			all.WriteString(text.Text)
		}
	}
	return all.String()
}

// TestOfficialClient lets the official SDK's client judge, over two replicas
// without affinity.
func TestOfficialClient(t *testing.T) {
	s := newStack(t)
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run("version "+version, func(t *testing.T) { officialClient(t, s, version) })
	}
}

func officialClient(t *testing.T, s *stack, version string) {
	h := &heard{}
	session := s.client(t, "clerk", version, h)
	ctx := t.Context()
	if got := session.InitializeResult().ProtocolVersion; got != version {
		t.Errorf("negotiated %s, want %s", got, version)
	}
	if version != "2026-07-28" { // which has neither
		if err := session.Ping(ctx, nil); err != nil {
			t.Error("ping:", err)
		}
		//lint:ignore SA1019 Deprecated since 2026-07-28; the clients of today use it.
		if err := session.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "debug"}); err != nil {
			t.Error("set level:", err)
		}
	}
	tools := 0
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			t.Fatal("tools:", err)
		}
		if tool.Name == "web_search" && tool.InputSchema == nil {
			t.Error("web_search lost its schema")
		}
		tools++
	}
	if tools != 22 {
		t.Errorf("%d tools, want 22", tools)
	}
	officialCalls(t, session, h)
	read, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "beeos://agent/config"})
	if err != nil || !json.Valid([]byte(read.Contents[0].Text)) || strings.Contains(read.Contents[0].Text, "secret instructions") {
		t.Errorf("config resource: %v %+v", err, read)
	}
	prompt, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "greet", Arguments: map[string]string{"who": "Ann"}})
	if err != nil || prompt.Messages[0].Content.(*mcp.TextContent).Text != "Greet Ann <b>now</b>." {
		t.Errorf("prompt: %v %+v", err, prompt)
	}
}

func officialCalls(t *testing.T, session *mcp.ClientSession, h *heard) {
	ctx := t.Context()
	call := func(name string, arguments any, token any) *mcp.CallToolResult {
		t.Helper()
		params := &mcp.CallToolParams{Name: name, Arguments: arguments}
		if token != nil {
			params.SetProgressToken(token)
		}
		r, err := session.CallTool(ctx, params)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return r
	}
	if got := resultText(call("web_search", map[string]any{"query": "bees"}, nil)); got != `web_search {"query":"bees"}` {
		t.Errorf("web_search: %q", got)
	}
	if r := call("fail", nil, nil); !r.IsError || resultText(r) != "no luck" {
		t.Errorf("fail: %+v", r)
	}
	call("stream", nil, "t")
	call("log", nil, nil)
	got := resultText(call("ask", map[string]any{"method": "elicitation/create", "params": map[string]any{
		"message": "Sure?", "requestedSchema": map[string]any{"type": "object", "properties": map[string]any{"sure": map[string]any{"type": "boolean"}}},
	}}, nil))
	if got != `{"result":{"action":"accept","content":{"sure":true}}}` {
		t.Errorf("elicitation: %s", got)
	}
	if session.InitializeResult().ProtocolVersion == "2026-07-28" {
		params := &mcp.CallToolParams{Name: "log"}
		params.SetMeta(map[string]any{wire.MetaLogLevel: "info"})
		if _, err := session.CallTool(ctx, params); err != nil {
			t.Error(err)
		}
	}
	if got := resultText(call("ask", map[string]any{"method": "sampling/createMessage", "params": map[string]any{}}, nil)); !strings.Contains(got, "cannot_ask") {
		t.Errorf("sampling without the capability: %s", got)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var values []float64
	for _, p := range h.progress {
		values = append(values, p.Progress)
	}
	if diff := cmp.Diff([]float64{1, 2, 50, 50.005}, values); diff != "" {
		t.Error("progress", diff)
	}
	if diff := cmp.Diff([]string{"warning"}, h.logs); diff != "" {
		t.Error("logs", diff)
	}
	if diff := cmp.Diff([]string{"Sure?"}, h.asked); diff != "" {
		t.Error("asked", diff)
	}
}

// TestOfficialClientCancels: the SDK cancels by notification, and the next
// replica is not the one that runs the call.
func TestOfficialClientCancels(t *testing.T) {
	s := newStack(t)
	h := &heard{}
	session := s.client(t, "clerk", "2025-06-18", h)
	for range 2 { // whichever replica the call and its cancel land on
		ctx, cancel := context.WithCancel(t.Context())
		hanging := s.nextFrame()
		done := make(chan error, 1)
		var working sync.WaitGroup
		working.Go(func() {
			_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "hang"})
			done <- err
		})
		f := <-hanging
		cancel()
		if err := <-done; err == nil {
			t.Error("a cancelled call succeeded")
		}
		working.Wait()
		s.waitTerminal(t, f.MessageID, "")
		if err := session.Ping(t.Context(), nil); err != nil { // and the turn moves on by one
			t.Error(err)
		}
	}
}

// waitTerminal waits until the turn has its terminal reply; text is part of
// its body.
func (s *stack) waitTerminal(t *testing.T, turn, text string) {
	t.Helper()
	m, err := s.calls.Wait(t.Context(), turn, 5*time.Second)
	if err != nil {
		t.Fatal("the agent was not told: ", err)
	}
	if !strings.Contains(m.Body, text) {
		t.Errorf("terminal reply %q, want %q in it", m.Body, text)
	}
}

// TestOfficialOldClient: the SDK over the transport of 2024-11-05, its stream
// at one replica and its messages at both.
func TestOfficialOldClient(t *testing.T) {
	s := newStack(t)
	h := &heard{}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, h.options())
	session, err := client.Connect(t.Context(), &mcp.SSEClientTransport{
		Endpoint:   s.server.URL + "/" + s.agents["clerk"] + "/sse",
		HTTPClient: &http.Client{Transport: &roundRobin{key: s.keys["user"], urls: []string{s.server.URL, s.other.URL}}},
	}, &mcp.ClientSessionOptions{ProtocolVersion: "2024-11-05"})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	officialCalls(t, session, h)
}
