// Package acp turns a coding agent that speaks the Agent Client Protocol on its
// stdin and stdout (docs/adr/0042) into an agent. acp.go keeps the program there;
// a conversation is a session of it (sessions.go), a message is a prompt
// (turn.go, prompt.go), and what it tells meanwhile goes to the caller
// (updates.go, tool_calls.go). What it asks for, it gets from a person
// (permission.go) or within one folder (requests.go). Its mode is the operator's
// choice, its model also the caller's (choices.go). protocol.go has the words of
// the protocol.
//
// Below, rpc is JSON-RPC over lines, folder the place where the agent may work,
// terminal runs commands for it, and sandbox confines the program itself.
package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/bridge/acp/folder"
	"github.com/beeos/beeos/internal/outward/bridge/acp/rpc"
	"github.com/beeos/beeos/internal/outward/bridge/acp/sandbox"
	"github.com/beeos/beeos/internal/outward/bridge/acp/terminal"
	"github.com/beeos/beeos/internal/outward/bridge/program"
	"github.com/beeos/beeos/internal/outward/bridge/settings"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
)

// Options say which coding agent becomes an agent, and what it may do.
type Options struct {
	Command upstream.Command `name:"acp" xor:"what" placeholder:"CMD" example:"npx -y @agentclientprotocol/claude-agent-acp@0.99.1" yaml:"acp" help:"Coding agent that speaks the Agent Client Protocol: Claude Code, Codex, Gemini CLI, Goose and others."`
	Cwd     string           `name:"cwd" placeholder:"DIR" yaml:"cwd" help:"With --acp: the folder that it works in. Empty: where the program runs."`
	Allow   []string         `name:"allow" placeholder:"WHAT" yaml:"allow" help:"With --acp: what it may have this program do in that folder: read, write, terminal; several with commas. Empty: nothing."`
	Login   string           `name:"acp-login" placeholder:"METHOD" yaml:"acp_login" help:"With --acp: how it is to log in, of the ways that it offers, if it does not by itself."`
	Mode    string           `name:"acp-mode" placeholder:"MODE" yaml:"acp_mode" help:"With --acp: the mode that it works in, of those that it offers, such as plan. Empty: its own."`
	Models  []string         `name:"acp-models" placeholder:"MODEL" yaml:"acp_models" help:"With --acp: the models that callers may choose for a conversation, of those that it offers; several with commas. The first answers who chooses none. Empty: its own."`

	Sandbox bool     `name:"sandbox" yaml:"sandbox" help:"With --acp: run the program so that it sees the system and that folder only, and changes that folder only. Linux, with bubblewrap."`
	Read    []string `name:"sandbox-read" placeholder:"PATH" yaml:"sandbox_read" help:"With --acp: what else it may read in the sandbox; several with commas."`
	Write   []string `name:"sandbox-write" placeholder:"PATH" yaml:"sandbox_write" help:"With --acp: what else it may change in the sandbox, such as ~/.claude; several with commas."`
}

// What can be allowed.
const (
	allowRead     = "read"
	allowWrite    = "write"
	allowTerminal = "terminal"
)

// Given reports whether there is a coding agent.
func (o *Options) Given() bool { return o.Command.Given() }

// Check finds mistakes before anything runs. The program may be installed later.
func (o *Options) Check(s *settings.Bridge) error {
	for _, what := range o.Allow {
		if !slices.Contains([]string{allowRead, allowWrite, allowTerminal}, what) {
			return fmt.Errorf("%s can be read, write and terminal, not %q", s.Option("allow"), what)
		}
	}
	if info, err := os.Stat(o.folderPath(s)); err != nil || !info.IsDir() {
		return fmt.Errorf("%s: there is no folder %s; make it, or name another", s.Option("cwd"), o.folderPath(s))
	}
	if !o.Sandbox && len(o.Read)+len(o.Write) > 0 {
		return errors.New("sandbox-read and sandbox-write are for --sandbox; add it, or leave them out")
	}
	return nil
}

func (o *Options) folderPath(s *settings.Bridge) string {
	path := expandHome(cmp.Or(o.Cwd, "."))
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.Dir, path)
	}
	return path
}

// expandHome is path with the home that a shell would have put there: in a file,
// and behind a comma, none does.
func expandHome(path string) string {
	home, err := os.UserHomeDir()
	if rest, ok := strings.CutPrefix(path, "~"); ok && err == nil && (rest == "" || os.IsPathSeparator(rest[0])) {
		return home + rest
	}
	return path
}

// Run serves the program as an agent until ctx ends.
func (o *Options) Run(ctx context.Context, s settings.Bridge) error {
	if err := o.Check(&s); err != nil {
		return err
	}
	b, err := o.newBridge(&s)
	if err != nil {
		return err
	}
	defer b.folder.Close()
	defer b.settling.Wait()
	return upstream.ServeBeside(ctx, b.keepAlive, func(ctx context.Context) error {
		select { // nothing is online until the program works
		case first := <-b.first:
			describe(&s.Agent, first)
			if len(o.Models) > 1 && len(s.Agent.Capabilities) == 0 {
				s.Agent.Capabilities = json.RawMessage(`{"modelsSet":true}`)
			}
		case <-ctx.Done():
			return nil
		}
		return agent.Run(ctx, s.Agent, b.answerMessage)
	})
}

// bridge stands between an agent and the program: one process after the other.
type bridge struct {
	Options
	command []string
	dir     string
	env     []string
	folder  *folder.Folder
	box     *sandbox.Box // nil = the program is not confined
	log     *slog.Logger
	secrets []string // what no log but ours may show
	current *upstream.Slot[process]
	first   chan *about // what the program says about itself; once

	offered  atomic.Pointer[opened] // what a session could be set to, as the program last told
	idleFor  time.Duration          // after which a session is closed that can be opened again
	sessions known
	settling sync.WaitGroup // what answers have begun and do not wait for
}

// newBridge makes ready what the program needs.
func (o *Options) newBridge(s *settings.Bridge) (b *bridge, err error) {
	b = &bridge{
		Options: *o, command: o.Command.Words(s.Args), dir: cmp.Or(s.Dir, "."), env: ownEnvironment(s.Env), secrets: program.FindSecrets(s),
		current: upstream.NewSlot[process](), first: make(chan *about, 1), idleFor: sessionIdle, sessions: known{of: map[string]string{}},
	}
	b.log = s.Log().With("program", b.command[0])
	if b.folder, err = folder.Open(o.folderPath(s)); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Option("cwd"), err)
	}
	if !o.Sandbox {
		if _, err := exec.LookPath(b.command[0]); err != nil {
			b.folder.Close()
			return nil, fmt.Errorf("the program cannot be run; check its path and that it is executable: %w", err)
		}
		return b, nil
	}
	if b.box, err = b.openSandbox(s); err != nil {
		b.folder.Close()
		return nil, err
	}
	b.dir = b.folder.Path
	b.command = b.box.Wrap(b.command, b.dir)
	return b, nil
}

func (b *bridge) openSandbox(s *settings.Bridge) (*sandbox.Box, error) {
	opts := sandbox.Options{Folder: b.folder.Path}
	for from, to := range map[*[]string]*[]string{&b.Read: &opts.Read, &b.Write: &opts.Write} {
		for _, path := range *from {
			if path = expandHome(path); !filepath.IsAbs(path) {
				path = filepath.Join(cmp.Or(s.Dir, "."), path)
			}
			path, err := filepath.Abs(path)
			if err != nil {
				return nil, err
			}
			*to = append(*to, path)
		}
	}
	box, err := sandbox.New(opts)
	if err != nil {
		return nil, err
	}
	return box, box.CheckProgram(mainProgram(b.command), b.folder.Path)
}

// mainProgram is what a command runs, by way of the shell or not.
func mainProgram(command []string) string {
	if len(command) == 3 && command[0] == "sh" {
		if words := strings.Fields(strings.TrimPrefix(command[2], "exec ")); strings.HasPrefix(command[2], "exec ") && len(words) > 0 {
			return words[0]
		}
	}
	return command[0]
}

// ownEnvironment is that of the program: without what lets somebody into BeeOS. Who
// has its owner's key can approve what it asks for.
func ownEnvironment(env []string) []string {
	if env == nil {
		env = os.Environ()
	}
	return slices.DeleteFunc(slices.Clone(env), func(v string) bool { return strings.HasPrefix(v, "BEEOS_") })
}

// describe takes from the program what the operator did not say.
func describe(o *agent.Options, a *about) {
	o.DisplayName = cmp.Or(o.DisplayName, a.Agent.Title)
	o.Version = cmp.Or(o.Version, a.Agent.Version)
	// An agent that has begun may have changed something already.
	o.Redelivery = cmp.Or(o.Redelivery, beeos.RedeliverBeforeStart)
}

// process is one life of the program.
type process struct {
	*program.Process
	bridge    *bridge
	peer      *rpc.Peer
	terminals *terminal.Terminals
	about     about
	newest    atomic.Pointer[turn]

	mu        sync.Mutex
	byChannel map[string]*session
	byID      map[string]*session
}

// keepAlive runs the program, and runs it again when it ends, until ctx does.
func (b *bridge) keepAlive(ctx context.Context) {
	upstream.KeepRunning(ctx, b.runOnce, func(pause time.Duration, err error) {
		b.log.Error("the program ended; starting it again", "in", pause.String(), "err", err)
	})
}

// runOnce is one life of the program. It gets messages once it is of use.
func (b *bridge) runOnce(ctx context.Context) error {
	p := &process{bridge: b, terminals: terminal.New(), byChannel: map[string]*session{}, byID: map[string]*session{}}
	p.Process = program.New(program.Options{
		Command: b.command, Dir: b.dir, Env: b.env, Log: b.log, Secrets: b.secrets, MaxLine: upstream.MaxMessage,
		Read:   func(ctx context.Context, line []byte) { p.peer.Receive(ctx, line) },
		Newest: p.newestReply,
		Ended:  func() { b.current.Empty(p) },
	})
	p.peer = rpc.New(rpc.Options{Line: p, Gone: p.Gone, Log: b.log, Answer: p.answerRequest, Notice: p.notice, Babble: p.Stop})
	var beside sync.WaitGroup
	var unusable error
	err := p.Run(ctx, func() {
		beside.Go(func() {
			if unusable = p.initialize(ctx); unusable != nil {
				p.Stop()
				return
			}
			select {
			case b.first <- &p.about:
			default: // nobody waits for it any more
			}
			b.current.Fill(p)
			p.closeIdleSessions(ctx)
		})
	})
	p.terminals.Close()
	p.peer.Wait()
	beside.Wait()
	return cmp.Or(unusable, err)
}

// initialize agrees with the program on how to talk.
func (p *process) initialize(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, upstream.OpenWithin)
	defer cancel()
	err := p.peer.Call(ctx, "initialize", p.bridge.introduction(), &p.about)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the program did not answer initialize within %s; does it speak the Agent Client Protocol? Some need a flag for it", upstream.OpenWithin)
	case err != nil:
		return fmt.Errorf("initialize: %w", err)
	case p.about.Version != protocolVersion:
		return fmt.Errorf("the program speaks version %d of the Agent Client Protocol, and BeeOS version %d; install a release of it that does, too", p.about.Version, protocolVersion)
	case p.bridge.Login == "":
		return nil
	}
	if err := p.peer.Call(ctx, "authenticate", map[string]string{"methodId": p.bridge.Login}, &struct{}{}); err != nil {
		return fmt.Errorf("the program could not log in by %q: %w; it offers %s", p.bridge.Login, err, p.about.listLogins())
	}
	return nil
}

// allows reports whether the operator has allowed something.
func (b *bridge) allows(what string) bool { return slices.Contains(b.Allow, what) }

// newestReply is the answer that the program began last; nil = it works on none.
func (p *process) newestReply() *agent.Reply {
	if t := p.newest.Load(); t != nil && t.ctx.Err() == nil {
		return t.r
	}
	return nil
}
