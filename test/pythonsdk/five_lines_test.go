//go:build unix

package pythonsdk

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/program"
	"github.com/beeos/beeos/test/stock"
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
	t.Run("MCP", func(t *testing.T) {
		if got, err := stock.CallTool(ctx, found.MCPURL, app.UserKey, "forecast", map[string]any{"city": "Rome", "days": 3}); err != nil || got != "sunny in Rome for 3 days" {
			t.Errorf("%q, %v", got, err)
		}
		if got, err := stock.CallTool(ctx, found.MCPURL, app.UserKey, "forecast", map[string]any{"town": "Rome"}); err == nil {
			t.Errorf("arguments that do not fit: %q", got)
		}
	})
	t.Run("A2A", func(t *testing.T) {
		if got, err := stock.Say(ctx, found.A2AURL, app.UserKey, "Oslo"); err != nil || got != "sunny in Oslo for 1 days" {
			t.Errorf("%q, %v", got, err)
		}
	})
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
