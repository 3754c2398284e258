package builtin

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/builtin/answer"
	"github.com/beeos/beeos/internal/outward/oauthclient"
	"github.com/beeos/beeos/internal/outward/skill"
	"github.com/beeos/beeos/internal/store/builtins"
)

// builtin is one agent that runs.
type builtin struct {
	rt     *Supervisor
	row    builtins.Builtin
	def    Definition
	agent  *agent.Agent
	skills []*connected

	ctx  context.Context
	stop context.CancelFunc // it may take a while to finish its answers

	relieves context.CancelFunc // stops the one before; nil = there is none any more
}

// connected is a skill with its client.
type connected struct {
	answer.Skill
	transport *oauthclient.Transport // nil = a server on this machine
}

// prepare makes an agent of a definition. Nothing is connected yet.
func (rt *Supervisor) prepare(ctx context.Context, row builtins.Builtin) (*builtin, error) {
	b := &builtin{rt: rt, row: row}
	secret, err := rt.open(row, &b.def)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(rt.opt.Folder, row.ID+".json")
	if err := agent.WriteIdentity(file, rt.opt.Gateway, row.ID, secret.key()); err != nil {
		return nil, err
	}
	for _, s := range b.def.Servers {
		c, err := rt.connect(row, s, secret.Skills[s.Name])
		if err != nil {
			return nil, fmt.Errorf("skill %s: %w", s.Name, err)
		}
		b.skills = append(b.skills, c)
	}
	talker := &answer.Agent{
		ID: row.ID, Prompt: b.def.Prompt, Model: b.def.Model, Models: b.def.Models, Limits: b.def.Limits,
		LLM: rt.opt.Model, Reading: rt.reading, Steps: rt.opt.Builtins, Approve: rt.opt.Approve, Log: rt.opt.Log, Now: rt.opt.Now,
	}
	for _, s := range b.skills {
		talker.Skills = append(talker.Skills, s.Skill)
	}
	b.agent, err = agent.New(agent.Options{
		Redelivery: beeos.RedeliverAlways, // the journal sees to it that nothing is done twice
		Name:       row.Name, DisplayName: b.def.DisplayName, Description: b.def.Description, Model: b.def.Model, Capabilities: b.def.capabilities(),
		Timeout: b.def.Limits.Wall + lastWord, Gateway: rt.opt.Gateway, Identity: file, Log: rt.opt.Log,
		Connected: func(string) { b.arrived() },
	}, talker.Answer)
	if err != nil {
		return nil, err
	}
	b.ctx, b.stop = context.WithCancel(ctx)
	return b, nil
}

// connect returns one skill of a built-in agent, with a client that has not
// connected yet.
func (rt *Supervisor) connect(row builtins.Builtin, s skill.Server, secrets skill.Secrets) (*connected, error) {
	c := &connected{Skill: answer.Skill{Server: s}}
	opt := skill.Options{
		Server: s, Command: rt.opt.Commands[s.Command], Local: rt.opt.Local[s.Command],
		Builtins: rt.opt.Builtins, BuiltinID: row.ID, Log: rt.opt.Log.With("agent", row.Name), Now: rt.opt.Now,
	}
	if s.URL != "" {
		var err error
		if c.transport, err = rt.transport(row, s, secrets); err != nil {
			return nil, err
		}
		opt.HTTP = c.transport
	}
	c.Client = skill.New(opt)
	return c, nil
}

// arrived lets the one before go, which finishes its answers: whoever calls
// while an agent is changed finds one of the two.
func (b *builtin) arrived() {
	b.rt.mu.Lock()
	stop := b.relieves
	b.relieves = nil
	b.rt.mu.Unlock()
	if stop != nil {
		stop()
	}
}

func (b *builtin) close() {
	for _, s := range b.skills {
		if err := s.Close(); err != nil {
			b.rt.opt.Log.Debug("a skill server was not left in order", "skill", s.Name, "err", err)
		}
	}
}
