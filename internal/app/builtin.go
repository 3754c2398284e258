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
	"github.com/beeos/beeos/internal/llm"
	"github.com/beeos/beeos/internal/protected"
	"github.com/beeos/beeos/internal/runtime"
	"github.com/beeos/beeos/internal/skill"
)

const demoAssistant = "assistant"

// openRuntime brings up the built-in agents. They connect to the agent gateway
// like all others, here or elsewhere.
func (p *parts) openRuntime(ctx context.Context) error {
	if !p.cfg.Runs("worker") || p.info.Agents == "" {
		return nil
	}
	opt := runtime.Options{
		DB: p.db, Gateway: p.info.Agents, Folder: filepath.Join(p.cfg.Data, "builtin"), Log: p.log,
		HTTP: protected.Guard(p.cfg.AllowPrivate), Plain: p.cfg.AllowPrivate, Console: p.info.Web,
	}
	opt.Approve = func(ctx context.Context, r *agent.Reply, a runtime.Approval) error {
		return r.Gate(ctx, agent.Approval{Key: a.Key, Skill: a.Skill, Tool: a.Tool, Arguments: a.Arguments, Auto: a.Auto})
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
	if p.opt.Demo {
		opt.Local = map[string]skill.Local{skill.DemoName: skill.Demo(ctx, time.Now)}
	}
	var err error
	if p.runtime, err = runtime.New(ctx, opt); err != nil {
		return fmt.Errorf("open the built-in agents: %w", err)
	}
	p.run = append(p.run, p.runtime.Run)
	return nil
}

// readAllowed reads skills.json in the data folder, with which an admin allows
// what no request can bring along: local commands that are skill servers, and
// files with assertions.
//
//	{"commands": {"sqlite": ["mcp-sqlite", "/srv/books.db"]}, "assertions": {"pod": "/var/run/secrets/tokens/beeos"}}
func readAllowed(data string, opt *runtime.Options) error {
	path := filepath.Join(data, "skills.json")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var allowed struct {
		Commands   map[string][]string `json:"commands"`
		Assertions map[string]string   `json:"assertions"`
	}
	if err == nil {
		err = json.Unmarshal(text, &allowed)
	}
	for name, command := range allowed.Commands {
		if len(command) == 0 {
			err = fmt.Errorf("command %s is empty", name)
		}
	}
	if err != nil {
		return fmt.Errorf("%s cannot be used; it names commands and assertions, see docs/skills.md: %w", path, err)
	}
	opt.Commands, opt.Assertions = allowed.Commands, allowed.Assertions
	return nil
}

// demoBuiltin makes the built-in agent of the demo, the first time. Without
// a model there is nothing to show.
func (p *parts) demoBuiltin(ctx context.Context, owner string) error {
	if p.runtime == nil || p.cfg.LLM.Provider == "" {
		return nil
	}
	_, err := p.runtime.Create(ctx, owner, runtime.Definition{
		Name: demoAssistant, DisplayName: "Assistant", Description: "A built-in agent: it adds numbers and tells the time with the tools of a skill server.",
		Prompt:  "You are the demo agent of BeeOS. Use your tools where they help, and be brief.",
		Servers: []skill.Server{{Name: skill.DemoName, Command: skill.DemoName, AutoApprove: true}},
	}, nil)
	if err != nil && beeos.CodeOf(err) != beeos.Conflict { // it is there since an earlier start
		return fmt.Errorf("make the demo's assistant: %w", err)
	}
	return nil
}
