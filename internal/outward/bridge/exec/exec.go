// Package exec turns a program into an agent: it keeps the program running,
// writes each message to its stdin as a line of JSON, and forwards the lines
// that it answers with. Package jsonline has the format. What the program
// writes to stderr goes to the log; when it ends it is started again, and the
// messages that it had not answered fail.
package exec

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"sync"
	"time"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/bridge/jsonline"
	"github.com/beeos/beeos/internal/outward/bridge/settings"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
)

// Options say which program becomes an agent.
type Options struct {
	Command upstream.Command `name:"exec" xor:"what" placeholder:"CMD" yaml:"exec" help:"Program that answers: a JSON line on stdin per message, JSON lines on stdout. More than one word is run by the shell."`
}

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
	p := &program{command: command, dir: s.Dir, env: s.Env, log: s.Log().With("program", command[0]), ready: make(chan struct{})}

	// The program outlives the agent: answers in hand are finished first.
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	var keeper sync.WaitGroup
	keeper.Go(func() { p.keepAlive(life) })
	err := agent.Run(ctx, s.Agent, p.answerMessage)
	end()
	keeper.Wait()
	return err
}

// program is what stands behind an agent: one process after the other.
type program struct {
	command []string
	dir     string
	env     []string
	log     *slog.Logger

	mu    sync.Mutex
	now   *process      // nil while there is none
	ready chan struct{} // closed while there is one
}

// process is one life of the program.
type process struct {
	stdin chan []byte   // lines for it
	over  chan struct{} // closed when there will be no more of them
	gone  chan struct{} // closed when it has ended

	mu   sync.Mutex
	open map[string]*openMessage // messages that it has not answered
}

// openMessage is one message and what the program says about it.
type openMessage struct {
	said chan jsonline.Output
	done chan struct{} // closed when nobody listens any more
}

var errInputBlocked = errors.New("the program behind this agent does not read its input")

// answerMessage handles one message: it writes the line and passes on what
// comes back.
func (p *program) answerMessage(ctx context.Context, m agent.Message, r *agent.Reply) error {
	line, err := jsonline.NewInput(m).Encode()
	if err != nil {
		return fmt.Errorf("the message cannot be passed on: %w", err)
	}
	proc, err := p.currentProcess(ctx)
	if err != nil {
		return err
	}
	x := proc.openMessage(m.ID)
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
			if err := s.Forward(r); err != nil || s.IsFinal() {
				return err
			}
		case <-proc.gone:
			return x.forwardRest(r)
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

// currentProcess returns the process, once there is one.
func (p *program) currentProcess(ctx context.Context) (*process, error) {
	p.mu.Lock()
	now, ready := p.now, p.ready
	p.mu.Unlock()
	if now != nil {
		return now, nil
	}
	patience := time.NewTimer(upstream.StartWithin)
	defer patience.Stop()
	select {
	case <-ready:
		return p.currentProcess(ctx)
	case <-patience.C:
		return nil, upstream.ErrAbsent
	case <-ctx.Done():
		return nil, upstream.ErrAbsent
	}
}

func (proc *process) openMessage(id string) *openMessage {
	x := &openMessage{said: make(chan jsonline.Output, 64), done: make(chan struct{})}
	proc.mu.Lock()
	defer proc.mu.Unlock()
	proc.open[id] = x
	return x
}

func (proc *process) closeMessage(id string, x *openMessage) {
	close(x.done)
	proc.mu.Lock()
	defer proc.mu.Unlock()
	delete(proc.open, id)
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

// forwardRest passes on what the program had said when it ended.
func (x *openMessage) forwardRest(r *agent.Reply) error {
	for {
		select {
		case s := <-x.said:
			if err := s.Forward(r); err != nil || s.IsFinal() {
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
	proc := &process{stdin: make(chan []byte, 64), over: make(chan struct{}), gone: make(chan struct{}), open: map[string]*openMessage{}}
	cmd.Cancel = func() error { // its stdin ends, the polite way to say it; after WaitDelay it is killed
		close(proc.over)
		return nil
	}
	stdout, toStdout := io.Pipe()
	stderr, toStderr := io.Pipe()
	cmd.Stdout, cmd.Stderr = toStdout, toStderr
	if err := cmd.Start(); err != nil {
		return err
	}
	p.setCurrent(proc)
	var pipes sync.WaitGroup
	pipes.Go(func() { proc.writeInput(stdin) })
	var readers sync.WaitGroup
	readers.Go(func() { p.logStderr(stderr) })
	readers.Go(func() { p.readOutput(proc, stdout, stop) })
	err = cmd.Wait()
	toStdout.Close() //nolint:errcheck // never fails
	toStderr.Close() //nolint:errcheck // never fails
	readers.Wait()   // its last words count
	p.setCurrent(nil)
	close(proc.gone)
	pipes.Wait()
	return err
}

// setCurrent makes proc the current process; nil = there is none.
func (p *program) setCurrent(proc *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = proc
	if proc != nil {
		close(p.ready)
	} else {
		p.ready = make(chan struct{})
	}
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
func (p *program) readOutput(proc *process, stdout io.Reader, stop func()) {
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
		proc.deliverOutput(s)
	}
	if err := lines.Err(); err != nil {
		p.log.Error("the program's output cannot be read any more", "err", err)
		stop()
		io.Copy(io.Discard, stdout) //nolint:errcheck // so that it can at least end
	}
}

func (p *program) logStderr(stderr io.Reader) {
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, upstream.MaxLine)
	for lines.Scan() {
		p.log.Info(lines.Text())
	}
	io.Copy(io.Discard, stderr) //nolint:errcheck // a line too long: the rest is not worth more
}
