package runtime

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/skill"
	"github.com/beeos/beeos/internal/store"
)

// Create makes a built-in agent. It is there at once, and connects within
// seconds.
func (rt *Runtime) Create(ctx context.Context, ownerID string, d Definition, secrets map[string]skill.Secrets) (store.Builtin, error) {
	if err := d.check(rt.allowed(), secrets); err != nil {
		return store.Builtin{}, err
	}
	switch other, err := rt.opt.DB.AgentByName(ctx, ownerID, d.Name); {
	case err == nil && other.Active: // it would become a second instance of that one
		return store.Builtin{}, beeos.Errorf(beeos.Conflict, "you have an agent called %s already; choose another name, or delete that one", d.Name)
	case err != nil && beeos.CodeOf(err) != beeos.AgentNotFound:
		return store.Builtin{}, err
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return store.Builtin{}, fmt.Errorf("make an identity: %w", err)
	}
	now := rt.opt.Now()
	row := store.Builtin{ID: beeos.NewID(), OwnerID: ownerID, Name: d.Name, CreatedAt: now, UpdatedAt: now}
	if err := rt.close(&row, d, secret{Seed: private.Seed(), Skills: secrets}); err != nil {
		return row, err
	}
	if err := rt.opt.DB.CreateBuiltin(ctx, row, public); err != nil {
		return row, err
	}
	if err := rt.declare(ctx, row, d); err != nil {
		return row, errors.Join(err, rt.opt.DB.DeleteBuiltin(ctx, ownerID, row.ID))
	}
	rt.changed()
	return row, nil
}

// declare says what the agent itself says when it connects, so that it can be
// looked at before.
func (rt *Runtime) declare(ctx context.Context, row store.Builtin, d Definition) error {
	instance := beeos.Instance{ID: row.ID, OwnerID: row.OwnerID, Name: row.Name}
	_, err := rt.opt.DB.Sync(ctx, instance, []beeos.Definition{d.declared()})
	return err
}

// Change replaces the definition of a built-in agent, all but its name. Skills
// that secrets does not name keep theirs.
func (rt *Runtime) Change(ctx context.Context, ownerID, id string, d Definition, secrets map[string]skill.Secrets) error {
	if err := d.check(rt.allowed(), secrets); err != nil {
		return err
	}
	var old Definition
	err := rt.update(ctx, ownerID, id, func(row *store.Builtin) error {
		kept, err := rt.open(*row, &old)
		if err != nil {
			return err
		}
		d.Name = row.Name
		if err := store.ValidateDefinition(d.declared()); err != nil {
			return err
		}
		all := map[string]skill.Secrets{}
		for _, s := range d.Servers {
			if given, ok := secrets[s.Name]; ok {
				all[s.Name] = given
			} else if sameServer(old, s) {
				all[s.Name] = kept.Skills[s.Name]
			}
		}
		kept.Skills = all
		return rt.close(row, d, kept)
	})
	if err != nil {
		return err
	}
	for _, s := range old.Servers {
		if !slices.ContainsFunc(d.Servers, func(n skill.Server) bool { return n.Name == s.Name }) {
			if err := rt.opt.DB.ForgetSkill(ctx, id, s.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// sameServer reports whether a skill still is where its secrets belong to.
func sameServer(old Definition, s skill.Server) bool {
	return slices.ContainsFunc(old.Servers, func(o skill.Server) bool {
		return o.Name == s.Name && o.URL == s.URL && o.Auth.Issuer == s.Auth.Issuer
	})
}

// SetStopped stops a built-in agent, or starts it again.
func (rt *Runtime) SetStopped(ctx context.Context, ownerID, id string, stopped bool) error {
	return rt.update(ctx, ownerID, id, func(row *store.Builtin) error {
		row.Stopped = stopped
		return nil
	})
}

// Delete ends a built-in agent and forgets all that it was given. What it said
// stays in its channels.
func (rt *Runtime) Delete(ctx context.Context, ownerID, id string) error {
	if err := rt.opt.DB.DeleteBuiltin(ctx, ownerID, id); err != nil {
		return err
	}
	rt.changed()
	return nil
}

// Definition returns what an owner said about a built-in agent.
func (rt *Runtime) Definition(ctx context.Context, ownerID, id string) (d Definition, err error) {
	row, err := rt.opt.DB.Builtin(ctx, ownerID, id)
	if err != nil {
		return d, err
	}
	_, err = rt.open(row, &d)
	return d, err
}

func (rt *Runtime) update(ctx context.Context, ownerID, id string, change func(*store.Builtin) error) error {
	row, err := rt.opt.DB.Builtin(ctx, ownerID, id)
	if err != nil {
		return err
	}
	if err := change(&row); err != nil {
		return err
	}
	row.UpdatedAt = rt.opt.Now()
	if err := rt.opt.DB.UpdateBuiltin(ctx, row); err != nil {
		return err
	}
	rt.changed()
	return nil
}

// Commands are the names of the commands that a skill may name.
func (rt *Runtime) Commands() []string { return slices.Sorted(maps.Keys(rt.allowed())) }

// HasModel reports whether a model is configured.
func (rt *Runtime) HasModel() bool { return rt.opt.Model != nil }

// allowed are the commands that a definition may name.
func (rt *Runtime) allowed() map[string][]string {
	all := maps.Clone(rt.opt.Commands)
	if all == nil {
		all = map[string][]string{}
	}
	for name := range rt.opt.Local {
		all[name] = nil
	}
	return all
}

// server is one entry of a request's mcpServers.
type server struct {
	skill.Server
	Headers json.RawMessage `json:"headers"`
	Env     json.RawMessage `json:"env"`
	Args    json.RawMessage `json:"args"`
	Auth    struct {
		skill.Auth
		skill.Secrets
	} `json:"auth"`
}

// ParseServers reads the mcpServers of a request: an object with a skill per
// name. It takes no commands and no credentials but those of an OAuth client.
func ParseServers(raw json.RawMessage) ([]skill.Server, map[string]skill.Secrets, error) {
	if len(raw) == 0 {
		return nil, nil, nil
	}
	var all map[string]server
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, nil, beeos.Wrap(beeos.InvalidBody, err, `mcpServers is not an object of the form {"name": {"url": "https://…"}}`)
	}
	var servers []skill.Server
	secrets := map[string]skill.Secrets{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := all[name]
		switch {
		case len(s.Args) > 0 || len(s.Env) > 0:
			return nil, nil, beeos.Errorf(beeos.Forbidden, "skill %s brings a command of its own; an admin allows commands in the configuration of the server, and a skill names one", name)
		case len(s.Headers) > 0:
			return nil, nil, beeos.Errorf(beeos.InvalidParam, "skill %s has headers; leave credentials out, a protected server is authorized by OAuth", name)
		}
		s.Server.Name, s.Server.Auth = name, s.Auth.Auth
		servers, secrets[name] = append(servers, s.Server), s.Auth.Secrets
	}
	return servers, secrets, nil
}
