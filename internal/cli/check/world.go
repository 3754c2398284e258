package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/cli/terminal"
	"github.com/beeos/beeos/internal/outward/bridge/mcp/session"
	"github.com/beeos/beeos/internal/wire/outbound"
)

// world is a server and the agent on it.
type world struct {
	server  *server
	gateway string // where agents find it, whenever it comes back
	program *program
	kills   int
	tools   map[string]client.Skill // that the agent declares
	note    string                  // what the scenario saw

	rest atomic.Pointer[client.Client] // changes when the server comes back
	id   string                        // of the agent
}

func newWorld(ctx context.Context, dir string, command []string, c *Cmd) (*world, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	w := &world{server: &server{path: self, dir: dir, out: &tail{}}, kills: c.Kills}
	if w.gateway, err = freeAddress(); err != nil {
		return nil, err
	}
	if err := w.startServer(ctx, w.gateway); err != nil {
		w.server.kill()
		return nil, err
	}
	if w.program, err = newProgram(command, c.Exec, dir, w.gateway, w.server.dev.UserKey); err != nil {
		w.server.kill()
		return nil, err
	}
	return w, nil
}

// begin starts the agent and learns what it declares.
func (w *world) begin(ctx context.Context, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if err := w.mend(ctx); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("no agent %q has connected after %s", agentName, within)
		}
		return terminal.AddHint(err, "the program must reach AGENT_GATEWAY_URL, join with BEEOS_KEY and call itself "+agentName)
	}
	agent, err := w.findDeclared(ctx)
	if err != nil {
		return err
	}
	w.tools = map[string]client.Skill{}
	for _, skill := range agent.Skills {
		w.tools[skill.Name] = skill
	}
	return nil
}

// declaresWithin is how long a program behind --exec may take to declare its tools,
// once it is connected. One that has none is as good an agent.
const declaresWithin = 3 * time.Second

// findDeclared returns the agent as it is when it has declared what it can do.
func (w *world) findDeclared(ctx context.Context) (agent *client.Agent, err error) {
	waiting, cancel := context.WithTimeout(ctx, declaresWithin)
	defer cancel()
	again := poll(waiting, func() (bool, error) {
		agent, err = w.client().Agent(ctx, w.id)
		return err != nil || !w.program.exec || len(agent.Skills) > 0, nil
	})
	if ctx.Err() != nil {
		return nil, again
	}
	return agent, err
}

func (w *world) startServer(ctx context.Context, gateway string) error {
	if err := w.server.start(ctx, gateway); err != nil {
		return err
	}
	w.rest.Store(client.New(w.server.dev.REST, w.server.dev.UserKey))
	return nil
}

func (w *world) client() *client.Client { return w.rest.Load() }

func (w *world) close() {
	w.program.kill()
	w.server.kill()
}

// restartServer kills the server and waits until it is back, and the agent with it.
func (w *world) restartServer(ctx context.Context) error {
	w.server.kill()
	if err := w.startServer(ctx, w.gateway); err != nil {
		return err
	}
	return w.awaitAgent(ctx)
}

// mend starts what is not running: a scenario may have failed halfway.
func (w *world) mend(ctx context.Context) error {
	if w.server.proc.ended() {
		if err := w.startServer(ctx, w.gateway); err != nil {
			return err
		}
	}
	if !w.program.isWhole() {
		w.program.kill()
		if _, err := w.program.start(); err != nil {
			return err
		}
	}
	return w.awaitAgent(ctx)
}

// awaitAgent waits until the agent is connected.
func (w *world) awaitAgent(ctx context.Context) error {
	return poll(ctx, func() (bool, error) {
		if err := w.program.checkRuns(); err != nil {
			return false, err
		}
		found, err := w.client().Find(ctx, agentName)
		if err != nil || !found.Online || len(found.Skills) < len(w.tools) {
			return false, nil // a program behind --exec declares once it is connected
		}
		w.id = found.ID
		return true, nil
	})
}

// say says something to the agent and returns the text of its answer. A failure of
// the agent's is an error.
func (w *world) say(ctx context.Context, message string) (string, error) {
	answer, err := w.client().Invoke(ctx, w.id, client.InvokeRequest{Message: message})
	if err != nil {
		return "", err
	}
	if answer.IsError {
		return "", fmt.Errorf("the agent failed: %s", answer.Text)
	}
	return answer.Text, nil
}

// expect says something and fails unless it is answered like this.
func (w *world) expect(ctx context.Context, message, want string) error {
	got, err := w.say(ctx, message)
	if err != nil {
		return fmt.Errorf("%q: %w", message, err)
	}
	return compare(message, got, want)
}

// awaitAnswer says the same until it is answered like this.
func (w *world) awaitAnswer(ctx context.Context, message, want string) error {
	got := ""
	err := poll(ctx, func() (bool, error) {
		var err error
		got, err = w.say(ctx, message)
		return got == want, err
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return compare(message, got, want)
	}
	return err
}

// compare fails unless a question has the answer that it should have.
func compare(question, got, want string) error {
	if got == want {
		return nil
	}
	return fmt.Errorf("%q was answered %s, want %s", cut(question), quote(got), quote(want))
}

func quote(text string) string { return fmt.Sprintf("%q", cut(text)) }

// cut shortens what nobody could read.
func cut(text string) string {
	if len(text) > 200 {
		return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:200], ""), len(text))
	}
	return text
}

// callTool calls a tool over MCP, in a request without a session.
func (w *world) callTool(ctx context.Context, tool string, args any) (*client.ToolResult, error) {
	agent, err := w.client().Agent(ctx, w.id)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	return w.client().CallTool(ctx, agent, tool, raw)
}

// expectTool calls a tool and fails unless its result is this text.
func (w *world) expectTool(ctx context.Context, tool string, args any, want string) error {
	result, err := w.callTool(ctx, tool, args)
	if err != nil {
		return fmt.Errorf("tool %s: %w", tool, err)
	}
	if result.IsError {
		return fmt.Errorf("tool %s failed: %s", tool, cut(result.Text()))
	}
	return compare("tool "+tool, result.Text(), want)
}

// openSession opens an MCP session with the agent, as a client that can be asked.
func (w *world) openSession(ctx context.Context) (*session.Session, error) {
	agent, err := w.client().Agent(ctx, w.id)
	if err != nil {
		return nil, err
	}
	log := slog.New(slog.DiscardHandler)
	header := http.Header{"Authorization": {"Bearer " + w.server.dev.UserKey}}
	s := session.New(session.OpenHTTP(agent.MCPURL, header, outbound.Client(outbound.Options{Trusted: true}), log), log, nil)
	if err := s.Open(ctx, false, session.Object{"elicitation": json.RawMessage(`{}`)}); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// callInSession calls a tool in a session of its own and returns its text.
func (w *world) callInSession(ctx context.Context, tool string, hear session.Hooks) (string, error) {
	s, err := w.openSession(ctx)
	if err != nil {
		return "", err
	}
	defer s.Close()
	raw, err := s.Call(ctx, "tools/call", session.Object{"name": json.RawMessage(`"` + tool + `"`), "arguments": json.RawMessage(`{}`)}, hear)
	if err != nil {
		return "", fmt.Errorf("tool %s: %w", tool, err)
	}
	var result client.ToolResult
	if err := json.Unmarshal(raw, &result); err != nil {
		return "", fmt.Errorf("read the result of tool %s: %w", tool, err)
	}
	if result.IsError {
		return "", fmt.Errorf("tool %s failed: %s", tool, cut(result.Text()))
	}
	return result.Text(), nil
}

// beginTask says something whose answer is come back for, and waits until the agent
// has streamed a beginning that contains text.
func (w *world) beginTask(ctx context.Context, message, text string) (taskID, streamed string, err error) {
	task, err := w.client().CreateTask(ctx, w.id, client.TaskRequest{Message: message})
	if err != nil {
		return "", "", err
	}
	for u, err := range w.client().WatchTask(ctx, w.id, task.ID) {
		if err != nil {
			return task.ID, streamed, err
		}
		switch {
		case u.SoFar:
			streamed = u.Message.Body
		case u.Delta:
			streamed += u.Message.Body
		case u.Message.InReplyTo != "" && u.Message.Type.Terminal():
			return task.ID, streamed, fmt.Errorf("%q ended with %q before it had streamed %q", message, cut(u.Message.Body), text)
		}
		if strings.Contains(streamed, text) {
			return task.ID, streamed, nil
		}
	}
	return task.ID, streamed, fmt.Errorf("%q streamed %q and not %q", message, cut(streamed), text)
}

// awaitTask waits for the end of a task and returns its text.
func (w *world) awaitTask(ctx context.Context, taskID string) (string, error) {
	for _, err := range w.client().WatchTask(ctx, w.id, taskID) {
		if err != nil {
			return "", err
		}
	}
	task, err := w.client().Task(ctx, w.id, taskID)
	switch {
	case err != nil:
		return "", err
	case task.Result == nil:
		return "", fmt.Errorf("the task ended as %s without an answer %s", task.Status, task.Error)
	}
	return task.Result.Text, nil
}
