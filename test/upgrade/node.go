package upgrade

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/beeos/beeos/test/ports"
	"github.com/beeos/beeos/test/program"
)

// Node is a place for a server: ports, a data folder and settings that stay when
// the program is another one.
type Node struct {
	Name              string
	Data              string
	MCP, REST, Agents string // URLs
	Process           *program.Process

	env     []string
	free    func()
	earlier []*program.Process
}

// NewNode lays out a place below dir; settings are NAME=value.
func NewNode(dir, name string, settings ...string) (*Node, error) {
	addrs, free, err := ports.Addrs(5)
	if err != nil {
		return nil, err
	}
	n := &Node{Name: name, Data: filepath.Join(dir, name), free: free, MCP: "http://" + addrs[0], REST: "http://" + addrs[1], Agents: "http://" + addrs[2]}
	n.env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + os.TempDir(), "BEEOS_DATA=" + n.Data,
		"MCP_ADDR=" + addrs[0], "OPENAPI_ADDR=" + addrs[1], "AGENT_GATEWAY_ADDR=" + addrs[2], "A2A_ADDR=" + addrs[3], "WEB_ADDR=" + addrs[4], "WEB_PUBLIC_URL=http://" + addrs[4],
		"BEEOS_RATE_LIMIT=1000000000", "BEEOS_ALLOW_PRIVATE=true", "BEEOS_ADMIN_ADDR=off",
	}, settings...)
	return n, nil
}

// startWithin is generous: the machine may have other things to do.
const startWithin = time.Minute

// Start runs a server there and returns once it is ready.
func (n *Node) Start(ctx context.Context, p Programs) (err error) {
	if n.Process != nil {
		n.earlier = append(n.earlier, n.Process)
	}
	if n.Process, err = program.Start(n.Name, n.env, p.Server, "serve"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	if _, err := n.Process.Err.Await(ctx, func(line string) bool { return strings.Contains(line, `"msg":"ready"`) }); err != nil {
		return fmt.Errorf("%s does not become ready: %w\n%s", n.Name, err, n.Process.Text())
	}
	return nil
}

// Stop ends the server in order.
func (n *Node) Stop() error {
	code, err := n.Process.Terminate(startWithin)
	if err == nil && code != 0 {
		err = fmt.Errorf("%s ended with code %d\n%s", n.Name, code, n.Process.Text())
	}
	return err
}

// Close frees the ports, and ends what still runs.
func (n *Node) Close() {
	if n.Process != nil {
		n.Process.Kill()
	}
	n.free()
}

// Run runs a command of a server's program beside it, and returns what it printed.
func (n *Node) Run(ctx context.Context, p Programs, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, p.Server, args...)
	cmd.Env = n.env
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("beeos %s: %w\n%s%s", strings.Join(args, " "), err, out, exit.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}

// Owner makes a user with a key, as a new server's first one is made.
func (n *Node) Owner(ctx context.Context, p Programs) (key string, err error) {
	return n.Run(ctx, p, "keys", "create", "--owner", "owner@example.com")
}

// Agent is a running agent.
type Agent struct {
	*program.Process
	ID string
}

// StartAgent connects an agent, whose identity is in a file, to a gateway.
func StartAgent(ctx context.Context, p Programs, gateway, key, identity string) (a *Agent, err error) {
	a = &Agent{}
	a.Process, err = program.Start("agent", []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(identity),
		"AGENT_GATEWAY_URL=" + gateway, "BEEOS_KEY=" + key, "UPGRADE_IDENTITY=" + identity,
	}, p.Agent)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	line, err := a.Out.Await(ctx, func(line string) bool { return strings.HasPrefix(line, "connected ") })
	if err != nil {
		a.Kill()
		return nil, fmt.Errorf("the agent does not connect: %w\n%s", err, a.Text())
	}
	a.ID = strings.TrimPrefix(line, "connected ")
	return a, nil
}

// Begun counts how often the agent began to work on each text.
func (a *Agent) Begun() map[string]int {
	times := map[string]int{}
	for _, line := range a.Out.All() {
		if f := strings.SplitN(line, " ", 4); len(f) == 4 && f[0] == "begin" {
			times[f[3]]++
		}
	}
	return times
}
