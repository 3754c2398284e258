package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/outward/builtin/answer"
	"github.com/beeos/beeos/internal/outward/llm"
	"github.com/beeos/beeos/internal/outward/skill"
	"github.com/beeos/beeos/internal/wire/outbound"
)

const (
	demoAssistant = "assistant"
	runner        = "runs-builtin-" // begins the name by which the bus knows a node that runs built-in agents
)

// openBuiltins brings up the built-in agents. They connect to the agent gateway
// like all others, here or elsewhere.
func (p *parts) openBuiltins(ctx context.Context) error {
	if !p.cfg.Runs("worker") || p.gateway == "" {
		return p.reachBuiltins(ctx)
	}
	opt := builtin.Options{
		Agents: p.db.Agents, Builtins: p.db.Builtins, Cluster: p.db.Cluster, Gateway: p.gateway, Folder: filepath.Join(p.cfg.Data, "builtin"), Log: p.log,
		HTTP: outbound.Transport(outbound.Options{AllowPrivate: p.cfg.AllowPrivate}), Plain: p.cfg.AllowPrivate, Console: p.public.Web, MaxTokens: p.cfg.AnswerTokens,
	}
	opt.Approve = func(ctx context.Context, r *agent.Reply, a answer.Approval) error {
		return r.Gate(ctx, agent.Approval{Key: a.Key, Skill: a.Skill, Tool: a.Tool, Arguments: a.Arguments, Auto: a.Auto, Step: a.Step})
	}
	if err := readAllowed(p.cfg.Data, &opt); err != nil {
		return err
	}
	if s := p.cfg.LLM; s.Provider != "" {
		model, err := llm.Open(llm.Settings{Provider: s.Provider, URL: s.URL, Model: s.Model, Key: s.APIKey})
		if err != nil {
			return err
		}
		opt.Model = model
	}
	var err error
	if opt.Model, err = llm.OpenServices(opt.Model, filepath.Join(p.cfg.Data, llm.ServicesFile)); err != nil {
		return err
	}
	if p.opt.Demo {
		opt.Local = map[string]skill.Local{skill.DemoName: skill.Demo(ctx, time.Now)}
	}
	if err := p.shareBuiltins(&opt); err != nil {
		return err
	}
	if p.builtins, err = builtin.New(ctx, opt); err != nil {
		return fmt.Errorf("open the built-in agents: %w", err)
	}
	p.bus.OnControl(func(c bus.Control) {
		if c.Kind != bus.BuiltinChanged {
			return
		}
		var n builtin.News
		if err := json.Unmarshal(c.Data, &n); err != nil {
			p.log.Error("news of a built-in agent", "err", err)
		}
		p.builtins.Hear(n)
	})
	p.owned = p.builtins
	p.run = append(p.run, p.builtins.Run, func(ctx context.Context) error { return p.bus.ServeActs(ctx, p.builtins.DoAct) })
	return nil
}

// reachBuiltins lets owners manage from here the built-in agents that another
// process runs.
func (p *parts) reachBuiltins(ctx context.Context) error {
	remote, err := builtin.NewRemote(ctx, builtin.Options{
		Agents: p.db.Agents, Builtins: p.db.Builtins, Cluster: p.db.Cluster, Console: p.public.Web, Log: p.log, Tell: p.tellBuiltins,
	}, p.bus.Act)
	if err != nil {
		return fmt.Errorf("reach the built-in agents: %w", err)
	}
	p.owned = remote
	return nil
}

// tellBuiltins says to every node what has become of a built-in agent.
func (p *parts) tellBuiltins(n builtin.News) {
	data, err := json.Marshal(n)
	if err != nil {
		p.log.Error("news of a built-in agent", "err", err)
		return
	}
	p.bus.Control(bus.Control{Kind: bus.BuiltinChanged, ID: n.ID, Data: data})
}

// shareBuiltins lets the nodes agree on who runs which built-in agent.
func (p *parts) shareBuiltins(opt *builtin.Options) error {
	opt.Node, opt.Tell = p.node, p.tellBuiltins
	if p.cfg.NATSURL == "" && p.cfg.ClusterAddr == "" {
		return nil // there is no other node
	}
	opt.Alive = func(ctx context.Context, node string) (bool, error) {
		if err := p.bus.Ready(); err != nil {
			return false, err
		}
		return p.bus.Connected(ctx, runner+node), nil
	}
	var err error
	opt.Leave, err = p.bus.Announce(runner + p.node)
	return err
}

// readAllowed reads skills.json in the data folder, with which an admin allows
// what no request can bring along: local commands that are skill servers, and
// files with assertions.
//
//	{
//	  "commands": {"sqlite": ["mcp-sqlite", "/srv/books.db"]},
//	  "assertions": {"pod": {"file": "/var/run/secrets/tokens/beeos", "for": ["https://issuer.example"]}}
//	}
func readAllowed(data string, opt *builtin.Options) error {
	path := filepath.Join(data, "skills.json")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var allowed struct {
		Commands   map[string][]string          `json:"commands"`
		Assertions map[string]builtin.Assertion `json:"assertions"`
	}
	if err == nil {
		err = json.Unmarshal(text, &allowed)
	}
	for name, command := range allowed.Commands {
		if len(command) == 0 {
			err = fmt.Errorf("command %s is empty", name)
		}
	}
	for name, a := range allowed.Assertions {
		if a.File == "" || len(a.For) == 0 {
			err = fmt.Errorf("assertion %s needs a file, and for whom it is", name)
		}
	}
	if err != nil {
		return fmt.Errorf("%s cannot be used; it names commands and assertions, see docs/how-to/skills.md: %w", path, err)
	}
	opt.Commands, opt.Assertions = allowed.Commands, allowed.Assertions
	return nil
}

// demoBuiltin makes the built-in agent of the demo, the first time. Without
// a model there is nothing to show.
func (p *parts) demoBuiltin(ctx context.Context, owner string) error {
	if p.builtins == nil || p.cfg.LLM.Provider == "" {
		return nil
	}
	_, err := p.acts.CreateBuiltin(ctx, act.OperatorFor(owner), builtin.Definition{
		Name: demoAssistant, DisplayName: "Assistant", Description: "A built-in agent: it adds numbers and tells the time with the tools of a skill server.",
		Prompt:  "You are the demo agent of BeeOS. Use your tools where they help, and be brief.",
		Servers: []skill.Server{{Name: skill.DemoName, Command: skill.DemoName, AutoApprove: true}},
	})
	if err != nil && beeos.CodeOf(err) != beeos.Conflict { // it is there since an earlier start
		return fmt.Errorf("make the demo's assistant: %w", err)
	}
	return nil
}
