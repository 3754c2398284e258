package builtin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/builtin/answer"
	"github.com/beeos/beeos/internal/outward/skill"
	"github.com/beeos/beeos/internal/store/agents"
)

const (
	longestDescription = 1024             // of a skill, in characters
	offerEvery         = 5 * time.Minute  // a server need not say that its tools have changed
	offerAgainAfter    = 15 * time.Second // when a server or the gateway does not answer

	// What callers are offered of all skill servers together, so that an agent can
	// always be declared.
	mostOffered     = 512
	roomForDeclared = 512 << 10 // bytes
)

// skillSchema is what a skill takes: words for the model. The tools behind it are
// the model's to call, within what their owner allows; callers reach those that
// their owner offers, and no other past it.
var skillSchema = json.RawMessage(`{"type":"object","properties":{"message":{"type":"string","description":"What is to be done, in your own words."}},"required":["message"]}`)

// checkDescription says what is wrong with what an owner says about a skill.
func checkDescription(s skill.Server) error {
	if utf8.RuneCountInString(s.Description) > longestDescription || beeos.Visible(s.Description) != s.Description {
		return beeos.Errorf(beeos.InvalidParam, "the description of skill %s has at most %d characters, all of them visible", s.Name, longestDescription)
	}
	return nil
}

// offeredTools are the skills of the agent as callers see them: its skill servers.
// What a server says about itself is not among it: nobody has accepted that.
func (d *Definition) offeredTools() (list []agent.Tool) {
	name := cmp.Or(d.DisplayName, d.Name)
	for _, s := range d.Servers {
		about := cmp.Or(s.Description, fmt.Sprintf("Ask %s to use its skill %s.", name, s.Name))
		list = append(list, agent.Tool{Name: s.Name, Description: about, Schema: skillSchema, Tags: []string{"skill"}})
	}
	return list
}

// offeredSkills are offeredTools as the agent declares them.
func (d *Definition) offeredSkills() []beeos.Skill { return declaredSkills(d.offeredTools()) }

func declaredSkills(tools []agent.Tool) (list []beeos.Skill) {
	for _, t := range tools {
		list = append(list, beeos.Skill{
			Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.Schema, OutputSchema: t.OutputSchema, Annotations: t.Annotations, Tags: t.Tags,
		})
	}
	return list
}

// offersTools reports whether callers may call tools of the agent's skill servers.
func (b *builtin) offersTools() bool {
	for _, s := range b.skills {
		if len(s.Offer) > 0 {
			return true
		}
	}
	return false
}

// listOffers returns what callers are offered: the skills, and of their servers
// the tools that the owner lets callers have, as they are pinned. With ask, the
// servers are asked for them; one that does not answer counts as unchanged, and
// then whole is false.
func (b *builtin) listOffers(ctx context.Context, ask bool) (tools []agent.Tool, whole bool) {
	tools, whole = b.definition.offeredTools(), true
	left := offerRoom{tools: mostOffered, bytes: roomForDeclared}
	for _, s := range b.skills {
		if len(s.Offer) == 0 {
			continue
		}
		list, asked := b.knownTools(ctx, s, ask)
		whole = whole && asked
		for _, t := range list {
			if !s.Offers(t.Name) {
				continue
			}
			offer := callerTool(b.talker, s.Skill, t)
			if err := left.take(offer); err != nil {
				b.rt.opt.Log.Warn("a tool cannot be offered to callers", "agent", b.row.Name, "skill", s.Name, "tool", beeos.Visible(t.Name), "err", err)
				continue
			}
			tools = append(tools, offer)
		}
	}
	return tools, whole
}

// knownTools returns the tools of a skill that a person knows: of those that its
// server has now, or, unless asked, of those that it had last.
func (b *builtin) knownTools(ctx context.Context, s *connected, ask bool) (list []skill.Tool, asked bool) {
	if ask {
		if list, err := s.Tools(ctx, false); err == nil {
			return list, true
		}
	}
	list, err := skill.PinnedTools(ctx, b.rt.opt.Builtins, b.row.ID, s.Name)
	if err != nil && ctx.Err() == nil {
		b.rt.opt.Log.Error("the tools that callers may call cannot be read", "agent", b.row.Name, "skill", s.Name, "err", err)
	}
	return list, false
}

// callerTool is a tool of a skill server as callers see it. Its name begins with
// that of the skill, so that two servers never share one.
func callerTool(talker *answer.Agent, s answer.Skill, t skill.Tool) agent.Tool {
	return agent.Tool{
		Name: t.FullName, Title: t.Title, Description: t.Description, Schema: t.Schema, OutputSchema: t.Output, Annotations: t.Annotations,
		Tags: []string{"tool", s.Name}, Handle: talker.ToolHandler(s, t.Name),
	}
}

// offerRoom is what is left for tools of skill servers in what the agent declares.
type offerRoom struct{ tools, bytes int }

// take makes room for a tool. One that no agent may declare is refused here, for it
// would keep all of them from being declared.
func (o *offerRoom) take(t agent.Tool) error {
	declared := declaredSkills([]agent.Tool{t})
	if err := agents.ValidateDefinition(beeos.Definition{Name: "agent", Skills: declared}); err != nil {
		return err
	}
	raw, err := beeos.EncodeJSON(declared)
	if err != nil {
		return err
	}
	if o.tools == 0 || len(raw) > o.bytes {
		return fmt.Errorf("an agent offers at most %d tools and %d KiB of definitions; name fewer", mostOffered, roomForDeclared>>10)
	}
	o.tools--
	o.bytes -= len(raw)
	return nil
}

// keepOffers declares what callers are offered, again whenever that changes, until
// the agent ends.
func (b *builtin) keepOffers() {
	select {
	case <-b.connected:
	case <-b.ctx.Done():
		return
	}
	for {
		next := offerEvery
		tools, whole := b.listOffers(b.ctx, true)
		if b.ctx.Err() != nil {
			return
		}
		if declared := declaredSkills(tools); !reflect.DeepEqual(declared, b.declared) || !b.stillDeclared(declared) {
			err := b.agent.Change(b.ctx, func(o *agent.Options) { o.Tools = tools })
			if err == nil {
				b.declared = declared
			} else if whole = false; b.ctx.Err() == nil {
				b.rt.opt.Log.Warn("what callers are offered could not be declared; it is tried again", "agent", b.row.Name, "err", err)
			}
		}
		if !whole {
			next = offerAgainAfter
		}
		timer := time.NewTimer(next)
		select {
		case <-b.changed:
		case <-timer.C:
		case <-b.ctx.Done():
		}
		timer.Stop()
		if b.ctx.Err() != nil {
			return
		}
	}
}

// stillDeclared reports whether nobody has declared the agent with other skills
// since: who creates it does so without the tools that only its servers know.
func (b *builtin) stillDeclared(skills []beeos.Skill) bool {
	a, err := b.rt.opt.Agents.GetByName(b.ctx, b.row.OwnerID, b.row.Name)
	if err != nil {
		return true // the next look tells
	}
	return slices.EqualFunc(a.Definition.Skills, skills, func(x, y beeos.Skill) bool { return x.Name == y.Name })
}

// noteChange makes keepOffers look again.
func (b *builtin) noteChange() {
	select {
	case b.changed <- struct{}{}:
	default: // it is about to
	}
}
