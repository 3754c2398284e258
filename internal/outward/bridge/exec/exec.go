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
	"github.com/beeos/beeos/internal/outward/bridge/kind"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
)

// Options say which program becomes an agent.
type Options struct {
	Command upstream.Command `name:"exec" xor:"what" placeholder:"CMD" yaml:"exec" help:"Program that answers: a JSON line on stdin per message, JSON lines on stdout. More than one word is run by the shell."`
}

// Given reports whether there is a program.
func (o *Options) Given() bool { return o.Command.Given() }

// Check has nothing to find: the program may be installed later.
func (o *Options) Check(*kind.Settings) error { return nil }

// Run serves the program as an agent until ctx ends.
func (o *Options) Run(ctx context.Context, s kind.Settings) error {
	command := o.Command.Words(s.Args)
	if _, err := exec.LookPath(command[0]); err != nil {
		return fmt.Errorf("the program cannot be run; check its path and that it is executable: %w", err)
	}
	p := &program{command: command, dir: s.Dir, env: s.Env, log: s.Log().With("program", command[0]), ready: make(chan struct{})}

	// The program outlives the agent: answers in hand are finished first.
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	var keeper sync.WaitGroup
	keeper.Go(func() { p.keep(life) })
	err := agent.Run(ctx, s.Agent, p.answer)
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
	open map[string]*exchange // messages that it has not answered
}

// exchange is one message and what the program says about it.
type exchange struct {
	said chan jsonline.Saying
	done chan struct{} // closed when nobody listens any more
}

var errSilence = errors.New("the program behind this agent does not read its input")

// answer handles one message: it writes the line and passes on what comes
// back.
func (p *program) answer(ctx context.Context, m agent.Message, r *agent.Reply) error {
	line, err := jsonline.NewQuestion(m).Line()
	if err != nil {
		return fmt.Errorf("the message cannot be passed on: %w", err)
	}
	proc, err := p.current(ctx)
	if err != nil {
		return err
	}
	x := proc.begin(m.ID)
	defer proc.finish(m.ID, x)
	if err := proc.write(ctx, line); err != nil {
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
				questions.Go(func() { p.approve(asking, proc, m.ID, *s.Approve, r) })
			}
			if err := s.Say(r); err != nil || s.Last() {
				return err
			}
		case <-proc.gone:
			return x.rest(r)
		case <-ctx.Done():
			proc.cancel(m.ID, context.Cause(ctx))
			return context.Cause(ctx)
		}
	}
}

// approve has a question of the program's decided and tells it how.
func (p *program) approve(ctx context.Context, proc *process, id string, a jsonline.Approval, r *agent.Reply) {
	d, err := a.Ask(ctx, r)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		p.log.Warn("nobody can decide about a tool", "tool", upstream.Clip(a.Tool), "err", err)
		d.Reason = "nobody can decide about it now"
	}
	if line, err := (jsonline.Question{ID: id, Decision: &d}).Line(); err == nil {
		_ = proc.write(ctx, line) // ended, or does not read: then it need not know
	}
}

// current returns the process, once there is one.
func (p *program) current(ctx context.Context) (*process, error) {
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
		return p.current(ctx)
	case <-patience.C:
		return nil, upstream.ErrAbsent
	case <-ctx.Done():
		return nil, upstream.ErrAbsent
	}
}

func (proc *process) begin(id string) *exchange {
	x := &exchange{said: make(chan jsonline.Saying, 64), done: make(chan struct{})}
	proc.mu.Lock()
	defer proc.mu.Unlock()
	proc.open[id] = x
	return x
}

func (proc *process) finish(id string, x *exchange) {
	close(x.done)
	proc.mu.Lock()
	defer proc.mu.Unlock()
	delete(proc.open, id)
}

func (proc *process) write(ctx context.Context, line []byte) error {
	select {
	case proc.stdin <- line:
		return nil
	case <-proc.gone:
		return upstream.ErrGone
	case <-ctx.Done():
		return errSilence
	}
}

// cancel tells the program that nobody waits for the answer any more; one
// that does not read need not know.
func (proc *process) cancel(id string, why error) {
	if line, err := (jsonline.Question{ID: id, Cancel: why.Error()}).Line(); err == nil {
		select {
		case proc.stdin <- line:
		default:
		}
	}
}

// hear hands a saying to the message it is about.
func (proc *process) hear(s jsonline.Saying) {
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

// rest passes on what the program had said when it ended.
func (x *exchange) rest(r *agent.Reply) error {
	for {
		select {
		case s := <-x.said:
			if err := s.Say(r); err != nil || s.Last() {
				return err
			}
		default:
			return upstream.ErrGone
		}
	}
}

// keep runs the program, and runs it again when it ends, until ctx does.
func (p *program) keep(ctx context.Context) {
	upstream.KeepRunning(ctx, p.run, func(pause time.Duration, err error) {
		p.log.Error("the program ended; starting it again", "in", pause.String(), "err", err)
	})
}

// run is one life of the program.
func (p *program) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cmd := exec.CommandContext(ctx, p.command[0], p.command[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = p.dir, p.env, upstream.WaitExit
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	proc := &process{stdin: make(chan []byte, 64), over: make(chan struct{}), gone: make(chan struct{}), open: map[string]*exchange{}}
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
	p.set(proc)
	var pipes sync.WaitGroup
	pipes.Go(func() { proc.feed(stdin) })
	var readers sync.WaitGroup
	readers.Go(func() { p.logLines(stderr) })
	readers.Go(func() { p.listen(proc, stdout, stop) })
	err = cmd.Wait()
	toStdout.Close() //nolint:errcheck // never fails
	toStderr.Close() //nolint:errcheck // never fails
	readers.Wait()   // its last words count
	p.set(nil)
	close(proc.gone)
	pipes.Wait()
	return err
}

// set makes proc the current process; nil = there is none.
func (p *program) set(proc *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = proc
	if proc != nil {
		close(p.ready)
	} else {
		p.ready = make(chan struct{})
	}
}

// feed writes lines until the program has ended. One that is to end gets what
// is left of them, and then the end of the file.
func (proc *process) feed(stdin io.WriteCloser) {
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

// listen reads the program's lines. One whose lines cannot be told apart any
// more is stopped: nothing that it answers would be heard.
func (p *program) listen(proc *process, stdout io.Reader, stop func()) {
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, upstream.MaxLine)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		s, err := jsonline.Parse(lines.Bytes())
		if err != nil {
			p.log.Warn("a line of the program's cannot be used", "err", err, "line", upstream.Clip(lines.Text()))
			continue
		}
		proc.hear(s)
	}
	if err := lines.Err(); err != nil {
		p.log.Error("the program's output cannot be read any more", "err", err)
		stop()
		io.Copy(io.Discard, stdout) //nolint:errcheck // so that it can at least end
	}
}

func (p *program) logLines(stderr io.Reader) {
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, upstream.MaxLine)
	for lines.Scan() {
		p.log.Info(lines.Text())
	}
	io.Copy(io.Discard, stderr) //nolint:errcheck // a line too long: the rest is not worth more
}
