package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/beeos/beeos/internal/cli/remote"
	"github.com/beeos/beeos/internal/cli/terminal"
)

// agentEnv is how commands that start an agent find its gateway. The names
// are those that agents themselves read.
type agentEnv struct {
	Gateway string `env:"AGENT_GATEWAY_URL" placeholder:"URL" help:"Agent gateway of the server. Empty: the one that beeos dev runs here."`
	Key     string `env:"BEEOS_KEY" placeholder:"KEY" help:"User key (oag_) to join with. Empty: the one that beeos dev made."`
	Data    string `env:"BEEOS_DATA" default:"./beeos-data" help:"Data folder of beeos dev, to find its server."`
}

// completeFromDev takes what is missing from dev.json. Its key goes to its own
// gateway and to no other.
func (e *agentEnv) completeFromDev() {
	d, err := remote.FindDev(e.Data)
	if err != nil {
		return // the agent itself will say what it misses
	}
	e.Gateway = cmp.Or(e.Gateway, d.Agents)
	if e.Key == "" && e.Gateway == d.Agents && os.Getenv("BEEOS_JOIN_TOKEN") == "" {
		e.Key = d.UserKey
	}
}

func (e *agentEnv) environ() []string {
	env := os.Environ()
	for name, value := range map[string]string{"AGENT_GATEWAY_URL": e.Gateway, "BEEOS_KEY": e.Key} {
		if value != "" {
			env = append(env, name+"="+value)
		}
	}
	if abs, err := filepath.Abs(e.Data); err == nil {
		env = append(env, "BEEOS_DATA="+abs)
	}
	return env
}

// AgentRunCmd builds and runs an agent.
type AgentRunCmd struct {
	agentEnv
	Dir  string   `arg:"" default:"." help:"Folder of the agent."`
	Args []string `arg:"" optional:"" passthrough:"" help:"Arguments for the agent."`
}

// Run builds first and then starts the program itself, so that signals and
// exit codes are the agent's own.
func (c *AgentRunCmd) Run(ctx context.Context, t *terminal.Terminal) error {
	if files, _ := filepath.Glob(filepath.Join(c.Dir, "*.go")); len(files) == 0 {
		name := filepath.Base(c.Dir)
		if !agentName.MatchString(name) { // such as the folder we are in
			name = "NAME"
		}
		return terminal.Hint("there is no Go program in "+c.Dir, "write one with: beeos agent new "+name)
	}
	tmp, err := os.MkdirTemp("", "beeos-agent-")
	if err != nil {
		return fmt.Errorf("build the agent: %w", err)
	}
	defer os.RemoveAll(tmp)
	program := filepath.Join(tmp, "agent")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, ".")
	build.Dir, build.Stdout, build.Stderr = c.Dir, t.Err, t.Err
	if err := build.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return terminal.Hint("the go command is missing", "install Go 1.26 or later from https://go.dev/dl")
		}
		return terminal.Hint("the agent does not build", "see above; for missing modules run: go -C "+formatFolder(c.Dir)+" mod tidy")
	}
	c.completeFromDev()
	run := exec.CommandContext(ctx, program, c.Args...)
	run.Dir, run.Stdin, run.Stdout, run.Stderr, run.Env = c.Dir, t.In, t.Out, t.Err, c.environ()
	ownGroup(run) // Ctrl-C is ours to pass on, once
	run.Cancel = func() error { return run.Process.Signal(os.Interrupt) }
	run.WaitDelay = 15 * time.Second
	t.Note("running %s; talk to it with: beeos call NAME MESSAGE; Ctrl-C stops", c.Dir)
	err = run.Run()
	if ctx.Err() != nil {
		return nil // asked to stop, and stopped
	}
	if err != nil {
		return fmt.Errorf("the agent ended: %w", err)
	}
	return nil
}
