package acp

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/bridge/acp/folder"
	"github.com/beeos/beeos/internal/outward/bridge/acp/rpc"
	"github.com/beeos/beeos/internal/outward/bridge/acp/terminal"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
)

// done answers a request that has no result.
type done struct{}

// needs is what an operator has to allow for a request.
var needs = map[string]string{
	"fs/read_text_file": allowRead, "fs/write_text_file": allowWrite, "terminal/create": allowTerminal, "terminal/output": allowTerminal,
	"terminal/wait_for_exit": allowTerminal, "terminal/kill": allowTerminal, "terminal/release": allowTerminal,
}

// answerRequest answers what the program asks for.
func (p *process) answerRequest(ctx context.Context, method string, params json.RawMessage) (any, error) {
	if what := needs[method]; what != "" && !p.bridge.allows(what) {
		return nil, &rpc.Error{Code: rpc.MethodNotFound, Message: method + " is not allowed here; whoever runs the bridge can allow it with --allow " + what + ". Use your own tools"}
	}
	switch method {
	case "session/request_permission":
		q, err := rpc.Params[permissionParams](params)
		if err != nil {
			return nil, err
		}
		answer := map[string]outcome{"outcome": cancelled}
		if _, t := p.findTurn(q.Session); t != nil {
			answer["outcome"] = t.askPermission(ctx, q)
		}
		return answer, nil
	case "elicitation/create":
		q, err := rpc.Params[questionParams](params)
		if err != nil {
			return nil, err
		}
		return p.askPerson(ctx, q)
	case "fs/read_text_file", "fs/write_text_file":
		q, err := rpc.Params[fileParams](params)
		if err != nil {
			return nil, err
		}
		return p.useFile(method, q)
	}
	if needs[method] == allowTerminal {
		q, err := rpc.Params[terminalParams](params)
		if err != nil {
			return nil, err
		}
		return p.useTerminal(ctx, method, q)
	}
	return nil, &rpc.Error{Code: rpc.MethodNotFound, Message: "there is no method " + upstream.Shorten(method)}
}

// askPerson puts a form to the person behind the caller.
func (p *process) askPerson(ctx context.Context, q questionParams) (any, error) {
	nobody := map[string]string{"action": "cancel"}
	_, t := p.findTurn(q.Session)
	if t == nil || q.Mode != "form" {
		return nobody, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(t.ctx, cancel)()
	said, err := t.r.Elicit(ctx, q.Message, q.Schema)
	switch {
	case errors.Is(err, agent.ErrCannotAsk):
		p.bridge.log.Info("the program asks something, and its caller cannot be asked", "question", upstream.Shorten(q.Message))
		return nobody, nil
	case err != nil:
		return nobody, nil //nolint:nilerr // nobody answers any more
	case !said.Accepted():
		return map[string]string{"action": said.Action}, nil
	}
	return map[string]any{"action": "accept", "content": said.Content}, nil
}

// useFile reads or writes a text for the program, as a step of the answer.
func (p *process) useFile(method string, q fileParams) (any, error) {
	step := p.beginStep(q.Session, method).Set("path", upstream.Shorten(q.Path))
	f := p.bridge.folder
	if method == "fs/write_text_file" {
		err := f.WriteText(q.Path, q.Content)
		p.endStep(step, err)
		return done{}, err
	}
	line, limit := 1, -1
	if q.Line != nil {
		line = *q.Line
	}
	if q.Limit != nil {
		limit = max(0, *q.Limit)
	}
	text, err := f.ReadText(q.Path, line, limit)
	p.endStep(step, err)
	return map[string]string{"content": text}, err
}

// beginStep begins a step of the message that is being worked on in a session, if
// there is one.
func (p *process) beginStep(session, name string) *agent.Step {
	_, t := p.findTurn(session)
	if t == nil {
		return nil
	}
	return t.r.Step(name, agent.StepTool)
}

// endStep ends a step. That the program tried to leave the folder is for the log,
// too.
func (p *process) endStep(step *agent.Step, err error) {
	step.End(err)
	if outside, ok := errors.AsType[*folder.Outside](err); ok {
		p.bridge.log.Warn("a request of the program's is refused", "why", outside)
	}
}

// useTerminal runs commands for the program.
func (p *process) useTerminal(ctx context.Context, method string, q terminalParams) (any, error) {
	switch method {
	case "terminal/create":
		id, err := p.startCommand(q)
		return map[string]string{"terminalId": id}, err
	case "terminal/output":
		return p.terminals.Output(q.Terminal)
	case "terminal/wait_for_exit":
		return p.terminals.Wait(ctx, q.Terminal)
	case "terminal/kill":
		return done{}, p.terminals.Kill(q.Terminal)
	}
	return done{}, p.terminals.Release(q.Terminal)
}

// startCommand runs a command in the folder; in the sandbox, if there is one.
func (p *process) startCommand(q terminalParams) (id string, err error) {
	step := p.beginStep(q.Session, "terminal/create").Set("command", upstream.Shorten(q.Command))
	defer func() { p.endStep(step, err) }()
	b := p.bridge
	within := "."
	if q.Cwd != "" {
		if within, err = b.folder.Find(q.Cwd); err != nil {
			return "", err
		}
	}
	var command upstream.Command
	if err := command.UnmarshalText([]byte(q.Command)); err != nil || q.Command == "" {
		return "", &rpc.Error{Code: rpc.InvalidParams, Message: "there is no command"}
	}
	var env []string
	for _, v := range q.Env {
		env = append(env, v.Name+"="+v.Value)
	}
	c := terminal.Command{Words: command.Words(q.Args), Dir: filepath.Join(b.folder.Path, within), Env: slices.Concat(b.env, env), Limit: q.Limit}
	if b.box != nil {
		c.Words = b.box.Wrap(c.Words, c.Dir, env...)
		c.Dir, c.Env = b.folder.Path, b.env
	}
	if id, err = p.terminals.Start(c); errors.Is(err, os.ErrNotExist) {
		err = errors.New("there is no such program or folder")
	}
	return id, err
}
