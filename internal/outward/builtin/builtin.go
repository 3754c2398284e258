package builtin

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"

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
	agent  *agent.Agent
	skills []*connected
	talker *answer.Agent

	definition Definition
	declared   []beeos.Skill // as callers were last told; keepOffers' own
	connected  chan struct{} // closed when it first was
	changed    chan struct{} // receives when a skill server has changed its tools, or may have

	ctx  context.Context
	stop context.CancelFunc // it may take a while to finish its answers

	relieves context.CancelFunc // stops the one before, which finishes its answers
	from     string             // the node that it is taken over from; empty = none
}

// connected is a skill with its client.
type connected struct {
	answer.Skill
	transport *oauthclient.Transport // nil = a server on this machine
}

// prepareAgent makes an agent of a definition. Nothing is connected yet.
func (rt *Supervisor) prepareAgent(ctx context.Context, row builtins.Builtin) (*builtin, error) {
	d, secret, err := rt.openRow(row)
	if err != nil {
		return nil, err
	}
	b := &builtin{rt: rt, row: row, definition: d, connected: make(chan struct{}), changed: make(chan struct{}, 1), relieves: func() {}}
	file := filepath.Join(rt.opt.Folder, row.ID+".json")
	if err := agent.WriteIdentity(file, rt.opt.Gateway, row.ID, secret.key()); err != nil {
		return nil, err
	}
	for _, s := range d.Servers {
		c, err := rt.connectSkill(row, s, secret.Skills[s.Name], b.noteChange)
		if err != nil {
			return nil, fmt.Errorf("skill %s: %w", s.Name, err)
		}
		b.skills = append(b.skills, c)
	}
	d.Limits.CapTokens(rt.opt.MaxTokens) // it may have been lowered since
	b.talker = &answer.Agent{
		ID: row.ID, Prompt: d.Prompt, Model: d.Model, Models: d.Models, Fallbacks: d.Fallbacks, Limits: d.Limits,
		LLM: rt.opt.Model, Reading: rt.reading, Steps: rt.opt.Builtins, Approve: rt.opt.Approve, Log: rt.opt.Log, Now: rt.opt.Now,
	}
	for _, s := range b.skills {
		b.talker.Skills = append(b.talker.Skills, s.Skill)
	}
	tools, _ := b.listOffers(ctx, false)
	b.declared = declaredSkills(tools)
	connected := sync.OnceFunc(func() { close(b.connected) })
	b.agent, err = agent.New(agent.Options{
		Redelivery: beeos.RedeliverAlways, // the journal sees to it that nothing is done twice
		Name:       row.Name, DisplayName: d.DisplayName, Description: d.Description, Model: d.Model, Capabilities: d.capabilities(), Tools: tools,
		Timeout: d.Limits.Wall + lastWord, Gateway: rt.opt.Gateway, Identity: file, Log: rt.opt.Log,
		Connected: func(string) {
			b.relieves() // whoever calls while an agent is changed finds one of the two
			connected()
		},
	}, b.talker.Answer)
	if err != nil {
		return nil, err
	}
	b.ctx, b.stop = context.WithCancel(ctx)
	return b, nil
}

// connectSkill returns one skill of a built-in agent, with a client that has not
// connected yet. changed, unless nil, is called when its tools may have changed.
func (rt *Supervisor) connectSkill(row builtins.Builtin, s skill.Server, secrets skill.Secrets, changed func()) (*connected, error) {
	c := &connected{Skill: answer.Skill{Server: s}}
	if s.Agent != "" {
		c.Peer = func(ctx context.Context) ([]skill.Tool, error) { return rt.peerTools(ctx, row.OwnerID, s) }
		return c, nil
	}
	opt := skill.Options{
		Server: s, Command: rt.opt.Commands[s.Command], Local: rt.opt.Local[s.Command],
		Changed: changed, Builtins: rt.opt.Builtins, BuiltinID: row.ID, Log: rt.opt.Log.With("agent", row.Name), Now: rt.opt.Now,
	}
	if s.URL != "" {
		var err error
		if c.transport, err = rt.newTransport(row, s, secrets); err != nil {
			return nil, err
		}
		opt.HTTP = c.transport
	}
	c.Client = skill.New(opt)
	return c, nil
}

// leaveSkill ends the client of a skill.
func (rt *Supervisor) leaveSkill(s *connected) {
	if err := s.Close(); err != nil {
		rt.opt.Log.Debug("a skill server was not left in order", "skill", s.Name, "err", err)
	}
}
