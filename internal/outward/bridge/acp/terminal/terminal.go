// Package terminal runs the commands of a coding agent's terminal/* requests: each
// is one process, whose output is kept up to a limit.
package terminal

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/beeos/beeos"
)

// Bounds of what an agent may ask for.
const (
	maxOpen   = 32      // terminals of a program at a time
	maxOutput = 1 << 20 // bytes that are kept of one's output, the newest
	endWithin = 2 * time.Second
)

// Terminals are those of one program. Close ends all of them.
type Terminals struct {
	mu     sync.Mutex
	open   map[string]*terminal
	closed bool
}

// Command is what runs in a terminal.
type Command struct {
	Words []string
	Dir   string
	Env   []string
	Limit int // bytes of output; 0 = as much as there may be
}

// Exit is how a command ended.
type Exit struct {
	Code   *int    `json:"exitCode"`
	Signal *string `json:"signal"`
}

// Output is what a command has written so far.
type Output struct {
	Text      string `json:"output"`
	Truncated bool   `json:"truncated"`
	Exit      *Exit  `json:"exitStatus,omitempty"`
}

// terminal is one.
type terminal struct {
	stop context.CancelFunc
	done chan struct{} // closed when it has ended

	mu    sync.Mutex
	limit int
	kept  []byte
	cut   bool
	exit  Exit
}

// New returns none.
func New() *Terminals { return &Terminals{open: map[string]*terminal{}} }

// Start runs a command and returns the id of its terminal.
func (t *Terminals) Start(c Command) (id string, err error) {
	ctx, stop := context.WithCancel(context.Background())
	one := &terminal{stop: stop, done: make(chan struct{}), limit: maxOutput}
	if c.Limit > 0 {
		one.limit = min(c.Limit, maxOutput)
	}
	cmd := exec.CommandContext(ctx, c.Words[0], c.Words[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = c.Dir, c.Env, one, one, endWithin
	endWithChildren(cmd)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		err = errors.New("the program is ending")
	case len(t.open) >= maxOpen:
		err = fmt.Errorf("%d terminals are open; release one", maxOpen)
	default:
		err = cmd.Start()
	}
	if err != nil {
		stop()
		return "", err
	}
	id = beeos.NewID()
	t.open[id] = one
	go one.wait(cmd) // Close waits for it
	return id, nil
}

func (t *terminal) wait(cmd *exec.Cmd) {
	defer close(t.done)
	err := cmd.Wait()
	t.stop()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.exit = exitOf(cmd, err)
}

// exitOf reads how a command ended.
func exitOf(cmd *exec.Cmd, err error) (e Exit) {
	if s := cmd.ProcessState; s != nil && s.Exited() {
		code := s.ExitCode()
		e.Code = &code
		return e
	}
	word := "killed"
	if err != nil {
		word = err.Error()
	}
	e.Signal = &word
	return e
}

// Write keeps what a command writes, the newest of it.
func (t *terminal) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b...)
	if len(t.kept) > 2*t.limit {
		t.cutBeginning()
	}
	return len(b), nil
}

// cutBeginning cuts what is more than is kept, between two characters.
func (t *terminal) cutBeginning() {
	if len(t.kept) <= t.limit {
		return
	}
	rest := t.kept[len(t.kept)-t.limit:]
	for i := 0; i < utf8.UTFMax && i < len(rest) && !utf8.RuneStart(rest[0]); i++ {
		rest = rest[1:]
	}
	t.kept, t.cut = append(t.kept[:0], rest...), true
}

var errUnknown = errors.New("there is no such terminal")

func (t *Terminals) find(id string) (*terminal, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one := t.open[id]; one != nil {
		return one, nil
	}
	return nil, errUnknown
}

// Output returns what a terminal shows.
func (t *Terminals) Output(id string) (o Output, err error) {
	one, err := t.find(id)
	if err != nil {
		return o, err
	}
	one.mu.Lock()
	defer one.mu.Unlock()
	one.cutBeginning()
	o = Output{Text: string(one.kept), Truncated: one.cut}
	select {
	case <-one.done:
		exit := one.exit
		o.Exit = &exit
	default:
	}
	return o, nil
}

// Wait waits until the command of a terminal has ended.
func (t *Terminals) Wait(ctx context.Context, id string) (Exit, error) {
	one, err := t.find(id)
	if err != nil {
		return Exit{}, err
	}
	select {
	case <-one.done:
		return one.exit, nil
	case <-ctx.Done():
		return Exit{}, context.Cause(ctx)
	}
}

// Kill ends the command of a terminal, which stays to be read.
func (t *Terminals) Kill(id string) error {
	one, err := t.find(id)
	if err == nil {
		one.stop()
	}
	return err
}

// Release ends a terminal.
func (t *Terminals) Release(id string) error {
	one, err := t.find(id)
	if err != nil {
		return err
	}
	one.stop()
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, id)
	return nil
}

// Close ends all terminals and waits until they have ended.
func (t *Terminals) Close() {
	t.mu.Lock()
	t.closed = true
	open := t.open
	t.open = map[string]*terminal{}
	t.mu.Unlock()
	for _, one := range open {
		one.stop()
	}
	for _, one := range open {
		<-one.done
	}
}
