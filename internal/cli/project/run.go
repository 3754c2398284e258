package project

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/beeos/beeos/internal/cli/remote"
	"github.com/beeos/beeos/internal/cli/terminal"
)

// stopWithin is how long an agent may take for the answers that it is at.
const stopWithin = 15 * time.Second

// RunCmd runs an agent, again whenever its files change.
type RunCmd struct {
	remote.AgentEnv
	Dir    string   `arg:"" default:"." help:"Folder of the agent."`
	Args   []string `arg:"" optional:"" passthrough:"" help:"Arguments for the agent."`
	Reload bool     `default:"true" negatable:"" help:"Start it again when a file of the folder changes."`
}

// Run starts the program itself, so that signals and exit codes are the agent's
// own.
func (c *RunCmd) Run(ctx context.Context, t *terminal.Terminal) error {
	made, err := findRuntime(c.Dir)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "beeos-agent-")
	if err != nil {
		return fmt.Errorf("run the agent: %w", err)
	}
	defer os.RemoveAll(scratch)
	c.CompleteFromDev()
	r := &runner{cmd: c, t: t, build: func() ([]string, error) { return made(ctx, t, c.Dir, scratch) }}
	return r.run(ctx)
}

// runner keeps an agent running.
type runner struct {
	cmd      *RunCmd
	t        *terminal.Terminal
	build    func() (command []string, err error) // makes the agent ready to run
	seen     folder                               // of which it was built
	reloaded bool
}

func (r *runner) prepare() ([]string, error) {
	r.seen = readFolder(r.cmd.Dir) // before: what changes meanwhile is a change
	return r.build()
}

// run returns when the agent has ended by itself, or is told to stop. One that ends
// with an error right after a change may be half-written: then the next change is
// waited for.
func (r *runner) run(ctx context.Context) error {
	command, err := r.prepare()
	if err != nil {
		return err
	}
	r.t.Note("running %s; talk to it with: beeos call NAME MESSAGE; Ctrl-C stops", r.cmd.Dir)
	for {
		agentCtx, stop := context.WithCancel(ctx)
		ended := r.start(agentCtx, command)
		changed := r.watch(agentCtx)
		select {
		case err = <-ended:
			if ctx.Err() != nil {
				stop()
				return nil // asked to stop, and stopped
			}
			if err == nil || !r.reloaded {
				stop()
				return err
			}
			r.t.Say("%v; waiting for a change in %s", err, r.cmd.Dir)
			select {
			case <-changed:
			case <-ctx.Done():
			}
			ended <- err // there is nothing to wait for
		case <-changed:
		}
		command, err = r.prepareAgain(ctx, command)
		stop()
		<-ended
		if err != nil {
			return nil //nolint:nilerr // told to stop meanwhile
		}
		r.reloaded = true
		r.t.Note("%s has changed; running it again", r.cmd.Dir)
	}
}

// prepareAgain makes a changed agent ready. While that is impossible the old one goes on.
func (r *runner) prepareAgain(ctx context.Context, old []string) ([]string, error) {
	for ctx.Err() == nil {
		command, err := r.prepare()
		if err == nil {
			return command, nil
		}
		r.t.Say("%v; the agent goes on as it was", err)
		select {
		case <-r.watch(ctx):
		case <-ctx.Done():
		}
	}
	return old, ctx.Err()
}

// start runs the agent until its context ends. The channel has what came of it.
func (r *runner) start(ctx context.Context, command []string) chan error {
	run := exec.CommandContext(ctx, command[0], slices.Concat(command[1:], r.cmd.Args)...)
	run.Dir, run.Stdin, run.Stdout, run.Stderr, run.Env = r.cmd.Dir, r.t.In, r.t.Out, r.t.Err, r.cmd.Environ()
	ownGroup(run) // Ctrl-C is ours to pass on, once
	run.Cancel = func() error { return run.Process.Signal(os.Interrupt) }
	run.WaitDelay = stopWithin
	ended := make(chan error, 1)
	go func() { // ends with the agent
		err := run.Run()
		if errors.Is(err, exec.ErrNotFound) {
			err = terminal.Hint(command[0]+" is missing", "install it, or put it on the PATH")
		} else if err != nil {
			err = fmt.Errorf("the agent ended: %w", err)
		}
		ended <- err
	}()
	return ended
}

// watch tells once that the folder is no longer as the agent was built of it; never if
// that is not to be reloaded.
func (r *runner) watch(ctx context.Context) <-chan struct{} {
	changed := make(chan struct{})
	if r.cmd.Reload {
		go waitForChange(ctx, r.cmd.Dir, r.seen, changed)
	}
	return changed
}
