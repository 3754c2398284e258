// Package replay is the command that makes calls again: one, with its input
// edited or not, whose two answers it compares (one.go, edit.go, show.go), or a
// sample of many against another agent (many.go), which counts how many answers
// are the same (report.go). What is known of such a run is in a file (state.go),
// so that it can be broken off and gone on with, and nothing is done twice.
package replay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/cli/remote"
	"github.com/beeos/beeos/internal/cli/terminal"
)

// Cmd makes calls again.
type Cmd struct {
	remote.Server
	Request string `arg:"" optional:"" help:"Id of the call, from: beeos calls. Many calls at once: --agent."`

	Against    string        `placeholder:"AGENT" help:"Ask this agent instead: id, slug or name."`
	Edit       bool          `help:"Change the input in $EDITOR first: the text, or the arguments of a tool as JSON."`
	Model      string        `help:"Answer with this model instead: of a built-in agent of yours any, else one that the agent lets callers choose."`
	PromptFile string        `placeholder:"FILE" type:"existingfile" help:"Answer with this system prompt instead; of a built-in agent of yours."`
	AtStep     int           `placeholder:"N" help:"Take the answer up where its model was asked for the N-th time: what came before stays as it was. Of a built-in agent of yours."`
	Yes        bool          `help:"Do it again although it may change things. What needs approval needs it again all the same."`
	Timeout    time.Duration `placeholder:"DURATION" help:"How long to wait for an answer. Default: as long as it takes; 10m for each of many."`
	JSON       bool          `help:"Print JSON."`

	Agent       string        `group:"Many calls" help:"Replay calls to this agent: id, slug or name."`
	Since       time.Duration `group:"Many calls" placeholder:"DURATION" help:"Of the last while: 24h."`
	Until       time.Duration `group:"Many calls" placeholder:"DURATION" help:"But not of this last while: 1h."`
	Tool        string        `group:"Many calls" help:"Of this tool."`
	Outcome     []string      `group:"Many calls" help:"That ended so: ok, failed, refused, busy, canceled, timeout, agent_lost."`
	Sample      int           `group:"Many calls" default:"200" help:"How many of them; drawn evenly, the same ones for the same --seed."`
	Seed        uint64        `group:"Many calls" default:"1" help:"Which sample."`
	Concurrency int           `group:"Many calls" default:"4" help:"How many at once."`
	State       string        `group:"Many calls" placeholder:"FILE" help:"Where to keep what has been done, and all differences. Default: replay-TIME.jsonl here."`
	Resume      string        `group:"Many calls" placeholder:"FILE" type:"existingfile" help:"Go on with a run that was broken off."`
}

const maxConcurrency = 64

// Validate is called by kong: what it finds is a matter of usage.
func (c *Cmd) Validate() error {
	ways := 0
	for _, given := range []bool{c.Request != "", c.Agent != "", c.Resume != ""} {
		if given {
			ways++
		}
	}
	many := c.Agent != ""
	switch {
	case ways != 1:
		return errors.New("give one of: the id of a call, --agent and --resume")
	case c.Edit && c.Request == "":
		return errors.New("--edit is for one call")
	case c.AtStep < 0:
		return errors.New("--at-step counts from 1")
	case c.AtStep > 0 && (c.Request == "" || c.Edit || c.Against != ""):
		return errors.New("--at-step is for one call, as it was, by the agent that answered it: without --edit and --against")
	case !many && (c.Since > 0 || c.Until > 0 || c.Tool != "" || len(c.Outcome) > 0 || c.State != ""):
		return errors.New("--since, --until, --tool, --outcome and --state go with --agent")
	case c.Sample < 1 || c.Concurrency < 1 || c.Concurrency > maxConcurrency:
		return fmt.Errorf("--sample must be at least 1, --concurrency from 1 to %d", maxConcurrency)
	}
	return nil
}

// Run replays.
func (c *Cmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client) error {
	if c.Resume != "" {
		return c.resumeRun(ctx, t, cl)
	}
	what, err := c.newRequest(ctx, cl)
	if err != nil {
		return err
	}
	if c.Agent != "" {
		return c.beginRun(ctx, t, cl, what)
	}
	return c.replayOne(ctx, t, cl, what)
}

// newRequest is what of the calls is to be different.
func (c *Cmd) newRequest(ctx context.Context, cl *client.Client) (r client.ReplayRequest, err error) {
	r.Model, r.AtStep, r.Confirm = c.Model, c.AtStep, c.Yes
	if c.PromptFile != "" {
		text, err := os.ReadFile(c.PromptFile)
		if err != nil {
			return r, fmt.Errorf("read the prompt: %w", err)
		}
		prompt := string(text)
		r.Prompt = &prompt
	}
	if c.Against != "" {
		a, err := cl.Find(ctx, c.Against)
		if err != nil {
			return r, err
		}
		r.AgentID = a.ID
	}
	return r, nil
}

// hintYes says what to do about a call that may change things.
func hintYes(err error) error {
	if beeos.CodeOf(err) == beeos.ConfirmationRequired {
		return terminal.AddHint(err, "say --yes if it may be done again")
	}
	return err
}
