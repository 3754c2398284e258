//go:build unix

package clients

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/beeos/beeos/test/npm"
)

// TestInspector asks with the command line of the official Inspector.
func TestInspector(t *testing.T) {
	if testing.Short() {
		t.Skip("starts two servers and PostgreSQL")
	}
	tools, err := npm.Install(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	world := start(t, build(t))
	world.Balancer.Use(world.Key, world.Nodes...)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"tools/list"}, `"name": "greet"`},
		{[]string{"tools/call", "--tool-name", "greet", "--tool-arg", "name=Ada"}, "Hello, Ada!"},
		{[]string{"resources/list"}, "beeos://agent/config"},
		{[]string{"resources/read", "--uri", "test://watched-resource"}, "Watched resource content"},
		{[]string{"prompts/list"}, "test_simple_prompt"},
		{[]string{"prompts/get", "--prompt-name", "test_prompt_with_arguments", "--prompt-args", "arg1=one", "arg2=two"}, "arg1='one', arg2='two'"},
	} {
		t.Run(c.args[0], func(t *testing.T) {
			cmd := tools.Node(t.Context(), append([]string{
				tools.Module("@modelcontextprotocol/inspector/cli/build/cli.js"),
				"--cli", world.URL, "--transport", "http", "--method",
			}, c.args...)...)
			cmd.Env = homeless(t, cmd)
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), c.want) {
				t.Errorf("%v, without %q:\n%.2000s", err, c.want, out)
			}
		})
	}
}

// TestMCPRemote speaks through mcp-remote, which makes a program on standard
// input and output of our endpoint, while the server behind it is killed.
func TestMCPRemote(t *testing.T) {
	if testing.Short() {
		t.Skip("starts two servers and PostgreSQL")
	}
	tools, err := npm.Install(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	world := start(t, build(t))
	cmd := tools.Node(t.Context(), tools.Module("mcp-remote/dist/proxy.js"), world.URL, "--allow-http", "--transport", "http-only")
	cmd.Env = homeless(t, cmd)
	pipe := open(t, cmd)
	pipe.say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"desktop","version":"1"}}}`)
	if got := pipe.answer("1"); !strings.Contains(got, `"protocolVersion":"2025-`) {
		t.Errorf("initialize: %s", got)
	}
	pipe.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	greet := func(id, name string) {
		t.Helper()
		pipe.say(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"greet","arguments":{"name":"` + name + `"}}}`)
		if got := pipe.answer(id); !strings.Contains(got, "Hello, "+name+"!") {
			t.Errorf("call %s: %s", id, got)
		}
	}
	greet("2", "Ada")
	world.Nodes[0].Kill()
	world.Balancer.Use(world.Key, world.Nodes[1])
	greet("3", "again")
}

// homeless is an environment in which a program finds nothing of ours, and
// leaves nothing behind.
func homeless(t *testing.T, cmd *exec.Cmd) []string {
	home := t.TempDir()
	return append(cmd.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "MCP_REMOTE_CONFIG_DIR="+home, "MCP_CATALOG_PATH="+home+"/mcp.json")
}

// pipe is a program that speaks JSON-RPC, one message per line.
type pipe struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Scanner
}

// open runs the program until the test ends.
func open(t *testing.T, cmd *exec.Cmd) *pipe {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	if cmd.Stderr == nil {
		cmd.Stderr = &log
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Process.Kill() // it has nothing more to say
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	return &pipe{t, in, lines}
}

func (p *pipe) say(message string) {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.in, message); err != nil {
		p.t.Fatal(err)
	}
}

// answer returns the response to a request, leaving out what comes before it.
func (p *pipe) answer(id string) string {
	p.t.Helper()
	for p.out.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.Unmarshal(p.out.Bytes(), &m); err != nil {
			p.t.Fatalf("%q: %v", p.out.Text(), err)
		}
		if string(m.ID) == id && m.Method == "" {
			return p.out.Text()
		}
	}
	p.t.Fatalf("no answer to %s: %v", id, p.out.Err())
	return ""
}
