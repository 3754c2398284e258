package rest

import (
	"context"
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/outward/builtin/answer"
	"github.com/beeos/beeos/internal/outward/skill"
	"github.com/beeos/beeos/internal/store/builtins"
	"github.com/beeos/beeos/internal/surface/rest/route"
)

// A built-in agent is an instance that this server runs: deploying makes one,
// or changes the one of that name, and start, stop and restart work.

const (
	hostedHere  = "built-in"
	longestID   = 128
	longestText = 4096
)

// deployment is a DeployInstanceRequest, as far as it has a meaning here.
type deployment struct {
	builtin.Definition
	secrets map[string]skill.Secrets
}

// configView is the config of a deployment: what the contract has no member
// of its own for.
type configView struct {
	DisplayName string      `json:"displayName,omitempty"`
	Description string      `json:"description,omitempty"`
	Fallbacks   []string    `json:"fallbacks,omitempty"`
	Limits      *limitsView `json:"limits,omitempty"`
}

type limitsView struct {
	Turns   int `json:"turns,omitempty"`
	Calls   int `json:"calls,omitempty"`
	Tokens  int `json:"tokens,omitempty"`
	Seconds int `json:"seconds,omitempty"`
}

func readDeployment(r *route.Request) (d deployment, err error) {
	var servers, config json.RawMessage
	var made, variant, provider, bridge, cluster, region string
	var object map[string]json.RawMessage
	err = r.ReadSettings(route.Strict, route.Shape{
		"name": &d.Name, "modelPrimary": &d.Model, "models": &d.Models, "systemPrompt": &d.Prompt, "mcpServers": &servers, "config": &config,
		"agentFramework": &made,
		// Where a cloud would run it; this server does.
		"variantId": &variant, "providerId": &provider, "providerConfig": &object, "bridgeId": &bridge, "clusterId": &cluster, "preferredRegion": &region,
	})
	switch {
	case err != nil:
		return d, err
	case d.Name == "":
		return d, beeos.Errorf(beeos.MissingParam, "name is required")
	case utf8.RuneCountInString(d.Name) > longestID || max(len(variant), len(bridge), len(cluster)) > longestID || max(len(provider), len(region), len(made)) > longestID/2:
		return d, beeos.Errorf(beeos.InvalidParam, "name, variantId, bridgeId and clusterId may have at most %d characters, agentFramework, providerId and preferredRegion %d", longestID, longestID/2)
	case made != "" && made != framework:
		return d, beeos.Errorf(beeos.InvalidParam, "agentFramework can only be %s; connect an agent of another kind with: beeos connect", framework)
	}
	if len(config) > 0 && string(config) != "null" {
		if err := d.configure(config); err != nil {
			return d, err
		}
	}
	d.Servers, d.secrets, err = builtin.ParseServers(servers)
	return d, err
}

func (d *deployment) configure(config json.RawMessage) error {
	var limits json.RawMessage
	var l limitsView
	err := route.Shape{"displayName": &d.DisplayName, "description": &d.Description, "fallbacks": &d.Fallbacks, "limits": &limits}.Decode(config, route.Strict)
	if err == nil && len(limits) > 0 {
		err = route.Shape{"turns": &l.Turns, "calls": &l.Calls, "tokens": &l.Tokens, "seconds": &l.Seconds}.Decode(limits, route.Strict)
	}
	if err != nil {
		return err
	}
	if max(utf8.RuneCountInString(d.DisplayName), utf8.RuneCountInString(d.Description)) > longestText {
		return beeos.Errorf(beeos.InvalidParam, "config: displayName and description may have at most %d characters", longestText)
	}
	if min(l.Turns, l.Calls, l.Tokens, l.Seconds) < 0 {
		return beeos.Errorf(beeos.InvalidParam, "config: limits are not below 0")
	}
	d.Limits = answer.Limits{Turns: l.Turns, Calls: l.Calls, Tokens: l.Tokens, Wall: time.Duration(min(l.Seconds, 1<<30)) * time.Second}
	return nil
}

// deployInstance makes a built-in agent, or makes the caller's of that name
// what the request says.
func (s *Surface) deployInstance(r *route.Request) (any, error) {
	d, err := readDeployment(r)
	if err != nil {
		return nil, err
	}
	key, err := r.IdempotencyKey("")
	if err != nil {
		return nil, err
	}
	dry, err := r.QueryBool("dryRun")
	if err != nil {
		return nil, err
	}
	deploy := func(dry bool) (builtins.Builtin, builtin.Outcome, error) {
		return s.opt.Acts.Deploy(r.Context(), r.Caller, d.Definition, d.secrets, dry)
	}
	if dry || key != "" { // a key stands for what is worth doing
		row, outcome, err := deploy(true)
		if dry || err != nil {
			return map[string]string{"id": row.ID, "name": d.Name, "outcome": string(outcome)}, err
		}
	}
	var row builtins.Builtin
	outcome := builtin.Unchanged
	replayed, err := s.router.Once(r, "deploy", []any{d.Definition, d.secrets}, func() (err error) {
		row, outcome, err = deploy(false)
		return err
	})
	if err == nil && replayed {
		row, err = s.opt.DB.Builtins.GetByName(r.Context(), r.Caller.UserID, d.Name)
		if beeos.CodeOf(err) == beeos.NotFound {
			err = beeos.Errorf(beeos.Conflict, "agent %q was deployed under this idempotency key and has been deleted since; use a new key to deploy it again", d.Name)
		}
	}
	if err != nil {
		return nil, err
	}
	v, err := s.viewBuiltin(r, row, outcome)
	return route.Created(v), err
}

// serverView is a skill without its name, which is its key. Nothing that is
// secret is in a skill.Server.
type serverView struct {
	URL         string                  `json:"url,omitempty"`
	Description string                  `json:"description,omitempty"`
	Command     string                  `json:"command,omitempty"`
	Agent       string                  `json:"agent,omitempty"`
	AutoApprove bool                    `json:"autoApprove"`
	Tools       map[string]skill.Policy `json:"tools,omitempty"`
	Offer       []string                `json:"offer,omitempty"`
	Auth        skill.Auth              `json:"auth,omitzero"`
}

// builtinView is what an instance shows beside the rest when this server runs
// it.
type builtinView struct {
	SystemPrompt string                `json:"systemPrompt,omitempty"`
	MCPServers   map[string]serverView `json:"mcpServers,omitempty"`
	Config       *configView           `json:"config,omitempty"`
	UpdatedAt    time.Time             `json:"updatedAt,omitzero"`
	Outcome      builtin.Outcome       `json:"outcome,omitempty"`
}

func (s *Surface) viewBuiltin(r *route.Request, row builtins.Builtin, outcome builtin.Outcome) (any, error) {
	i, err := s.opt.DB.Instances.Get(r.Context(), row.ID)
	if err != nil {
		return nil, err
	}
	v := s.viewInstance(r.Context(), i)
	v.Outcome = outcome
	err = v.addBuiltin(row)
	return v, err
}

// addBuiltin shows what an instance is that this server runs.
func (v *instanceView) addBuiltin(row builtins.Builtin) error {
	d, err := builtin.ReadDefinition(row)
	if err != nil {
		return err
	}
	v.HostingType, v.ModelPrimary, v.SystemPrompt, v.UpdatedAt = hostedHere, d.Model, d.Prompt, row.UpdatedAt
	v.Models = append(v.Models, d.Models...)
	v.Config = &configView{DisplayName: d.DisplayName, Description: d.Description, Fallbacks: d.Fallbacks, Limits: &limitsView{
		Turns: d.Limits.Turns, Calls: d.Limits.Calls, Tokens: d.Limits.Tokens, Seconds: int(d.Limits.Wall / time.Second),
	}}
	v.MCPServers = map[string]serverView{}
	for _, one := range d.Servers {
		v.MCPServers[one.Name] = serverView{one.URL, one.Description, one.Command, one.Agent, one.AutoApprove, one.Policies, one.Offer, one.Auth}
	}
	switch {
	case row.Stopped:
		v.DesiredStatus, v.HaltReason = instanceStopped, haltedByOwner
		if v.Status != instanceRunning {
			v.Status = instanceStopped
		}
	case v.Status != instanceRunning:
		v.Status = instanceStarting
	}
	return nil
}

// operateInstance starts or stops a built-in agent.
func (s *Surface) operateInstance(verb string, do func(context.Context, beeos.Caller, string) error) route.Action {
	return func(r *route.Request) (any, error) {
		id := r.PathValue("id")
		if err := s.opt.Acts.CheckBuiltin(r.Context(), r.Caller, id); err != nil {
			return nil, err
		}
		if _, err := s.router.Once(r, verb+" "+id, nil, func() error { return do(r.Context(), r.Caller, id) }); err != nil {
			return nil, err
		}
		row, err := s.opt.DB.Builtins.Get(r.Context(), r.Caller.UserID, id)
		if err != nil {
			return nil, err
		}
		return s.viewBuiltin(r, row, "")
	}
}

// restartInstance restarts a built-in agent, or asks an instance that runs
// elsewhere to restart.
func (s *Surface) restartInstance(r *route.Request) (any, error) {
	id := r.PathValue("id")
	i, err := s.opt.Acts.OwnInstance(r.Context(), r.Caller, id)
	if err != nil {
		return nil, err
	}
	if _, err := s.router.Once(r, "restart "+id, nil, func() error { return s.opt.Acts.RestartInstance(r.Context(), r.Caller, id) }); err != nil {
		return nil, err
	}
	row, err := s.opt.DB.Builtins.Get(r.Context(), i.OwnerID, id)
	switch {
	case err == nil:
		return s.viewBuiltin(r, row, "")
	case beeos.CodeOf(err) == beeos.NotFound:
		return s.viewInstance(r.Context(), i), nil
	}
	return nil, err
}
