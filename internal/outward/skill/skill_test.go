package skill_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beeos/beeos/internal/outward/skill"
)

// serveArg makes this test binary a skill server on stdin and stdout.
const serveArg = "serve-a-skill"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == serveArg {
		if err := serve(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func serve() error {
	s := mcp.NewServer(&mcp.Implementation{Name: "stdio", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "env"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Join(os.Environ(), "\n")}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "exit"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		os.Exit(1)
		return nil, nil, nil
	})
	return s.Run(context.Background(), &mcp.StdioTransport{})
}

func TestLocalCommand(t *testing.T) {
	t.Setenv("LLM_API_KEY", "hunter2")
	now := time.Now()
	c := skill.New(skill.Options{Server: skill.Server{Name: "local", Command: "x"}, Command: []string{os.Args[0], serveArg}, Now: func() time.Time { return now }})
	defer c.Close()
	tools, err := c.Tools(t.Context(), true)
	if err != nil || len(tools) != 2 || tools[0].FullName != "local__env" {
		t.Fatalf("%+v, %v", tools, err)
	}
	got, err := c.Call(t.Context(), "env", nil)
	if err != nil || !strings.Contains(got.Text, "PATH=") || strings.Contains(got.Text, "hunter2") {
		t.Errorf("the command's environment: %q, %v", got.Text, err)
	}
	if _, err := c.Call(t.Context(), "exit", nil); err == nil {
		t.Error("a command that died has answered")
	}
	if c.Connected() {
		t.Error("the session with a command that died is kept")
	}
	now = now.Add(time.Minute)
	if got, err := c.Call(t.Context(), "env", json.RawMessage(`{}`)); err != nil || got.IsError {
		t.Errorf("it was not started again: %+v, %v", got, err)
	}
}

func TestCommandThatIsNotThere(t *testing.T) {
	c := skill.New(skill.Options{Server: skill.Server{Name: "local", Command: "x"}, Command: []string{"/nonexistent/program"}})
	_, err := c.Tools(t.Context(), true)
	if err == nil || !strings.Contains(err.Error(), "local cannot be reached") || c.LastFailure() == nil {
		t.Errorf("%v, %v", err, c.LastFailure())
	}
}

// TestCloseWhileConnecting: a session that comes about after the client was
// closed is ended, for nobody else would.
func TestCloseWhileConnecting(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "slow", Version: "1"}, nil)
	mine, theirs := mcp.NewInMemoryTransports()
	dialled, proceed := make(chan struct{}), make(chan struct{})
	c := skill.New(skill.Options{Server: skill.Server{Name: "slow"}, Local: func() (mcp.Transport, error) {
		close(dialled)
		<-proceed
		return mine, nil
	}})
	failed := make(chan error, 1)
	go func() { // awaited below
		_, err := c.Session(t.Context())
		failed <- err
	}()
	<-dialled
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	there, err := server.Connect(t.Context(), theirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	close(proceed)
	if err := <-failed; err == nil {
		t.Error("a client that was closed has a session")
	}
	over := make(chan struct{})
	go func() { _ = there.Wait(); close(over) }() // awaited below
	select {
	case <-over:
	case <-time.After(10 * time.Second):
		t.Error("the session is never ended")
	}
}

// TestToolListedTwice: a model service refuses a request in which two tools have
// one name, with all that other skills offer in it.
func TestToolListedTwice(t *testing.T) {
	mine, theirs := mcp.NewInMemoryTransports()
	server := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "a", Description: "first"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, nil
	})
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			got, err := next(ctx, method, req)
			if list, ok := got.(*mcp.ListToolsResult); ok {
				again := *list.Tools[0]
				again.Description = "second"
				list.Tools = append(list.Tools, &again, &again)
			}
			return got, err
		}
	})
	if _, err := server.Connect(t.Context(), theirs, nil); err != nil {
		t.Fatal(err)
	}
	c := skill.New(skill.Options{Server: skill.Server{Name: "echo"}, Local: func() (mcp.Transport, error) { return mine, nil }})
	defer c.Close()
	tools, err := c.Tools(t.Context(), true)
	if err != nil || len(tools) != 1 || tools[0].Description != "first" {
		t.Errorf("%+v, %v", tools, err)
	}
}

func TestDemo(t *testing.T) {
	at := time.Date(2026, 11, 15, 7, 30, 0, 0, time.UTC)
	c := skill.New(skill.Options{Server: skill.Server{Name: "demo"}, Local: skill.Demo(t.Context(), func() time.Time { return at })})
	defer c.Close()
	for tool, want := range map[string]string{"add": "42.5", "now": "07:30 on Sunday, 15 November 2026 (UTC)"} {
		arguments := map[string]string{"add": `{"numbers":[40,2.5]}`, "now": `{}`}[tool]
		if got, err := c.Call(t.Context(), tool, json.RawMessage(arguments)); err != nil || got.Text != want {
			t.Errorf("%s: %+v, %v", tool, got, err)
		}
	}
	if got, err := c.Call(t.Context(), "add", json.RawMessage(`{"invalid_arguments":"x"}`)); err == nil && !got.IsError {
		t.Errorf("wrong arguments: %+v", got)
	}
}

func TestNamesNeverCollide(t *testing.T) {
	long := strings.Repeat("x", 100)
	names := map[string]string{}
	for _, pair := range [][2]string{{"a", "b"}, {"a", "b.c"}, {"a", "b_c"}, {"a", "b c"}, {"a", "b/c"}, {"a", long}, {"a", long + "y"}, {"a", "é"}, {"b", "b"}} {
		full := skill.FullName(pair[0], pair[1])
		if other, taken := names[full]; taken || len(full) > 64 || strings.Trim(full, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
			t.Errorf("%v is called %s, like %s", pair, full, other)
		}
		names[full] = pair[1]
	}
	if got := skill.FullName("files", "save_csv"); got != "files__save_csv" {
		t.Errorf("%s", got)
	}
}
