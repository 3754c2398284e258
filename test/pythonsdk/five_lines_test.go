//go:build unix

package pythonsdk

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/program"
)

// callFiveLines runs the program at the top of the README, which finds the
// server by itself, and calls it from every side.
func callFiveLines(ctx context.Context, t *testing.T, python string) {
	cfg := apptest.Config(t)
	app := apptest.Start(t, cfg)
	home := t.TempDir()
	file := filepath.Join(home, "weather.py")
	if err := os.WriteFile(file, []byte(firstProgram(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "BEEOS_DATA=" + cfg.Data}
	agent, err := program.Start("weather", env, python, file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(agent.Kill)
	if _, err := agent.Err.Await(ctx, func(line string) bool { return strings.Contains(line, "connected to") }); err != nil {
		t.Fatalf("%v\n%s", err, agent.Text())
	}
	rest := client.New(app.REST, app.UserKey)
	found, err := rest.Find(ctx, "weather")
	if err != nil {
		t.Fatal(err)
	}
	web := &http.Client{Transport: withKey(app.UserKey)}
	t.Run("MCP", func(t *testing.T) { callOverMCP(ctx, t, web, found.MCPURL) })
	t.Run("A2A", func(t *testing.T) { callOverA2A(ctx, t, web, found.A2AURL) })
	t.Run("REST", func(t *testing.T) {
		answer, err := rest.Invoke(ctx, found.ID, client.InvokeRequest{Message: "Paris"})
		if err != nil || answer.Text != "sunny in Paris for 1 days" {
			t.Errorf("%+v, %v", answer, err)
		}
	})
	if code, err := agent.Terminate(15 * time.Second); err != nil || code != 0 {
		t.Errorf("told to stop, it ended with %d, %v\n%s", code, err, agent.Text())
	}
}

// firstProgram is the first program of the README.
func firstProgram(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(sdk + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "```python\n")
	code, _, ended := strings.Cut(rest, "```")
	if !found || !ended {
		t.Fatal("the README has no program")
	}
	return code
}

// withKey sends a credential along.
type withKey string

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(k))
	return http.DefaultTransport.RoundTrip(r)
}

func callOverMCP(ctx context.Context, t *testing.T, web *http.Client, url string) {
	c := mcp.NewClient(&mcp.Implementation{Name: "stock", Version: "1"}, nil)
	session, err := c.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: web}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "forecast", Arguments: map[string]any{"city": "Rome", "days": 3}})
	if err != nil || result.IsError || len(result.Content) != 1 {
		t.Fatalf("%+v, %v", result, err)
	}
	if text, ok := result.Content[0].(*mcp.TextContent); !ok || text.Text != "sunny in Rome for 3 days" {
		t.Errorf("%+v", result.Content[0])
	}
	if wrong, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "forecast", Arguments: map[string]any{"town": "Rome"}}); err == nil && !wrong.IsError {
		t.Errorf("arguments that do not fit: %+v", wrong)
	}
}

func callOverA2A(ctx context.Context, t *testing.T, web *http.Client, url string) {
	card, err := agentcard.NewResolver(web).Resolve(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	c, err := a2aclient.NewFromCard(ctx, card, a2aclient.WithDefaultsDisabled(), a2aclient.WithJSONRPCTransport(web))
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.SendMessage(ctx, &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("Oslo"))})
	task, ok := got.(*a2a.Task)
	if err != nil || !ok || len(task.Artifacts) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if text := task.Artifacts[0].Parts[0].Text(); text != "sunny in Oslo for 1 days" {
		t.Errorf("%q", text)
	}
}
