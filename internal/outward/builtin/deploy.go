package builtin

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/outward/llm"
	"github.com/beeos/beeos/internal/outward/skill"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/store/builtins"
)

// Outcome is what a deployment comes to.
type Outcome string

const (
	Created   Outcome = "created"
	Changed   Outcome = "changed"
	Unchanged Outcome = "unchanged"
)

// Deploy makes the owner's built-in agent of that name what d says: a new one,
// or the one that there is. It says what has to be done, and unless dry does it.
func (rt *Supervisor) Deploy(ctx context.Context, ownerID string, d Definition, secrets map[string]skill.Secrets, dry bool) (builtins.Builtin, Outcome, error) {
	row, err := rt.opt.Builtins.GetByName(ctx, ownerID, d.Name)
	switch {
	case beeos.CodeOf(err) == beeos.NotFound && dry:
		return row, Created, rt.checkNew(ctx, ownerID, &d, secrets)
	case beeos.CodeOf(err) == beeos.NotFound:
		row, err = rt.Create(ctx, ownerID, d, secrets)
		return row, Created, err
	case err != nil:
		return row, "", err
	}
	if err := rt.checkDefinition(ctx, ownerID, &d, secrets); err != nil {
		return row, "", err
	}
	next := row
	_, same, err := rt.mergeDefinition(&next, d, secrets)
	if err != nil || same || dry {
		if same {
			return row, Unchanged, err
		}
		return row, Changed, err
	}
	if err := rt.Change(ctx, ownerID, row.ID, d, secrets); err != nil {
		return row, "", err
	}
	row, err = rt.opt.Builtins.Get(ctx, ownerID, row.ID)
	return row, Changed, err
}

// Create makes a built-in agent. It is there at once, and connects within
// seconds.
func (rt *Supervisor) Create(ctx context.Context, ownerID string, d Definition, secrets map[string]skill.Secrets) (builtins.Builtin, error) {
	if err := rt.checkNew(ctx, ownerID, &d, secrets); err != nil {
		return builtins.Builtin{}, err
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return builtins.Builtin{}, fmt.Errorf("make an identity: %w", err)
	}
	now := rt.opt.Now()
	row := builtins.Builtin{ID: beeos.NewID(), OwnerID: ownerID, Name: d.Name, CreatedAt: now, UpdatedAt: now}
	if err := rt.sealRow(&row, d, secret{Seed: private.Seed(), Skills: secrets}); err != nil {
		return row, err
	}
	if err := rt.opt.Builtins.Create(ctx, row, public); err != nil {
		return row, err
	}
	if err := rt.declareAgent(ctx, row, d); err != nil {
		return row, errors.Join(err, rt.opt.Builtins.Delete(ctx, ownerID, row.ID))
	}
	rt.tellNodes(News{ID: row.ID})
	return row, nil
}

// checkNew is check for an agent that there is not yet.
func (rt *Supervisor) checkNew(ctx context.Context, ownerID string, d *Definition, secrets map[string]skill.Secrets) error {
	if err := rt.checkDefinition(ctx, ownerID, d, secrets); err != nil {
		return err
	}
	if err := agents.ValidateDefinition(d.declared()); err != nil {
		return err
	}
	switch other, err := rt.opt.Agents.GetByName(ctx, ownerID, d.Name); {
	case err == nil && other.Active: // it would become a second instance of that one
		return beeos.Errorf(beeos.Conflict, "you have an agent called %s already; choose another name, or delete that one", d.Name)
	case err != nil && beeos.CodeOf(err) != beeos.AgentNotFound:
		return err
	}
	return nil
}

// declareAgent says what the agent itself says when it connects, so that it can be
// looked at before.
func (rt *Supervisor) declareAgent(ctx context.Context, row builtins.Builtin, d Definition) error {
	instance := beeos.Instance{ID: row.ID, OwnerID: row.OwnerID, Name: row.Name}
	_, err := rt.opt.Agents.Sync(ctx, instance, []beeos.Definition{d.declared()})
	return err
}

// Change replaces the definition of a built-in agent, all but its name. Skills
// that secrets does not name keep theirs.
func (rt *Supervisor) Change(ctx context.Context, ownerID, id string, d Definition, secrets map[string]skill.Secrets) error {
	if err := rt.checkDefinition(ctx, ownerID, &d, secrets); err != nil {
		return err
	}
	var old Definition
	err := rt.updateRow(ctx, ownerID, id, func(row *builtins.Builtin) (err error) {
		old, _, err = rt.mergeDefinition(row, d, secrets)
		return err
	})
	if err != nil {
		return err
	}
	for _, s := range old.Servers {
		if err := rt.forgetSkill(ctx, id, s, d.Servers); err != nil {
			return err
		}
	}
	return nil
}

// forgetSkill drops what was kept about a skill as far as it is not so any more. One
// that has moved is another server: its tools are compared with those that were
// known, and its owner is asked again.
func (rt *Supervisor) forgetSkill(ctx context.Context, id string, s skill.Server, now []skill.Server) error {
	switch i := slices.IndexFunc(now, func(n skill.Server) bool { return n.Name == s.Name }); {
	case i < 0:
		return rt.opt.Builtins.ForgetSkill(ctx, id, s.Name)
	case now[i].URL != s.URL || now[i].Command != s.Command || now[i].Agent != s.Agent:
		return rt.opt.Builtins.ForgetSkillRules(ctx, id, s.Name)
	}
	return nil
}

// mergeDefinition puts a definition into a row, and reports what and whether it was like
// that.
func (rt *Supervisor) mergeDefinition(row *builtins.Builtin, d Definition, secrets map[string]skill.Secrets) (old Definition, same bool, err error) {
	old, kept, err := rt.openRow(*row)
	if err != nil {
		return old, false, err
	}
	d.Name = row.Name
	if err := agents.ValidateDefinition(d.declared()); err != nil {
		return old, false, err
	}
	all := map[string]skill.Secrets{}
	for _, s := range d.Servers {
		if given, ok := secrets[s.Name]; ok {
			all[s.Name] = given
		} else if has, ok := kept.Skills[s.Name]; ok && sameServer(old, s) {
			all[s.Name] = has
		}
	}
	same = maps.Equal(all, kept.Skills)
	kept.Skills = all
	was := row.Definition
	if err := rt.sealRow(row, d, kept); err != nil {
		return old, false, err
	}
	return old, same && row.Definition == was, nil
}

// sameServer reports whether a skill still is where its secrets belong to.
func sameServer(old Definition, s skill.Server) bool {
	return slices.ContainsFunc(old.Servers, func(o skill.Server) bool {
		return o.Name == s.Name && o.URL == s.URL && o.Auth.Issuer == s.Auth.Issuer && o.Auth.ClientID == s.Auth.ClientID
	})
}

// SetStopped stops a built-in agent, or starts it again.
func (rt *Supervisor) SetStopped(ctx context.Context, ownerID, id string, stopped bool) error {
	row, err := rt.opt.Builtins.Get(ctx, ownerID, id)
	if err != nil || row.Stopped == stopped {
		return err
	}
	return rt.updateRow(ctx, ownerID, id, func(row *builtins.Builtin) error {
		row.Stopped = stopped
		return nil
	})
}

// Restart ends a built-in agent and starts it anew, with new connections to
// its skill servers. One that is stopped is started.
func (rt *Supervisor) Restart(ctx context.Context, ownerID, id string) error {
	return rt.updateRow(ctx, ownerID, id, func(row *builtins.Builtin) error {
		row.Stopped = false
		return nil
	})
}

// Delete ends a built-in agent and forgets all that it was given. What it said
// stays in its channels.
func (rt *Supervisor) Delete(ctx context.Context, ownerID, id string) error {
	if err := rt.opt.Builtins.Delete(ctx, ownerID, id); err != nil {
		return err
	}
	rt.tellNodes(News{ID: id})
	return nil
}

// Definition returns what an owner said about a built-in agent.
func (rt *Supervisor) Definition(ctx context.Context, ownerID, id string) (d Definition, err error) {
	_, d, _, err = rt.getRow(ctx, ownerID, id)
	return d, err
}

// updateRow changes a row, from whatever somebody else made of it meanwhile.
func (rt *Supervisor) updateRow(ctx context.Context, ownerID, id string, change func(*builtins.Builtin) error) error {
	for ok := false; !ok; {
		row, err := rt.opt.Builtins.Get(ctx, ownerID, id)
		if err != nil {
			return err
		}
		was := row.UpdatedAt
		if err := change(&row); err != nil {
			return err
		}
		row.UpdatedAt = rt.opt.Now()
		if !row.UpdatedAt.After(was) { // the clocks of nodes differ, and a change must show
			row.UpdatedAt = was.Add(time.Microsecond)
		}
		if ok, err = rt.opt.Builtins.Update(ctx, row, was); err != nil {
			return err
		}
	}
	rt.tellNodes(News{ID: id})
	return nil
}

// Commands are the names of the commands that a skill may name.
func (rt *Supervisor) Commands(context.Context) []string {
	return slices.Sorted(maps.Keys(rt.allowedCommands()))
}

// HasModel reports whether a model is configured.
func (rt *Supervisor) HasModel(context.Context) bool { return rt.opt.Model != nil }

// Models returns what the configured service says it has; not every service has
// a list.
func (rt *Supervisor) Models(ctx context.Context) ([]string, error) {
	if rt.opt.Model == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, listWithin)
	defer cancel()
	known, err := llm.Models(ctx, rt.opt.Model)
	slices.Sort(known)
	return known, err
}
