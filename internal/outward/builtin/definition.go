package builtin

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/outward/builtin/answer"
	"github.com/beeos/beeos/internal/outward/llm"
	"github.com/beeos/beeos/internal/outward/skill"
	"github.com/beeos/beeos/internal/store/builtins"
)

// Definition is what an owner says about a built-in agent.
type Definition struct {
	Name        string         `json:"-"`
	DisplayName string         `json:"displayName,omitempty"`
	Description string         `json:"description,omitempty"`
	Model       string         `json:"model,omitempty"`     // empty = the one that is configured
	Models      []string       `json:"models,omitempty"`    // that callers may choose for a conversation
	Fallbacks   []string       `json:"fallbacks,omitempty"` // asked in turn when the model does not answer
	Prompt      string         `json:"prompt,omitempty"`
	Servers     []skill.Server `json:"servers,omitempty"`
	Limits      answer.Limits  `json:"limits,omitzero"`
}

const (
	longestPrompt = 8192
	longestModel  = 128
	mostServers   = 32
	mostModels    = 32
	mostFallbacks = 4

	listWithin = 3 * time.Second // for the service to say which models it has
)

// CheckPrompt says what is wrong with a system prompt.
func CheckPrompt(prompt string) error {
	if utf8.RuneCountInString(prompt) > longestPrompt {
		return beeos.Errorf(beeos.InvalidParam, "the system prompt is longer than %d characters; shorten it", longestPrompt)
	}
	return nil
}

// checkDefinition says what is wrong with a definition, and completes it.
func (rt *Supervisor) checkDefinition(ctx context.Context, ownerID string, d *Definition, secrets map[string]skill.Secrets) error {
	if err := CheckPrompt(d.Prompt); err != nil {
		return err
	}
	if len(d.Servers) > mostServers {
		return beeos.Errorf(beeos.InvalidParam, "an agent can have %d skill servers; make a second agent for the others", mostServers)
	}
	if err := rt.checkModels(ctx, d); err != nil {
		return err
	}
	commands, seen := rt.allowedCommands(), map[string]bool{}
	for _, s := range d.Servers {
		if err := s.Check(commands); err != nil {
			return err
		}
		if seen[s.Name] {
			return beeos.Errorf(beeos.InvalidParam, "two skills are called %s; give one another name", s.Name)
		}
		seen[s.Name] = true
		if err := cmp.Or(checkDescription(s), rt.checkServer(s, secrets[s.Name])); err != nil {
			return err
		}
		if s.Agent == "" {
			continue
		}
		if err := rt.checkPeer(ctx, ownerID, d.Name, s); err != nil {
			return err
		}
	}
	return d.Limits.Check(rt.opt.MaxTokens)
}

// checkServer says what is wrong with a skill on this server.
func (rt *Supervisor) checkServer(s skill.Server, secrets skill.Secrets) error {
	if s.URL == "" {
		if secrets != (skill.Secrets{}) || !s.Auth.IsZero() {
			return beeos.Errorf(beeos.InvalidParam, "skill %s is on this server and needs no auth; leave that out", s.Name)
		}
		return nil
	}
	if !rt.opt.Plain && !strings.HasPrefix(s.URL, "https://") {
		return beeos.Errorf(beeos.InvalidParam, "skill %s would be reached without encryption; give an https:// address", s.Name)
	}
	if s.Auth.Assertion != "" { // an issuer that is not pinned is known when it is met
		if _, err := rt.allowedAssertion(s.Auth.Assertion, cmp.Or(s.Auth.IDP, s.Auth.Issuer)); err != nil {
			return err
		}
	}
	_, err := rt.newTransport(builtins.Builtin{}, s, secrets)
	return err
}

// checkModels says which model there is not, if the service tells.
func (rt *Supervisor) checkModels(ctx context.Context, d *Definition) error {
	if len(d.Models) > mostModels {
		return beeos.Errorf(beeos.InvalidParam, "an agent can offer %d models; leave some out", mostModels)
	}
	if len(d.Fallbacks) > mostFallbacks {
		return beeos.Errorf(beeos.InvalidParam, "an agent can have %d models to fall back on; leave some out", mostFallbacks)
	}
	named := slices.Concat(d.Models, d.Fallbacks)
	if d.Model != "" {
		named = append(named, d.Model)
	}
	for _, m := range named {
		if m == "" || len(m) > longestModel || beeos.Visible(m) != m {
			return beeos.Errorf(beeos.InvalidParam, "%q is no name of a model; it has from 1 to %d printable characters", m, longestModel)
		}
	}
	if len(named) == 0 || rt.opt.Model == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, listWithin)
	defer cancel()
	known, err := llm.Models(ctx, rt.opt.Model)
	if err != nil || len(known) == 0 { // not every service has a list
		rt.opt.Log.Debug("the models are not known", "err", err)
		return nil
	}
	for _, m := range named {
		if llm.Lacks(known, m) {
			slices.Sort(known)
			return beeos.Errorf(beeos.InvalidParam, "there is no model %q; there are %s", m, strings.Join(known[:min(len(known), 20)], ", "))
		}
	}
	return nil
}

// capabilities is what the agent says that it can.
func (d *Definition) capabilities() json.RawMessage {
	if len(d.Models) == 0 {
		return nil
	}
	return json.RawMessage(`{"modelsList":true,"modelsSet":true}`)
}

// declared is what callers are told about the agent.
func (d *Definition) declared() beeos.Definition {
	return beeos.Definition{
		Name: d.Name, DisplayName: d.DisplayName, Description: d.Description, Model: d.Model,
		Skills: d.offeredSkills(), Capabilities: d.capabilities(), TimeoutMS: (d.Limits.Wall + lastWord).Milliseconds(),
	}
}

// allowedCommands returns the commands that a definition may name.
func (rt *Supervisor) allowedCommands() map[string][]string {
	all := maps.Clone(rt.opt.Commands)
	if all == nil {
		all = map[string][]string{}
	}
	for name := range rt.opt.Local {
		all[name] = nil
	}
	return all
}

// secret is what is kept of an agent that nobody may read.
type secret struct {
	Seed   []byte                   `json:"seed"` // of the identity's key
	Skills map[string]skill.Secrets `json:"skills,omitempty"`
}

func (s secret) key() ed25519.PrivateKey { return ed25519.NewKeyFromSeed(s.Seed) }

// ReadDefinition returns what an owner said about the agent of a row.
func ReadDefinition(row builtins.Builtin) (d Definition, err error) {
	if err := json.Unmarshal([]byte(row.Definition), &d); err != nil {
		return d, fmt.Errorf("read the definition of agent %s: %w", row.Name, err)
	}
	d.Name = row.Name
	d.Limits.Fill()
	return d, nil
}

// getRow reads an owner's built-in agent.
func (rt *Supervisor) getRow(ctx context.Context, ownerID, id string) (row builtins.Builtin, d Definition, s secret, err error) {
	if row, err = rt.opt.Builtins.Get(ctx, ownerID, id); err == nil {
		d, s, err = rt.openRow(row)
	}
	return row, d, s, err
}

// openRow reads a row.
func (rt *Supervisor) openRow(row builtins.Builtin) (d Definition, s secret, err error) {
	if d, err = ReadDefinition(row); err != nil {
		return d, s, err
	}
	if err := rt.sealer.OpenJSON(row.Sealed, row.ID, &s); err != nil {
		return d, s, fmt.Errorf("read the secrets of agent %s: %w", row.Name, err)
	}
	if len(s.Seed) != ed25519.SeedSize {
		return d, s, fmt.Errorf("the secrets of agent %s are not what was sealed", row.Name)
	}
	return d, s, nil
}

// sealRow writes a row.
func (rt *Supervisor) sealRow(row *builtins.Builtin, d Definition, s secret) error {
	text, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("write the definition of agent %s: %w", row.Name, err)
	}
	row.Definition = string(text)
	row.Sealed, err = rt.sealer.SealJSON(s, row.ID)
	return err
}
