//go:build unix

package pythonsdk

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/program"
	"github.com/beeos/beeos/test/stock"
)

var (
	pythonBlock = regexp.MustCompile("(?ms)^```python\n(.*?)^```$")
	typedLine   = regexp.MustCompile(`(?m)^    (beeos .*)$`)
)

// followPages does what docs/start/agent-python.md says, and runs the first examples
// of docs/how-to/python.md, each as a program of its own.
func followPages(ctx context.Context, t *testing.T, server, python string) {
	cfg := apptest.Config(t)
	app := apptest.Start(t, cfg)
	home := t.TempDir()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "BEEOS_DATA=" + cfg.Data}
	run := func(name, code string) {
		t.Helper()
		file := filepath.Join(home, name+".py")
		if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
		agent, err := program.Start(name, env, python, file)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if code, err := agent.Terminate(15 * time.Second); err != nil || code != 0 {
				t.Errorf("%s ended with %d, %v\n%s", name, code, err, agent.Text())
			}
		})
		if _, err := agent.Err.Await(ctx, func(line string) bool { return strings.Contains(line, "connected to") }); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, agent.Text())
		}
	}

	start := readPage(t, "start/agent-python.md")
	programs := pythonBlock.FindAllStringSubmatch(start, -1)
	typed := typedLine.FindAllStringSubmatch(start, -1)
	promised := regexp.MustCompile("It prints `([^`]+)`").FindStringSubmatch(start)
	if len(programs) != 1 || len(typed) != 1 || promised == nil {
		t.Fatalf("the start page has %d programs, %d commands of beeos, and promises %q; this test follows one of each", len(programs), len(typed), promised)
	}
	run("start", programs[0][1])
	cmd := exec.CommandContext(ctx, "sh", "-c", strings.Replace(typed[0][1], "beeos ", `"$BEEOS" `, 1))
	cmd.Dir, cmd.Env = home, append(env, "BEEOS="+server)
	if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != promised[1] {
		t.Errorf("%s: %v, it prints %q, the page says %q", typed[0][1], err, out, promised[1])
	}

	examples := pythonBlock.FindAllStringSubmatch(readPage(t, "how-to/python.md"), -1)
	const shown = 4 // an agent, tools, chat, resources
	if len(examples) < shown {
		t.Fatalf("the page has %d examples", len(examples))
	}
	rest := client.New(app.REST, app.UserKey)
	find := func(name string) *client.Agent {
		t.Helper()
		found, err := rest.Find(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	for i, name := range []string{"weather", "shop", "chatty", "library"} {
		code := examples[i][1]
		if !strings.Contains(code, `bot = Agent("`+name+`")`) {
			t.Fatalf("example %d is no longer %s", i+1, name)
		}
		if !strings.Contains(code, "bot.run()") { // the page says it once
			code += "\nbot.run()\n"
		}
		run(name, code)
	}
	for name, call := range map[string]struct {
		tool      string
		arguments map[string]any
		want      string
	}{
		"weather": {"forecast", map[string]any{"city": "Oslo"}, "sunny in Oslo for 1 days"},
		"shop":    {"place", map[string]any{"order": map[string]any{"item": "tea", "size": "large"}, "count": 2}, "large"},
	} {
		if got, err := stock.CallTool(ctx, find(name).MCPURL, app.UserKey, call.tool, call.arguments); err != nil || !strings.Contains(got, call.want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if got, err := stock.CallTool(ctx, find("shop").MCPURL, app.UserKey, "place", map[string]any{"order": map[string]any{"item": "tea"}, "count": 11}); err == nil || !strings.Contains(err.Error(), "at most ten") {
		t.Errorf("eleven: %q, %v", got, err)
	}
	answer, err := rest.Invoke(ctx, find("chatty").ID, client.InvokeRequest{Message: "hello"})
	if err != nil || answer.Text != "You said: hello" {
		t.Errorf("chatty: %+v, %v", answer, err)
	}
	find("library")
}

func readPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
