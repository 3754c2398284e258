package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"path"
	"time"
	"unicode/utf8"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/outward/builtin/answer"
	"github.com/beeos/beeos/internal/outward/skill"
	"github.com/beeos/beeos/internal/store/builtins"
	"github.com/beeos/beeos/internal/wire/httpd"
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
	Limits      *limitsView `json:"limits,omitempty"`
}

type limitsView struct {
	Turns   int `json:"turns,omitempty"`
	Calls   int `json:"calls,omitempty"`
	Tokens  int `json:"tokens,omitempty"`
	Seconds int `json:"seconds,omitempty"`
}

func readDeployment(w http.ResponseWriter, r *http.Request) (d deployment, err error) {
	var servers, config json.RawMessage
	var made, variant, provider, bridge, cluster, region string
	var object map[string]json.RawMessage
	err = read(w, r, settingLimit, true, shape{
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
	err := shape{"displayName": &d.DisplayName, "description": &d.Description, "limits": &limits}.decode(config, true)
	if err == nil && len(limits) > 0 {
		err = shape{"turns": &l.Turns, "calls": &l.Calls, "tokens": &l.Tokens, "seconds": &l.Seconds}.decode(limits, true)
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
func (s *Surface) deployInstance(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	d, err := readDeployment(w, r)
	if err != nil {
		return err
	}
	key, err := idempotencyKey(r, "")
	if err != nil {
		return err
	}
	dry := r.URL.Query().Get("dryRun")
	if dry != "" && dry != "true" && dry != "false" {
		return beeos.Errorf(beeos.InvalidParam, "dryRun must be true or false")
	}
	if dry == "true" || key != "" { // a key stands for what is worth doing
		row, outcome, err := s.Acts.Deploy(r.Context(), c, d.Definition, d.secrets, true)
		if err != nil {
			return err
		}
		if dry == "true" {
			httpd.WriteData(w, http.StatusOK, map[string]string{"id": row.ID, "name": d.Name, "outcome": string(outcome)})
			return nil
		}
	}
	var row builtins.Builtin
	outcome := builtin.Unchanged
	replayed, err := s.perform(w, r, c, keyedAct{key, "deploy", []any{d.Definition, d.secrets}}, func() (err error) {
		row, outcome, err = s.Acts.Deploy(r.Context(), c, d.Definition, d.secrets, false)
		return err
	})
	if err == nil && replayed {
		row, err = s.DB.Builtins.GetByName(r.Context(), c.UserID, d.Name)
		if beeos.CodeOf(err) == beeos.NotFound {
			return beeos.Errorf(beeos.Conflict, "agent %q was deployed under this idempotency key and has been deleted since; use a new key to deploy it again", d.Name)
		}
	}
	if err != nil {
		return err
	}
	return s.writeBuiltin(w, r, http.StatusCreated, row, outcome)
}

func (s *Surface) writeBuiltin(w http.ResponseWriter, r *http.Request, status int, row builtins.Builtin, outcome builtin.Outcome) error {
	i, err := s.DB.Instances.Get(r.Context(), row.ID)
	if err != nil {
		return err
	}
	v, err := s.viewBuiltin(r.Context(), i, row)
	if err != nil {
		return err
	}
	v.Outcome = outcome
	httpd.WriteData(w, status, v)
	return nil
}

// serverView is a skill without its name, which is its key. Nothing that is
// secret is in a skill.Server.
type serverView struct {
	URL         string                  `json:"url,omitempty"`
	Command     string                  `json:"command,omitempty"`
	AutoApprove bool                    `json:"autoApprove"`
	Tools       map[string]skill.Policy `json:"tools,omitempty"`
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

func (s *Surface) viewBuiltin(ctx context.Context, i beeos.Instance, row builtins.Builtin) (instanceView, error) {
	v := s.viewInstance(ctx, i)
	d, err := builtin.ReadDefinition(row)
	if err != nil {
		return v, err
	}
	v.HostingType, v.ModelPrimary, v.SystemPrompt, v.UpdatedAt = hostedHere, d.Model, d.Prompt, row.UpdatedAt
	v.Models = append(v.Models, d.Models...)
	v.Config = &configView{DisplayName: d.DisplayName, Description: d.Description, Limits: &limitsView{
		Turns: d.Limits.Turns, Calls: d.Limits.Calls, Tokens: d.Limits.Tokens, Seconds: int(d.Limits.Wall / time.Second),
	}}
	v.MCPServers = map[string]serverView{}
	for _, one := range d.Servers {
		v.MCPServers[one.Name] = serverView{one.URL, one.Command, one.AutoApprove, one.Policies, one.Auth}
	}
	if row.Stopped {
		v.DesiredStatus = instanceStopped
		if v.Reason != "" {
			v.Reason = "it is stopped"
		}
	}
	return v, nil
}

// runInstance answers start, stop and restart.
func (s *Surface) runInstance(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	id, verb := r.PathValue("id"), path.Base(r.URL.Path)
	do := map[string]func(context.Context, beeos.Caller, string) error{
		"start": s.Acts.StartBuiltin, "stop": s.Acts.StopBuiltin, "restart": s.Acts.RestartBuiltin,
	}[verb]
	if err := s.Acts.CheckBuiltin(r.Context(), c, id); err != nil {
		return err
	}
	key, err := idempotencyKey(r, "")
	if err != nil {
		return err
	}
	if _, err := s.perform(w, r, c, keyedAct{key: key, name: verb + " " + id}, func() error { return do(r.Context(), c, id) }); err != nil {
		return err
	}
	row, err := s.DB.Builtins.Get(r.Context(), c.UserID, id)
	if err != nil {
		return err
	}
	return s.writeBuiltin(w, r, http.StatusOK, row, "")
}
