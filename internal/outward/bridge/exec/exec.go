// Package exec turns a program into an agent: it keeps the program running,
// writes each message to its stdin as a line of JSON, and forwards the lines
// that it answers with. Package jsonline has the format, package program runs it;
// when it ends it is started again, and the messages that it had not answered fail.
package exec

import (
	"cmp"
	"context"
	_ "embed" // of the sample
	"fmt"
	"log/slog"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/bridge/jsonline"
	"github.com/beeos/beeos/internal/outward/bridge/program"
	"github.com/beeos/beeos/internal/outward/bridge/settings"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
)

// Options say which program becomes an agent.
type Options struct {
	Command upstream.Command `name:"exec" xor:"what" placeholder:"CMD" example:"python3 agent.py" yaml:"exec" help:"Program that answers: a JSON line on stdin per message, JSON lines on stdout. More than one word is run by the shell."`
}

//go:embed sample.py
var sample string

// Sample is a whole agent that answers with what it was told.
func (*Options) Sample() string { return sample }

// Given reports whether there is a program.
func (o *Options) Given() bool { return o.Command.Given() }

// Check has nothing to find: the program may be installed later.
func (o *Options) Check(*settings.Bridge) error { return nil }

// Run serves the program as an agent until ctx ends.
func (o *Options) Run(ctx context.Context, s settings.Bridge) error {
	command := o.Command.Words(s.Args)
	if _, err := exec.LookPath(command[0]); err != nil {
		return fmt.Errorf("the program cannot be run; check its path and that it is executable: %w", err)
	}
	p := &bridge{command: command, dir: s.Dir, env: s.Env, log: s.Log().With("program", command[0]), secrets: program.FindSecrets(&s), current: upstream.NewSlot[process]()}
	watched := p.connected.Watch(s.Agent)
	watched.Restart = p.restart
	a, err := agent.New(watched, p.answerMessage)
	if err != nil {
		return err
	}
	p.agent = a
	return upstream.ServeBeside(ctx, p.keepAlive, a.Run)
}

// bridge keeps the program behind an agent: one process after the other.
type bridge struct {
	command []string
	dir     string
	env     []string
	log     *slog.Logger
	secrets []string // what must not leave the machine
	current *upstream.Slot[process]
	agent   *agent.Agent
	running atomic.Pointer[process]
	asked   atomic.Bool // its owner asked for the restart that is under way

	connected jsonline.Connected
}

// declare shows callers what the program says that it offers.
func (p *bridge) declare(ctx context.Context, d *jsonline.Declaration) {
	if err := p.connected.Declare(ctx, p.agent, d); err != nil {
		p.log.Warn("the gateway was not told what the program offers", "err", err)
	}
}

// process is one life of the program.
type process struct {
	*program.Process

	mu      sync.Mutex
	open    map[string]*openMessage // messages that it has not answered
	opened  int                     // messages so far
	leaving chan struct{}           // not nil: it gets no more messages; closed when none is open
}

// openMessage is one message and what the program says about it.
type openMessage struct {
	reply  *agent.Reply
	number int // among those that the process was given
	said   chan jsonline.Output
	done   chan struct{} // closed when nobody listens any more
}

// finishWithin is how long a program that is to be restarted may take over what it
// works on.
const finishWithin = 30 * time.Second

// answerMessage handles one message: it writes the line and passes on what
// comes back.
func (p *bridge) answerMessage(ctx context.Context, m agent.Message, r *agent.Reply) error {
	line, err := jsonline.NewInput(m).Encode()
	if err != nil {
		return fmt.Errorf("the message cannot be passed on: %w", err)
	}
	proc, x, err := p.openMessage(ctx, m.ID, r)
	if err != nil {
		return err
	}
	defer proc.closeMessage(m.ID, x)
	if err := proc.Write(ctx, line); err != nil {
		return err
	}
	// Questions that are open when the answer ends are nobody's any more.
	asking, done := context.WithCancel(ctx)
	var questions sync.WaitGroup
	defer questions.Wait()
	defer done()
	for {
		select {
		case s := <-x.said:
			if s.Approve != nil {
				questions.Go(func() { p.decideApproval(asking, proc, m.ID, *s.Approve, r) })
			}
			if err := p.forward(ctx, s, r); err != nil || s.IsFinal() {
				return err
			}
		case <-proc.Gone:
			return p.forwardRest(ctx, x, r)
		case <-ctx.Done():
			proc.cancelMessage(m.ID, context.Cause(ctx))
			return context.Cause(ctx)
		}
	}
}

// decideApproval has a question of the program's decided and tells it how.
func (p *bridge) decideApproval(ctx context.Context, proc *process, id string, a jsonline.Approval, r *agent.Reply) {
	d, err := a.Decide(ctx, r)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		p.log.Warn("nobody can decide about a tool", "tool", upstream.Shorten(a.Tool), "err", err)
		d.Reason = "nobody can decide about it now"
	}
	if line, err := (jsonline.Input{ID: id, Decision: &d}).Encode(); err == nil {
		_ = proc.Write(ctx, line) // ended, or does not read: then it need not know
	}
}

// openMessage gives a message to the process that runs, or to the next.
func (p *bridge) openMessage(ctx context.Context, id string, r *agent.Reply) (*process, *openMessage, error) {
	for {
		proc, err := p.current.Wait(ctx)
		if err != nil && p.asked.Load() && ctx.Err() == nil {
			continue // the one before finishes its answers first
		}
		if err != nil {
			return nil, nil, err
		}
		if x := proc.openMessage(id, r); x != nil {
			return proc, x, nil
		}
	}
}

// openMessage returns nil when the process gets no more messages.
func (proc *process) openMessage(id string, r *agent.Reply) *openMessage {
	x := &openMessage{reply: r, said: make(chan jsonline.Output, 64), done: make(chan struct{})}
	proc.mu.Lock()
	defer proc.mu.Unlock()
	if proc.leaving != nil {
		return nil
	}
	proc.opened++
	x.number, proc.open[id] = proc.opened, x
	return x
}

// restart lets the process finish what it works on and starts another, at which
// messages that come meanwhile wait.
func (p *bridge) restart() {
	proc := p.running.Load()
	if proc == nil || !p.current.Empty(proc) {
		return // it is about to be started anyway
	}
	p.asked.Store(true)
	idle := proc.leave()
	go func() {
		select {
		case <-idle:
		case <-proc.Gone:
		case <-time.After(finishWithin):
			p.log.Warn("the program is restarted with unfinished answers", "after", finishWithin)
		}
		proc.Stop()
	}()
}

// leave takes no more messages; what it returns is closed when none is open.
func (proc *process) leave() (idle <-chan struct{}) {
	proc.mu.Lock()
	defer proc.mu.Unlock()
	proc.leaving = make(chan struct{})
	if len(proc.open) == 0 {
		close(proc.leaving)
	}
	return proc.leaving
}

func (proc *process) closeMessage(id string, x *openMessage) {
	close(x.done)
	proc.mu.Lock()
	defer proc.mu.Unlock()
	delete(proc.open, id)
	if proc.leaving != nil && len(proc.open) == 0 {
		close(proc.leaving)
	}
}

// cancelMessage tells the program that nobody waits for the answer any more;
// one that does not read need not know.
func (proc *process) cancelMessage(id string, why error) {
	if line, err := (jsonline.Input{ID: id, Cancel: why.Error()}).Encode(); err == nil {
		proc.TryWrite(line)
	}
}

// deliverOutput hands a saying to the message it is about.
func (proc *process) deliverOutput(s jsonline.Output) {
	proc.mu.Lock()
	x := proc.open[s.ID]
	proc.mu.Unlock()
	if x == nil {
		return // cancelled meanwhile, or answered twice
	}
	select {
	case x.said <- s:
	case <-x.done:
	}
}

// forward passes on a saying of the program's, with the files that it names.
func (p *bridge) forward(ctx context.Context, s jsonline.Output, r *agent.Reply) error {
	if err := s.AttachFiles(ctx, r, cmp.Or(p.dir, ".")); err != nil {
		return err
	}
	return s.Forward(r)
}

// forwardRest passes on what the program had said when it ended.
func (p *bridge) forwardRest(ctx context.Context, x *openMessage, r *agent.Reply) error {
	for {
		select {
		case s := <-x.said:
			if err := p.forward(ctx, s, r); err != nil || s.IsFinal() {
				return err
			}
		default:
			return upstream.ErrGone
		}
	}
}

// keepAlive runs the program, and runs it again when it ends, until ctx does.
func (p *bridge) keepAlive(ctx context.Context) {
	upstream.KeepRunning(ctx, p.runOnce, func(pause time.Duration, err error) {
		if p.asked.Swap(false) {
			p.log.Info("the program is restarted, as its owner asked", "in", pause.String())
			return
		}
		p.log.Error("the program ended; starting it again", "in", pause.String(), "err", err)
	})
}

// runOnce is one life of the program.
func (p *bridge) runOnce(ctx context.Context) error {
	proc := &process{open: map[string]*openMessage{}}
	proc.Process = program.New(program.Options{
		Command: p.command, Dir: p.dir, Env: p.env, Log: p.log, Secrets: p.secrets, MaxLine: upstream.MaxLine,
		Read:   func(ctx context.Context, line []byte) { p.readLine(ctx, proc, line) },
		Newest: proc.newestReply,
		Ended:  func() { p.current.Empty(proc) },
	})
	return proc.Run(ctx, func() {
		p.running.Store(proc)
		p.current.Fill(proc)
	})
}

// readLine acts on a line of the program's.
func (p *bridge) readLine(ctx context.Context, proc *process, line []byte) {
	s, err := jsonline.ParseOutput(line)
	if err != nil {
		p.log.Warn("a line of the program's cannot be used", "err", err, "line", upstream.Shorten(string(line)))
		return
	}
	if s.Declare != nil {
		p.declare(ctx, s.Declare)
	}
	if s.ID != "" {
		proc.deliverOutput(s)
	}
}

// newestReply is the answer that the program began last; nil = it works on none.
// Whose line on stderr it is, it does not say.
func (proc *process) newestReply() *agent.Reply {
	proc.mu.Lock()
	defer proc.mu.Unlock()
	var newest *openMessage
	for _, x := range proc.open {
		if newest == nil || x.number > newest.number {
			newest = x
		}
	}
	if newest == nil {
		return nil
	}
	return newest.reply
}
