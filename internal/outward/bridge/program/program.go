// Package program runs the program behind an agent: lines go to its stdin, and
// the lines of its stdout, up to a length, to whoever reads them (program.go).
// What it writes to stderr goes to the log and, while it works on a message, to
// the page of the agent (stderr.go).
package program

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"os/exec"
	"sync"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
)

// Options say what is run, and who reads what it writes.
type Options struct {
	Command []string
	Dir     string
	Env     []string // nil = ours
	Log     *slog.Logger
	Secrets []string // what no log but ours may show
	MaxLine int      // bytes of a line; a longer one ends the program

	Read   func(ctx context.Context, line []byte) // a line of stdout; one at a time
	Newest func() *agent.Reply                    // the answer that it began last; nil = it works on none
	Ended  func()                                 // called once its last line was read, before Gone closes; may be nil
}

// Process is one life of a program.
type Process struct {
	Options
	Gone chan struct{} // closed when it has ended

	stdin chan []byte   // lines for it
	over  chan struct{} // closed when there will be no more of them
	end   chan struct{} // closed when it is to end
	stop  func()
}

// New returns a process that is ready to Run.
func New(o Options) *Process {
	p := &Process{Options: o, Gone: make(chan struct{}), stdin: make(chan []byte, 64), over: make(chan struct{}), end: make(chan struct{})}
	p.stop = sync.OnceFunc(func() { close(p.end) })
	return p
}

// ErrInputBlocked is for a message that the program did not read in time.
var ErrInputBlocked = errors.New("the program behind this agent does not read its input")

// Stop tells the program to end: its stdin does, and after a while it is killed.
func (p *Process) Stop() { p.stop() }

// Write hands a line, with its end, to the program.
func (p *Process) Write(ctx context.Context, line []byte) error {
	select {
	case p.stdin <- line:
		return nil
	case <-p.Gone:
		return upstream.ErrGone
	case <-ctx.Done():
		return ErrInputBlocked
	}
}

// TryWrite hands it a line that need not arrive: one that does not read need not
// know.
func (p *Process) TryWrite(line []byte) {
	select {
	case p.stdin <- line:
	default:
	}
}

// Run starts the program and returns when it has ended. started is told when it
// is there.
func (p *Process) Run(ctx context.Context, started func()) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cmd := exec.CommandContext(ctx, p.Command[0], p.Command[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = p.Dir, p.Env, upstream.ExitWithin
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	cmd.Cancel = func() error { // its stdin ends, the polite way to say it; after WaitDelay it is killed
		close(p.over)
		return nil
	}
	stdout, toStdout := io.Pipe()
	lines := newStderrLines(p.Newest, p.Secrets)
	lines.run()
	stderr := &upstream.LineLog{Log: p.Log, Also: lines.add}
	cmd.Stdout, cmd.Stderr = toStdout, stderr
	if err := cmd.Start(); err != nil {
		lines.close()
		return err
	}
	started()
	var helpers, reader sync.WaitGroup
	helpers.Go(func() { p.writeInput(stdin) })
	helpers.Go(func() {
		select {
		case <-p.end:
			stop()
		case <-p.Gone:
		}
	})
	reader.Go(func() { p.readOutput(ctx, stdout) })
	err = cmd.Wait()
	stderr.Flush()
	lines.close()
	toStdout.Close() //nolint:errcheck // never fails
	reader.Wait()    // its last words count
	if p.Ended != nil {
		p.Ended()
	}
	close(p.Gone)
	helpers.Wait()
	return err
}

// writeInput writes lines until the program has ended. One that is to end gets
// what is left of them, and then the end of the file.
func (p *Process) writeInput(stdin io.WriteCloser) {
	defer stdin.Close() //nolint:errcheck // it is over either way
	for {
		var line []byte
		select {
		case line = <-p.stdin:
		case <-p.Gone:
			return
		case <-p.over:
			select {
			case line = <-p.stdin:
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
func (p *Process) readOutput(ctx context.Context, stdout io.Reader) {
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, p.MaxLine)
	for lines.Scan() {
		if len(lines.Bytes()) > 0 {
			p.Read(ctx, lines.Bytes())
		}
	}
	if err := lines.Err(); err != nil {
		p.Log.Error("the program's output cannot be read any more", "err", err)
		p.Stop()
		io.Copy(io.Discard, stdout) //nolint:errcheck // so that it can at least end
	}
}
