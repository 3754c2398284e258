//go:build unix

package world

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/test/chaos/history"
	"github.com/beeos/beeos/test/program"
)

// Agent is one instance of the agent, connected to one node by a line. All of
// them are the same agent: one identity, several processes.
type Agent struct {
	Name    string
	ID      string // as callers know it
	Gateway *Line

	world *World
	proc  *program.Process
}

const (
	roleVar = "CHAOS_ROLE"
	specVar = "CHAOS_AGENT"
)

// spec is what an agent's process is told.
type spec struct{ Instance, Gateway, Key, Identity, Record string }

func (w *World) newAgent(i int, n *Node) (*Agent, error) {
	l, err := w.line("tcp", n.agents)
	return &Agent{Name: fmt.Sprint("agent ", i+1), Gateway: l, world: w}, err
}

// Start runs the agent and returns once it is connected.
func (a *Agent) Start(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	text, err := json.Marshal(spec{a.Name, "http://" + a.Gateway.Addr, a.world.Key, filepath.Join(a.world.Dir, "identity"), a.world.recordOf(a)})
	if err != nil {
		return err
	}
	if a.proc, err = program.Start(a.Name, []string{"HOME=" + a.world.Dir, roleVar + "=agent", specVar + "=" + string(text)}, self); err != nil {
		return err
	}
	return a.awaitConnected(ctx)
}

func (a *Agent) awaitConnected(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	line, err := a.proc.Out.Await(ctx, func(line string) bool { return strings.HasPrefix(line, "connected ") })
	if err != nil {
		return fmt.Errorf("%s: connect: %w\n%s", a.Name, err, a.proc.Text())
	}
	a.ID = strings.TrimPrefix(line, "connected ")
	return nil
}

// Kill ends the agent as a power cut would.
func (a *Agent) Kill() { a.proc.Kill() }

// Terminate asks the agent to end what it has and stop.
func (a *Agent) Terminate() error {
	_, err := a.proc.Terminate(time.Minute)
	return err
}

// Freeze stops the process where it is; Thaw lets it go on.
func (a *Agent) Freeze() { sendSignal(a.proc, syscall.SIGSTOP) }
func (a *Agent) Thaw()   { sendSignal(a.proc, syscall.SIGCONT) }

func (a *Agent) stop() {
	if a.proc != nil {
		a.Thaw()
		a.proc.Kill()
	}
}

func (w *World) recordOf(a *Agent) string {
	return filepath.Join(w.Dir, "done "+a.Name)
}

// Executions is what all agents did, also those that are dead.
func (w *World) Executions() (all []history.Execution, err error) {
	for _, a := range w.Agents {
		f, err := os.Open(w.recordOf(a))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			var e history.Execution
			if json.Unmarshal(lines.Bytes(), &e) != nil {
				continue // the last words of one that was killed
			}
			all = append(all, e)
		}
		if err := lines.Err(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Run is what this program does when it is run again as a part of a world.
func Run() (ran bool, err error) {
	switch os.Getenv(roleVar) {
	case "agent":
		return true, runAgent()
	case "nats":
		return true, runNATS()
	}
	return false, nil
}

// runAgent is the process behind an Agent. It ends with its parent.
func runAgent() error {
	var s spec
	if err := json.Unmarshal([]byte(os.Getenv(specVar)), &s); err != nil {
		return err
	}
	record, err := os.OpenFile(s.Record, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() {
		io.Copy(io.Discard, os.Stdin) //nolint:errcheck // only its end matters
		os.Exit(3)
	}()
	e := &echo{instance: s.Instance, record: record}
	return agent.Run(ctx, agent.Options{
		Name: "echo", Gateway: s.Gateway, Key: s.Key, Identity: s.Identity,
		Log:       slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Connected: func(id string) { fmt.Println("connected " + id) },
	}, e.answer)
}

// echo is the agent's handler: it writes down what it does before and after.
type echo struct {
	instance string
	mu       sync.Mutex
	record   *os.File
}

// note is on the file before anything else happens: a process that is killed
// loses nothing that it has written.
func (e *echo) note(what string, m agent.Message) error {
	line, err := json.Marshal(history.Execution{What: what, Agent: e.instance, Message: m.ID, Attempt: m.Attempt, Text: m.Text})
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	_, err = e.record.Write(append(line, '\n'))
	return err
}

func (e *echo) answer(ctx context.Context, m agent.Message, r *agent.Reply) error {
	if err := e.note("begin", m); err != nil {
		return err
	}
	said := ""
	switch kind, _, _ := strings.Cut(strings.TrimPrefix(m.Text, "keyed "), " "); kind {
	case "slow":
		for _, piece := range []string{"e", "c", "h", "o"} {
			if err := r.Delta(piece); err != nil {
				return err
			}
			select {
			case <-time.After(200 * time.Millisecond):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		said = "echo"
	case "save":
		if err := r.Approve(ctx, "save", map[string]string{"what": m.Text}); err != nil {
			return err
		}
		if err := e.note("saved", m); err != nil {
			return err
		}
	}
	r.Usage("chaos", history.TokensRead, history.TokensSaid, 0)
	if err := e.note("end", m); err != nil {
		return err
	}
	return r.Send(strings.TrimPrefix(history.Echoed(m.Text), said))
}
