package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
)

const specVar = "FAULTS_AGENT"

// spec is what an agent process is told.
type spec struct {
	Name     string
	Gateway  string
	Key      string
	Identity string
	Mode     beeos.DeliveryMode
	Lane     beeos.Lane
	Again    beeos.Redelivery
	Spends   bool // it tells what its answers took of models
}

// agentProcess is an agent as a process of its own. It echoes; a text that
// begins with "hold" is answered only once the test says so, one that begins
// with "save" once somebody has approved, and "count N" is answered number by
// number.
type agentProcess struct {
	*process
	id    string // the agent's
	marks atomic.Int64
}

// startAgent runs an agent and returns once it is connected.
func startAgent(t testing.TB, label string, s spec) *agentProcess {
	t.Helper()
	a := launchAgent(t, label, s)
	a.id = a.connected(0)
	return a
}

// launchAgent starts an agent and does not wait until it has connected.
func launchAgent(t testing.TB, label string, s spec) *agentProcess {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return &agentProcess{process: start(t, label, os.Args[0], []string{roleVar + "=agent", specVar + "=" + string(text)})}
}

// connections is how often the agent has connected so far.
func (a *agentProcess) connections() int {
	n := 0
	for _, line := range a.Out.All() {
		if strings.HasPrefix(line, "connected ") {
			n++
		}
	}
	return n
}

// connected waits until the agent has connected more than n times, and
// returns its id.
func (a *agentProcess) connected(n int) string {
	a.t.Helper()
	line := a.expect(a.Out, "connect", func(line string) bool {
		if strings.HasPrefix(line, "connected ") {
			n--
		}
		return n < 0
	})
	return strings.TrimPrefix(line, "connected ")
}

// release lets every held answer go, and those to come.
func (a *agentProcess) release() {
	a.t.Helper()
	a.tell("release")
}

// letGo lets the answers go that are held now.
func (a *agentProcess) letGo() {
	a.t.Helper()
	a.tell("let go")
}

func (a *agentProcess) tell(order string) {
	a.t.Helper()
	if _, err := a.In.Write([]byte(order + "\n")); err != nil {
		a.t.Fatalf("%s: %v", a.Name, err)
	}
}

// written is all that the agent has written until now. Its lines come another
// way than its answers, so an answer may be here before them: the agent is
// asked for one more line, and what it wrote before is there with that.
func (a *agentProcess) written() []string {
	a.t.Helper()
	mark := fmt.Sprint("mark ", a.marks.Add(1))
	if _, err := a.In.Write([]byte(mark + "\n")); err == nil {
		ctx, cancel := context.WithTimeout(a.t.Context(), patience)
		defer cancel()
		_, err = a.Out.Await(ctx, func(line string) bool { return line == mark })
		if err != nil && ctx.Err() != nil {
			a.t.Fatalf("%s is silent: %v", a.Name, err)
		}
	}
	return a.Out.All() // of one that has ended, whole as well
}

// execution is one run of the agent's handler.
type execution struct {
	message string
	attempt int
	text    string
}

// executions lists what the agent has begun to work on so far.
func (a *agentProcess) executions() []execution {
	a.t.Helper()
	var all []execution
	for _, line := range a.written() {
		rest, ok := strings.CutPrefix(line, "begin ")
		if !ok {
			continue
		}
		f := strings.SplitN(rest, " ", 3)
		attempt, err := strconv.Atoi(f[1])
		if err != nil || len(f) != 3 {
			a.t.Fatalf("%s wrote %q", a.Name, line)
		}
		all = append(all, execution{f[0], attempt, f[2]})
	}
	return all
}

// ended reports whether the agent has come to the end of a message.
func (a *agentProcess) ended(message string) bool {
	return slices.Contains(a.written(), "end "+message)
}

// begun waits until n executions have begun on these agents together.
func begun(t testing.TB, n int, agents ...*agentProcess) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		got := 0
		for _, a := range agents {
			got += len(a.executions())
		}
		if got >= n {
			return
		}
		if !pause(ctx, 5*time.Millisecond) {
			t.Fatalf("%d of %d messages reached the agents", got, n)
		}
	}
}

// runAgent is the process that startAgent starts. It ends with its parent.
func runAgent() int {
	var s spec
	if err := json.Unmarshal([]byte(os.Getenv(specVar)), &s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	e := &echo{open: make(chan struct{}), spends: s.Spends}
	go e.obey()
	err := agent.Run(ctx, agent.Options{
		Name: s.Name, Gateway: s.Gateway, Key: s.Key, Identity: s.Identity, DeliveryMode: s.Mode, Lane: s.Lane, Redelivery: s.Again,
		Log:       slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Connected: func(id string) { e.say("connected %s", id) },
	}, e.answer)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// echo is the agent's handler.
type echo struct {
	mu     sync.Mutex
	open   chan struct{} // closed when held answers may go
	spends bool
}

// say writes one line for the test to read.
func (e *echo) say(format string, args ...any) {
	line := fmt.Appendf(nil, format+"\n", args...)
	e.mu.Lock()
	defer e.mu.Unlock()
	os.Stdout.Write(line) //nolint:errcheck // a parent that is gone takes this process with it
}

// obey does what the test says, and ends with it.
func (e *echo) obey() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		if strings.HasPrefix(in.Text(), "mark ") {
			e.say("%s", in.Text())
			continue
		}
		e.mu.Lock()
		close(e.open)
		if in.Text() == "let go" {
			e.open = make(chan struct{})
		}
		e.mu.Unlock()
	}
	os.Exit(3)
}

func (e *echo) answer(ctx context.Context, m agent.Message, r *agent.Reply) error {
	e.mu.Lock()
	open := e.open // before the test knows that there is something to let go
	e.mu.Unlock()
	e.say("begin %s %d %s", m.ID, m.Attempt, m.Text)
	if strings.HasPrefix(m.Text, "hold after a sign") {
		r.Progress(1, 2, "on it") //nolint:errcheck // the end of the call is what counts
	}
	if strings.HasPrefix(m.Text, "hold") {
		select {
		case <-open:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if rows, ok := strings.CutPrefix(m.Text, "save "); ok {
		if err := r.Approve(ctx, "save_csv", map[string]string{"rows": rows}); err != nil {
			return err
		}
		step := r.Step("save_csv", agent.StepTool)
		e.say("saved %s", rows)
		step.End(nil)
	}
	if n, ok := strings.CutPrefix(m.Text, "count "); ok {
		return e.count(ctx, n, open, r)
	}
	if strings.HasPrefix(m.Text, talkPrefix) {
		return e.talk(ctx, open, r)
	}
	if e.spends {
		tellSpending(m.Text, r)
	}
	e.say("end %s", m.ID) // before anybody can know
	return r.Send(echoed(m.Text))
}

// count streams the numbers up to n, one every few milliseconds, and ends when
// the test says so.
func (e *echo) count(ctx context.Context, n string, open <-chan struct{}, r *agent.Reply) error {
	top, err := strconv.Atoi(n)
	if err != nil {
		return err
	}
	for i := range top {
		if err := r.Delta(strconv.Itoa(i) + " "); err != nil {
			return err
		}
		if !pause(ctx, 5*time.Millisecond) {
			return context.Cause(ctx)
		}
	}
	select {
	case <-open:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// talkPrefix begins what is answered with numbers, until the test says that it
// is enough.
const talkPrefix = "talk"

// talk counts aloud, and asks now and then whether to go on.
func (e *echo) talk(ctx context.Context, open <-chan struct{}, r *agent.Reply) error {
	for i := 0; ; i++ {
		if err := r.Delta(strconv.Itoa(i) + " "); err != nil {
			return err
		}
		if i%15 == 14 {
			if _, err := r.InputRequired(ctx, "go on?", nil); err != nil {
				return err
			}
		}
		select {
		case <-open:
			return r.Send("")
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// echoed is the answer to a text.
func echoed(text string) string { return "echo: " + text }
