// Package exec turns a program into an agent: it keeps the program running,
// writes each message to its stdin as a line of JSON, and forwards the lines
// that it answers with. Package jsonline has the format. What the program
// writes to stderr goes to the log and, while it works on a message, to the page
// of the agent (stderr.go); when it ends it is started again, and the messages
// that it had not answered fail.
package exec

import (
	"bufio"
	"cmp"
	"context"
	_ "embed" // of the sample
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/bridge/jsonline"
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
	p := &program{command: command, dir: s.Dir, env: s.Env, log: s.Log().With("program", command[0]), secrets: findSecrets(&s), current: upstream.NewSlot[process]()}
	watched := p.connected.Watch(s.Agent)
	watched.Restart = p.restart
	a, err := agent.New(watched, p.answerMessage)
	if err != nil {
		return err
	}
	p.agent = a
	return upstream.ServeBeside(ctx, p.keepAlive, a.Run)
}

// program is what stands behind an agent: one process after the other.
type program struct {
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
func (p *program) declare(ctx context.Context, d *jsonline.Declaration) {
	if err := p.connected.Declare(ctx, p.agent, d); err != nil {
		p.log.Warn("the gateway was not told what the program offers", "err", err)
	}
}

// process is one life of the program.
type process struct {
	stdin chan []byte   // lines for it
	over  chan struct{} // closed when there will be no more of them
	gone  chan struct{} // closed when it has ended
	stop  func()        // tells it to end

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

var errInputBlocked = errors.New("the program behind this agent does not read its input")

// answerMessage handles one message: it writes the line and passes on what
// comes back.
func (p *program) answerMessage(ctx context.Context, m agent.Message, r *agent.Reply) error {
	line, err := jsonline.NewInput(m).Encode()
	if err != nil {
		return fmt.Errorf("the message cannot be passed on: %w", err)
	}
	proc, x, err := p.openMessage(ctx, m.ID, r)
	if err != nil {
		return err
	}
	defer proc.closeMessage(m.ID, x)
	if err := proc.writeLine(ctx, line); err != nil {
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
		case <-proc.gone:
			return p.forwardRest(ctx, x, r)
		case <-ctx.Done():
			proc.cancelMessage(m.ID, context.Cause(ctx))
			return context.Cause(ctx)
		}
	}
}

// decideApproval has a question of the program's decided and tells it how.
func (p *program) decideApproval(ctx context.Context, proc *process, id string, a jsonline.Approval, r *agent.Reply) {
	d, err := a.Decide(ctx, r)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		p.log.Warn("nobody can decide about a tool", "tool", upstream.Shorten(a.Tool), "err", err)
		d.Reason = "nobody can decide about it now"
	}
	if line, err := (jsonline.Input{ID: id, Decision: &d}).Encode(); err == nil {
		_ = proc.writeLine(ctx, line) // ended, or does not read: then it need not know
	}
}

// openMessage gives a message to the process that runs, or to the next.
func (p *program) openMessage(ctx context.Context, id string, r *agent.Reply) (*process, *openMessage, error) {
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
func (p *program) restart() {
	proc := p.running.Load()
	if proc == nil || !p.current.Empty(proc) {
		return // it is about to be started anyway
	}
	p.asked.Store(true)
	idle := proc.leave()
	go func() {
		select {
		case <-idle:
		case <-proc.gone:
		case <-time.After(finishWithin):
			p.log.Warn("the program is restarted with unfinished answers", "after", finishWithin)
		}
		proc.stop()
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

func (proc *process) writeLine(ctx context.Context, line []byte) error {
	select {
	case proc.stdin <- line:
		return nil
	case <-proc.gone:
		return upstream.ErrGone
	case <-ctx.Done():
		return errInputBlocked
	}
}

// cancelMessage tells the program that nobody waits for the answer any more;
// one that does not read need not know.
func (proc *process) cancelMessage(id string, why error) {
	if line, err := (jsonline.Input{ID: id, Cancel: why.Error()}).Encode(); err == nil {
		select {
		case proc.stdin <- line:
		default:
		}
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
func (p *program) forward(ctx context.Context, s jsonline.Output, r *agent.Reply) error {
	if err := s.AttachFiles(ctx, r, cmp.Or(p.dir, ".")); err != nil {
		return err
	}
	return s.Forward(r)
}

// forwardRest passes on what the program had said when it ended.
func (p *program) forwardRest(ctx context.Context, x *openMessage, r *agent.Reply) error {
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
func (p *program) keepAlive(ctx context.Context) {
	upstream.KeepRunning(ctx, p.runOnce, func(pause time.Duration, err error) {
		if p.asked.Swap(false) {
			p.log.Info("the program is restarted, as its owner asked", "in", pause.String())
			return
		}
		p.log.Error("the program ended; starting it again", "in", pause.String(), "err", err)
	})
}

// runOnce is one life of the program.
func (p *program) runOnce(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cmd := exec.CommandContext(ctx, p.command[0], p.command[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = p.dir, p.env, upstream.ExitWithin
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	proc := &process{stdin: make(chan []byte, 64), over: make(chan struct{}), gone: make(chan struct{}), stop: stop, open: map[string]*openMessage{}}
	cmd.Cancel = func() error { // its stdin ends, the polite way to say it; after WaitDelay it is killed
		close(proc.over)
		return nil
	}
	stdout, toStdout := io.Pipe()
	lines := newStderrLines(proc, p.secrets)
	lines.run()
	stderr := &upstream.LineLog{Log: p.log, Also: lines.add}
	cmd.Stdout, cmd.Stderr = toStdout, stderr
	if err := cmd.Start(); err != nil {
		lines.close()
		return err
	}
	p.running.Store(proc)
	p.current.Fill(proc)
	var writer, reader sync.WaitGroup
	writer.Go(func() { proc.writeInput(stdin) })
	reader.Go(func() { p.readOutput(ctx, proc, stdout, stop) })
	err = cmd.Wait()
	stderr.Flush()
	lines.close()
	toStdout.Close() //nolint:errcheck // never fails
	reader.Wait()    // its last words count
	p.current.Empty(proc)
	close(proc.gone)
	writer.Wait()
	return err
}

// writeInput writes lines until the program has ended. One that is to end gets
// what is left of them, and then the end of the file.
func (proc *process) writeInput(stdin io.WriteCloser) {
	defer stdin.Close() //nolint:errcheck // it is over either way
	for {
		var line []byte
		select {
		case line = <-proc.stdin:
		case <-proc.gone:
			return
		case <-proc.over:
			select {
			case line = <-proc.stdin:
			default:
				return
			}
		}
		if _, err := stdin.Write(line); err != nil {
			return // it is ending
		}
	}
}

// readOutput reads the program's lines. One whose lines cannot be told apart
// any more is stopped: nothing that it answers would be heard.
func (p *program) readOutput(ctx context.Context, proc *process, stdout io.Reader, stop func()) {
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, upstream.MaxLine)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		s, err := jsonline.ParseOutput(lines.Bytes())
		if err != nil {
			p.log.Warn("a line of the program's cannot be used", "err", err, "line", upstream.Shorten(lines.Text()))
			continue
		}
		if s.Declare != nil {
			p.declare(ctx, s.Declare)
		}
		if s.ID != "" {
			proc.deliverOutput(s)
		}
	}
	if err := lines.Err(); err != nil {
		p.log.Error("the program's output cannot be read any more", "err", err)
		stop()
		io.Copy(io.Discard, stdout) //nolint:errcheck // so that it can at least end
	}
}
