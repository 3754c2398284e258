package runtime

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/skill"
	"github.com/beeos/beeos/internal/store"
)

// Definition is what an owner says about a built-in agent.
type Definition struct {
	Name        string         `json:"-"`
	DisplayName string         `json:"displayName,omitempty"`
	Description string         `json:"description,omitempty"`
	Model       string         `json:"model,omitempty"` // empty = the one that is configured
	Prompt      string         `json:"prompt,omitempty"`
	Servers     []skill.Server `json:"servers,omitempty"`
	Limits      Limits         `json:"limits,omitzero"`
}

const (
	longestPrompt = 8192
	mostServers   = 32
)

// check says what is wrong with a definition.
func (d *Definition) check(commands map[string][]string, secrets map[string]skill.Secrets) error {
	if len(d.Prompt) > longestPrompt {
		return beeos.Errorf(beeos.InvalidParam, "the system prompt is longer than %d bytes; shorten it", longestPrompt)
	}
	if len(d.Servers) > mostServers {
		return beeos.Errorf(beeos.InvalidParam, "an agent can have %d skill servers; make a second agent for the others", mostServers)
	}
	seen := map[string]bool{}
	for _, s := range d.Servers {
		if err := s.Check(commands); err != nil {
			return err
		}
		if given := secrets[s.Name]; given.PrivateKey != "" {
			if _, err := parseKey(s.Name, given); err != nil {
				return err // the agent could not be started
			}
		}
		if seen[s.Name] {
			return beeos.Errorf(beeos.InvalidParam, "two skills are called %s; give one another name", s.Name)
		}
		seen[s.Name] = true
	}
	d.Limits.fill()
	return nil
}

// declared is what callers are told about the agent.
func (d *Definition) declared() beeos.Definition {
	return beeos.Definition{
		Name: d.Name, DisplayName: d.DisplayName, Description: d.Description, Model: d.Model, TimeoutMS: (d.Limits.Wall + lastWord).Milliseconds(),
	}
}

// secret is what is kept of an agent that nobody may read.
type secret struct {
	Seed   []byte                   `json:"seed"` // of the identity's key
	Skills map[string]skill.Secrets `json:"skills,omitempty"`
}

func (s secret) key() ed25519.PrivateKey { return ed25519.NewKeyFromSeed(s.Seed) }

// open reads a row.
func (rt *Runtime) open(row store.Builtin, d *Definition) (s secret, err error) {
	if err := json.Unmarshal([]byte(row.Definition), d); err != nil {
		return s, fmt.Errorf("read the definition of agent %s: %w", row.Name, err)
	}
	d.Name = row.Name
	d.Limits.fill()
	text, err := rt.seal.open(row.Sealed, row.ID)
	if err != nil {
		return s, fmt.Errorf("read the secrets of agent %s: %w", row.Name, err)
	}
	if err := json.Unmarshal(text, &s); err != nil || len(s.Seed) != ed25519.SeedSize {
		return s, fmt.Errorf("the secrets of agent %s are not what was sealed", row.Name)
	}
	return s, nil
}

// close writes a row.
func (rt *Runtime) close(row *store.Builtin, d Definition, s secret) error {
	text, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("write the definition of agent %s: %w", row.Name, err)
	}
	hidden, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("write the secrets of agent %s: %w", row.Name, err)
	}
	row.Definition, row.Sealed = string(text), rt.seal.close(hidden, row.ID)
	return nil
}
