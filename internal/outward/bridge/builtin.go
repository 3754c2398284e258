package bridge

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/beeos/beeos/internal/outward/bridge/upstream"
)

// BuiltinAgent is an agent of a file that a server runs by itself, since it is
// only a model with a prompt and tools:
//
//	agents:
//	  - name: clerk
//	    prompt: You file invoices.
//	    skills:
//	      files:
//	        url: https://files.example/mcp
//	        auth: {grant: client_credentials, client_id: clerk, client_secret: "${env:FILES_SECRET}"}
type BuiltinAgent struct {
	Name, DisplayName, Description, Model, Prompt string

	Models, Fallbacks []string

	Limits BuiltinLimits
	Skills map[string]json.RawMessage // as REST wants them
}

// BuiltinLimits bound one answer; 0 = the default.
type BuiltinLimits struct {
	Turns   int               `yaml:"turns"`
	Calls   int               `yaml:"calls"`
	Tokens  int               `yaml:"tokens"`
	Time    upstream.Duration `yaml:"time"`
	Seconds int               `yaml:"-"`
}

// builtin is what only the entry of a built-in agent has.
type builtin struct {
	Prompt      string                 `yaml:"prompt"`
	DisplayName string                 `yaml:"display_name"`
	Models      []string               `yaml:"models"`
	Fallbacks   []string               `yaml:"fallbacks"`
	Skills      map[string]*skillEntry `yaml:"skills"`
	Limits      BuiltinLimits          `yaml:"limits"`
}

// skillEntry is read from a file and written as REST wants it.
type skillEntry struct {
	URL         string                `yaml:"url" json:"url,omitempty"`
	Description string                `yaml:"description" json:"description,omitempty"`
	Command     string                `yaml:"command" json:"command,omitempty"`
	Agent       string                `yaml:"agent" json:"agent,omitempty"`
	AutoApprove bool                  `yaml:"auto_approve" json:"autoApprove"`
	Tools       map[string]*toolEntry `yaml:"tools" json:"tools,omitempty"`
	Offer       []string              `yaml:"offer" json:"offer,omitempty"`
	Auth        *authEntry            `yaml:"auth" json:"auth,omitempty"`
}

type toolEntry struct {
	AutoApprove *bool `yaml:"auto_approve" json:"autoApprove,omitempty"`
}

type authEntry struct {
	Grant        string          `yaml:"grant" json:"grant,omitempty"`
	ClientID     string          `yaml:"client_id" json:"clientId,omitempty"`
	ClientSecret upstream.Secret `yaml:"client_secret" json:"clientSecret,omitempty"`
	PrivateKey   upstream.Secret `yaml:"private_key" json:"privateKey,omitempty"`
	Issuer       string          `yaml:"issuer" json:"issuer,omitempty"`
	Scopes       []string        `yaml:"scopes" json:"scopes,omitempty"`
	Assertion    string          `yaml:"assertion" json:"assertion,omitempty"`
	IDP          string          `yaml:"idp" json:"idp,omitempty"`
	IDPClient    string          `yaml:"idp_client_id" json:"idpClientId,omitempty"`
}

func (e *entry) isBuiltin() bool { return e.Prompt != "" }

// checkBuiltin says what is wrong with the entry of a built-in agent, as far
// as that can be seen from here.
func (e *entry) checkBuiltin() error {
	bridged := *e
	bridged.Name, bridged.Description, bridged.OpenAI.Model, bridged.builtin = "", "", "", builtin{} // which it may have
	if fields := givenFields(reflect.ValueOf(bridged)); len(fields) > 0 {
		return fmt.Errorf("the agent %q has a prompt, so a server runs it: leave out %s, or the prompt", e.Name, strings.Join(fields, ", "))
	}
	for name, s := range e.Skills {
		if s == nil {
			return fmt.Errorf("the skill %q has neither url, command nor agent", name)
		}
		for tool, p := range s.Tools {
			if p == nil || p.AutoApprove == nil {
				return fmt.Errorf("the skill %q says nothing about its tool %q; write auto_approve: true or false", name, tool)
			}
		}
	}
	return nil
}

// ReadBuiltins reads the built-in agents of a file with every secret that they
// name, and who else is in it.
func ReadBuiltins(path string) (list []BuiltinAgent, others []string, err error) {
	entries, lines, err := parseFile(path)
	if err != nil {
		return nil, nil, err
	}
	for i, e := range entries {
		if !e.isBuiltin() {
			others = append(others, e.Name)
			continue
		}
		b, err := e.readBuiltin(filepath.Dir(path))
		if err != nil {
			return nil, nil, fmt.Errorf("%s: line %d: %w", path, lines[i], err)
		}
		list = append(list, b)
	}
	if len(list) == 0 {
		return nil, nil, fmt.Errorf("%s has no agent with a prompt; those that it has are for: beeos connect --file %s", path, path)
	}
	return list, others, nil
}

// readBuiltin returns the agent with its secrets.
func (e *entry) readBuiltin(dir string) (b BuiltinAgent, err error) {
	b = BuiltinAgent{Name: e.Name, DisplayName: e.DisplayName, Description: e.Description, Model: e.OpenAI.Model, Prompt: e.Prompt, Models: e.Models, Fallbacks: e.Fallbacks, Limits: e.Limits}
	if span := e.Limits.Time; span != 0 {
		b.Limits.Seconds = max(int(time.Duration(span).Seconds()), 1)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Skills)) {
		s := e.Skills[name]
		if s.Auth != nil {
			if err := cmp.Or(s.Auth.ClientSecret.Resolve(dir), s.Auth.PrivateKey.Resolve(dir)); err != nil {
				return b, fmt.Errorf("skill %s: %w", name, err)
			}
		}
		if b.Skills == nil {
			b.Skills = map[string]json.RawMessage{}
		}
		if b.Skills[name], err = json.Marshal(s); err != nil {
			return b, fmt.Errorf("skill %s: %w", name, err)
		}
	}
	return b, nil
}

// Builtins lists the agents of the file that Run leaves alone.
func (f *File) Builtins() []string { return f.builtins }

// parseFile reads the entries of a file and the lines that they begin at.
func parseFile(path string) (entries []entry, lines []int, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("the agents cannot be read; name their file with --file: %w", err)
	}
	if entries, err = decodeFile(text); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, plainError(err))
	}
	if len(entries) == 0 {
		return nil, nil, fmt.Errorf("%s has no agents; it wants a list called agents", path)
	}
	lines = lineNumbers(text)
	seen := map[string]bool{}
	for i := range entries {
		e := &entries[i]
		var err error
		switch {
		case strings.TrimSpace(e.Name) == "":
			err = errors.New("the agent has no name")
		case seen[e.Name]:
			err = fmt.Errorf("there is an agent %q already", e.Name)
		case e.isBuiltin():
			err = e.checkBuiltin()
		default:
			if fields := givenFields(reflect.ValueOf(e.builtin)); len(fields) > 0 {
				err = fmt.Errorf("the agent %q has %s and no prompt; only an agent with a prompt has that", e.Name, strings.Join(fields, ", "))
			}
		}
		seen[e.Name] = true
		if err != nil {
			return nil, nil, fmt.Errorf("%s: line %d: %w", path, lines[i], err)
		}
	}
	return entries, lines, nil
}
