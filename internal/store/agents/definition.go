package agents

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
)

// Bounds of what an agent may declare. They are far above what agents need
// and low enough that a listing of agents stays small.
const (
	maxAgents     = 10_000
	maxAgentName  = 128
	maxSkills     = 1_000
	maxResources  = 5_000
	maxPrompts    = 1_000
	maxDefinition = 1 << 20 // bytes, everything together
	maxTimeoutMS  = 7 * 24 * 3600 * 1000
)

var toolName = regexp.MustCompile(`^[A-Za-z0-9_./-]{1,64}$`)

// declaration is a definition that has been checked and cleaned.
type declaration struct{ beeos.Definition }

// prepareDefinitions checks all definitions of a sync before any is looked at.
func prepareDefinitions(defs []beeos.Definition) ([]declaration, error) {
	if len(defs) > maxAgents {
		return nil, beeos.Errorf(beeos.InvalidBody, "%d agents are too many for one sync; declare at most %d", len(defs), maxAgents)
	}
	seen := make(map[string]bool, len(defs))
	out := make([]declaration, 0, len(defs))
	for i, d := range defs {
		d = cleanDefinition(d)
		if err := ValidateDefinition(d); err != nil {
			if d.Name == "" {
				return nil, beeos.Errorf(beeos.InvalidBody, "agents[%d]: %s", i, beeos.Public(err).Message)
			}
			return nil, err
		}
		if seen[d.Name] {
			return nil, beeos.Errorf(beeos.InvalidBody, "agent %q is declared twice; give each agent its own name", d.Name)
		}
		seen[d.Name] = true
		out = append(out, declaration{d})
	}
	return out, nil
}

// cleanDefinition fills in defaults and drops JSON that says nothing. It never changes
// the caller's slices.
func cleanDefinition(d beeos.Definition) beeos.Definition {
	d.Lane = cmp.Or(d.Lane, beeos.LaneSession)
	d = copyDefinition(d)
	eachRaw(reflect.ValueOf(&d).Elem(), func(raw *json.RawMessage) {
		*raw = bytes.TrimSpace(*raw)
		if string(*raw) == "null" {
			*raw = nil
		}
	})
	for i := range d.Skills {
		if string(d.Skills[i].InputSchema) == "{}" {
			d.Skills[i].InputSchema = nil // "anything", the same as none
		}
	}
	return d
}

// ValidateDefinition says, as an InvalidBody that names the agent and the
// place, why a definition cannot be accepted.
func ValidateDefinition(d beeos.Definition) error {
	err := checkDefinition(d)
	if err == nil {
		return nil
	}
	if d.Name == "" || !database.IsPlain(d.Name) {
		return beeos.Errorf(beeos.InvalidBody, "%v", err)
	}
	return beeos.Errorf(beeos.InvalidBody, "agent %q: %v", beeos.Shorten(d.Name, 80), err)
}

func checkDefinition(d beeos.Definition) error {
	switch {
	case strings.TrimSpace(d.Name) == "":
		return fmt.Errorf("name is missing; give the agent one")
	case len(d.Name) > maxAgentName:
		return fmt.Errorf("name is longer than %d bytes", maxAgentName)
	case !database.IsPlain(d.Name) || strings.TrimSpace(d.Name) != d.Name:
		return fmt.Errorf("name has control characters or spaces around it")
	case !oneOf(d.DeliveryMode, "", beeos.DeliverPush, beeos.DeliverQueue, beeos.DeliverBusyReject):
		return fmt.Errorf("delivery_mode %q is unknown; use push, queue or busy_reject", beeos.Shorten(string(d.DeliveryMode), 80))
	case !oneOf(d.Redelivery, "", beeos.RedeliverAlways, beeos.RedeliverBeforeStart, beeos.RedeliverNever):
		return fmt.Errorf("redelivery %q is unknown; use always, before_start or never", beeos.Shorten(string(d.Redelivery), 80))
	case !oneOf(d.Lane, "", beeos.LaneSession, beeos.LaneAgent):
		return fmt.Errorf("lane %q is unknown; use session or agent", beeos.Shorten(string(d.Lane), 80))
	case d.TimeoutMS < 0 || d.TimeoutMS > maxTimeoutMS:
		return fmt.Errorf("timeout_ms must be between 0 (the default) and %d", maxTimeoutMS)
	case len(d.Skills) > maxSkills || len(d.Resources) > maxResources || len(d.Prompts) > maxPrompts:
		return fmt.Errorf("too much at once; at most %d skills, %d resources and %d prompts", maxSkills, maxResources, maxPrompts)
	}
	if err := cmp.Or(checkRaw("capabilities", d.Capabilities, "{["), checkSkills(d.Skills), checkResources(d.Resources), checkPrompts(d.Prompts)); err != nil {
		return err
	}
	text, err := encodeDefinition(d)
	if err == nil && len(text) > maxDefinition {
		err = fmt.Errorf("the definition has %d bytes; at most %d", len(text), maxDefinition)
	}
	return err
}

func checkSkills(skills []beeos.Skill) error {
	seen := map[string]bool{}
	for i, s := range skills {
		if !toolName.MatchString(s.Name) {
			return fmt.Errorf("skills[%d]: the name %q must be 1 to 64 letters, digits, or any of _ . / -", i, beeos.Shorten(s.Name, 80))
		}
		if seen[s.Name] {
			return fmt.Errorf("skill %q is declared twice; give each skill its own name", s.Name)
		}
		seen[s.Name] = true
		err := cmp.Or(
			checkRaw("annotations", s.Annotations, "{"), checkRaw("icons", s.Icons, "["), checkRaw("execution", s.Execution, "{"), checkRaw("_meta", s.Meta, "{"),
			checkSchema("inputSchema", s.InputSchema), checkSchema("outputSchema", s.OutputSchema))
		if err != nil {
			return fmt.Errorf("skill %q: %w", s.Name, err)
		}
	}
	return nil
}

// checkSchema asks for what every MCP client insists on; one schema without
// it makes some of them refuse the whole list of tools.
func checkSchema(field string, raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	if err := checkRaw(field, raw, "{"); err != nil {
		return err
	}
	var schema struct {
		Type json.RawMessage `json:"type"`
	}
	if err := json.Unmarshal(raw, &schema); err != nil || string(schema.Type) != `"object"` {
		return fmt.Errorf(`%s must describe an object; add "type": "object" to it`, field)
	}
	return nil
}

// checkRaw wants JSON that starts with one of the given characters.
func checkRaw(field string, raw json.RawMessage, first string) error {
	if len(raw) == 0 {
		return nil
	}
	if !json.Valid(raw) {
		return fmt.Errorf("%s is not valid JSON", field)
	}
	if text := bytes.TrimSpace(raw); !strings.Contains(first, string(text[:1])) {
		return fmt.Errorf("%s must be a JSON %s", field, map[string]string{"{": "object", "[": "array", "{[": "object or array"}[first])
	}
	return nil
}

func checkResources(list []beeos.Resource) error {
	seen := map[string]bool{"beeos://agent/config": true, "beeos://agent/skills": true} // every agent has these
	for i, r := range list {
		uri := r.URI + r.URITemplate
		switch u, err := url.Parse(r.URI); {
		case (r.URI == "") == (r.URITemplate == ""):
			return fmt.Errorf("resources[%d] needs either uri or uriTemplate", i)
		case r.URI != "" && (err != nil || u.Scheme == ""):
			return fmt.Errorf("resources[%d]: uri %q is not an absolute URI; start it with a scheme, as in file:///notes.txt", i, beeos.Shorten(r.URI, 80))
		case r.Name == "" || !database.IsPlain(r.Name):
			return fmt.Errorf("resource %q needs a name of printable characters", beeos.Shorten(uri, 80))
		case seen[uri]:
			return fmt.Errorf("resource %q exists already; give each resource its own URI", beeos.Shorten(uri, 80))
		case r.URITemplate != "" && (r.Text != nil || r.Blob != nil), r.Text != nil && r.Blob != nil:
			return fmt.Errorf("resource %q may have text or blob, not both, and a template neither", beeos.Shorten(uri, 80))
		}
		seen[uri] = true
		if r.Blob != nil {
			if _, err := base64.StdEncoding.DecodeString(*r.Blob); err != nil {
				return fmt.Errorf("resource %q: blob is not base64", beeos.Shorten(uri, 80))
			}
		}
		if err := cmp.Or(checkRaw("annotations", r.Annotations, "{"), checkRaw("icons", r.Icons, "["), checkRaw("_meta", r.Meta, "{")); err != nil {
			return fmt.Errorf("resource %q: %w", beeos.Shorten(uri, 80), err)
		}
	}
	return nil
}

func checkPrompts(list []beeos.Prompt) error {
	seen := map[string]bool{}
	for i, p := range list {
		switch {
		case p.Name == "" || len(p.Name) > maxAgentName || !database.IsPlain(p.Name):
			return fmt.Errorf("prompts[%d] needs a name of 1 to %d printable bytes", i, maxAgentName)
		case seen[p.Name]:
			return fmt.Errorf("prompt %q is declared twice; give each prompt its own name", p.Name)
		}
		seen[p.Name] = true
		args := map[string]bool{}
		for _, a := range p.Arguments {
			if a.Name == "" || args[a.Name] {
				return fmt.Errorf("prompt %q: each argument needs its own name", p.Name)
			}
			args[a.Name] = true
		}
		if err := cmp.Or(checkRaw("icons", p.Icons, "["), checkRaw("_meta", p.Meta, "{"), checkRaw("messages", p.Messages, "[")); err != nil {
			return fmt.Errorf("prompt %q: %w", p.Name, err)
		}
	}
	return nil
}

func oneOf[T comparable](v T, allowed ...T) bool { return slices.Contains(allowed, v) }
