package act

import (
	"context"
	"maps"
	"net/url"
	"strconv"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/outward/skill"
	"github.com/beeos/beeos/internal/store/audit"
	"github.com/beeos/beeos/internal/store/builtins"
)

// Builtins does to built-in agents what their owners want: here, a
// builtin.Supervisor, or where they run, a builtin.Remote.
type Builtins interface {
	Deploy(ctx context.Context, ownerID string, d builtin.Definition, secrets map[string]skill.Secrets, dry bool) (builtins.Builtin, builtin.Outcome, error)
	Create(ctx context.Context, ownerID string, d builtin.Definition, secrets map[string]skill.Secrets) (builtins.Builtin, error)
	Change(ctx context.Context, ownerID, id string, d builtin.Definition, secrets map[string]skill.Secrets) error
	Definition(ctx context.Context, ownerID, id string) (builtin.Definition, error)
	SetStopped(ctx context.Context, ownerID, id string, stopped bool) error
	Restart(ctx context.Context, ownerID, id string) error
	Delete(ctx context.Context, ownerID, id string) error

	CheckSkills(ctx context.Context, ownerID, id string) ([]builtin.SkillState, error)
	ListHeldTools(ctx context.Context, ownerID, id string) ([]skill.Held, error)
	AcceptTool(ctx context.Context, ownerID, id, skillName, toolName, hash string) error
	StartConsent(ctx context.Context, ownerID, id, skillName string) (string, error)
	FinishConsent(ctx context.Context, ownerID string, query url.Values) (builtin.Authorization, error)
	ForgetConsent(ctx context.Context, ownerID, id, skillName string) error

	ClientDocument() any
	Commands(ctx context.Context) []string
	HasModel(ctx context.Context) bool
	Models(ctx context.Context) ([]string, error)
}

// errElsewhere is for a process that has nothing to do with built-in agents.
var errElsewhere = beeos.Errorf(beeos.Conflict, "this process knows of no built-in agents; ask a server (beeos serve)")

// requireRunner refuses where nobody can do anything to built-in agents.
func (a *Acts) requireRunner(c beeos.Caller) error {
	if err := RequirePerson(c); err != nil {
		return err
	}
	if a.Builtins == nil {
		return errElsewhere
	}
	return nil
}

// ownBuiltin returns a built-in agent of the caller's, by its instance.
func (a *Acts) ownBuiltin(ctx context.Context, c beeos.Caller, id string) (builtins.Builtin, error) {
	i, err := a.OwnInstance(ctx, c, id)
	if err != nil {
		return builtins.Builtin{}, err
	}
	row, err := a.DB.Builtins.Get(ctx, i.OwnerID, id)
	switch {
	case isAbsent(err):
		return row, beeos.Errorf(beeos.Conflict, "instance %q runs where its owner started it; start and stop it there, with the program that serves its agents", i.Name)
	case err != nil:
		return row, err
	}
	return row, a.requireRunner(c)
}

// CheckBuiltin says why the caller could not start, stop or change an instance.
func (a *Acts) CheckBuiltin(ctx context.Context, c beeos.Caller, id string) error {
	_, err := a.ownBuiltin(ctx, c, id)
	return err
}

// Deploy makes the caller's built-in agent of that name what d says: a new
// one, or the one that there is. If dry it only says what that would come to.
func (a *Acts) Deploy(ctx context.Context, c beeos.Caller, d builtin.Definition, secrets map[string]skill.Secrets, dry bool) (builtins.Builtin, builtin.Outcome, error) {
	if err := a.requireRunner(c); err != nil {
		return builtins.Builtin{}, "", err
	}
	row, outcome, err := a.Builtins.Deploy(ctx, c.UserID, d, secrets, dry)
	switch {
	case err != nil || dry:
	case outcome == builtin.Created:
		a.recordBuiltin(ctx, c, row, audit.AgentCreate, describeDefinition(d))
	case outcome == builtin.Changed:
		a.recordBuiltin(ctx, c, row, audit.AgentUpdate, describeDefinition(d))
	}
	return row, outcome, err
}

// CreateBuiltin is Deploy for an agent that must not be there yet.
func (a *Acts) CreateBuiltin(ctx context.Context, c beeos.Caller, d builtin.Definition) (*beeos.Agent, error) {
	if err := a.requireRunner(c); err != nil {
		return nil, err
	}
	row, err := a.Builtins.Create(ctx, c.UserID, d, nil)
	if err != nil {
		return nil, err
	}
	a.recordBuiltin(ctx, c, row, audit.AgentCreate, describeDefinition(d))
	return a.DB.Agents.GetByName(ctx, c.UserID, d.Name)
}

// ChangeBuiltin lets change work on what the owner said about a built-in agent.
func (a *Acts) ChangeBuiltin(ctx context.Context, c beeos.Caller, id string, change func(*builtin.Definition) error) error {
	detail := map[string]string{}
	return a.redefine(ctx, c, id, audit.AgentUpdate, detail, nil, func(d *builtin.Definition) error {
		err := change(d)
		maps.Copy(detail, describeDefinition(*d))
		return err
	})
}

func (a *Acts) redefine(ctx context.Context, c beeos.Caller, id string, action string, detail map[string]string, secrets map[string]skill.Secrets, change func(*builtin.Definition) error) error {
	return a.onBuiltin(ctx, c, id, action, detail, func(owner string) error {
		d, err := a.Builtins.Definition(ctx, owner, id)
		if err != nil {
			return err
		}
		if err := change(&d); err != nil {
			return err
		}
		return a.Builtins.Change(ctx, owner, id, d, secrets)
	})
}

// StartBuiltin starts a built-in agent that was stopped.
func (a *Acts) StartBuiltin(ctx context.Context, c beeos.Caller, id string) error {
	return a.onBuiltin(ctx, c, id, audit.AgentStart, nil, func(owner string) error { return a.Builtins.SetStopped(ctx, owner, id, false) })
}

// StopBuiltin stops a built-in agent until somebody starts it.
func (a *Acts) StopBuiltin(ctx context.Context, c beeos.Caller, id string) error {
	return a.onBuiltin(ctx, c, id, audit.AgentStop, nil, func(owner string) error { return a.Builtins.SetStopped(ctx, owner, id, true) })
}

// RestartBuiltin ends a built-in agent and starts it anew.
func (a *Acts) RestartBuiltin(ctx context.Context, c beeos.Caller, id string) error {
	return a.onBuiltin(ctx, c, id, audit.AgentRestart, nil, func(owner string) error { return a.Builtins.Restart(ctx, owner, id) })
}

// RestartInstance restarts a built-in agent. An instance that runs elsewhere is
// asked to restart, which only one that is connected can hear.
func (a *Acts) RestartInstance(ctx context.Context, c beeos.Caller, id string) error {
	i, err := a.OwnInstance(ctx, c, id)
	if err != nil {
		return err
	}
	switch _, err := a.DB.Builtins.Get(ctx, i.OwnerID, id); {
	case err == nil:
		return a.RestartBuiltin(ctx, c, id)
	case !isAbsent(err):
		return err
	}
	if a.Bus == nil || !a.Bus.Connected(ctx, id) {
		return beeos.Errorf(beeos.Conflict, "instance %q is not connected, so it cannot be asked to restart; start it where it runs, with the program that serves its agents", i.Name)
	}
	a.tell(bus.Control{Kind: bus.RestartInstance, ID: id})
	a.record(ctx, c, i.OwnerID, audit.AgentRestart, id, map[string]string{"name": i.Name})
	return nil
}

// onBuiltin does something with a built-in agent of the caller's. do may fill
// in the detail of the row.
func (a *Acts) onBuiltin(ctx context.Context, c beeos.Caller, id string, action string, detail map[string]string, do func(owner string) error) error {
	row, err := a.ownBuiltin(ctx, c, id)
	if err != nil {
		return err
	}
	if err := do(row.OwnerID); err != nil {
		return err
	}
	a.recordBuiltin(ctx, c, row, action, detail)
	return nil
}

// endBuiltin stops a built-in agent for good and forgets what it was given.
func (a *Acts) endBuiltin(ctx context.Context, row builtins.Builtin) error {
	if a.Builtins == nil {
		return errElsewhere
	}
	if err := a.Builtins.Delete(ctx, row.OwnerID, row.ID); err != nil {
		return err
	}
	a.tellRevoked(row.ID)
	return nil
}

// recordBuiltin writes about a built-in agent under the id of its agent.
func (a *Acts) recordBuiltin(ctx context.Context, c beeos.Caller, row builtins.Builtin, action string, detail map[string]string) {
	subject, all := row.ID, map[string]string{"name": row.Name}
	maps.Copy(all, detail)
	if agent, err := a.DB.Agents.GetByName(context.WithoutCancel(ctx), row.OwnerID, row.Name); err == nil {
		subject = agent.ID
	}
	a.record(ctx, c, row.OwnerID, action, subject, all)
}

// describeDefinition is what the trail says about a definition: no secret, no
// text.
func describeDefinition(d builtin.Definition) map[string]string {
	var skills []string
	for _, s := range d.Servers {
		skills = append(skills, s.Name)
	}
	return map[string]string{
		"kind": "built in", "model": d.Model, "skills": strings.Join(skills, ", "), "prompt": strconv.Itoa(len(d.Prompt)) + " bytes",
	}
}
