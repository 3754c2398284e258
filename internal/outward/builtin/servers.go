package builtin

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/outward/skill"
)

// server is one entry of a request's mcpServers. Beside what a skill is made
// of it has what other programs write into such an entry, so that each can be
// refused in its own words.
type server struct {
	URL     string              `json:"url"`
	About   string              `json:"description"`
	Command string              `json:"command"`
	Agent   string              `json:"agent"`
	Auto    *bool               `json:"autoApprove"`
	Auto2   *bool               `json:"auto_approve"`
	Tools   map[string]approval `json:"tools"`
	Offer   []string            `json:"offer"`
	Auth    struct {
		skill.Auth
		skill.Secrets
	} `json:"auth"`

	Type      string          `json:"type"`
	Transport string          `json:"transport"`
	Headers   json.RawMessage `json:"headers"`
	Env       json.RawMessage `json:"env"`
	Args      json.RawMessage `json:"args"`
}

// approval says whether the owner need not be asked.
type approval struct {
	Auto  *bool `json:"autoApprove"`
	Auto2 *bool `json:"auto_approve"` // as the contract spells it
}

var (
	transports = []string{"", "http", "streamable-http", "streamableHttp", "stdio"}
	unknownKey = regexp.MustCompile(`unknown field ("[^"]*")`)
)

// ParseServers reads the mcpServers of a request: an object with a skill per
// name. It takes no commands and no credentials but those of an OAuth client.
func ParseServers(raw json.RawMessage) ([]skill.Server, map[string]skill.Secrets, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil, nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, nil, beeos.Errorf(beeos.InvalidBody, `mcpServers is not an object of the form {"name": {"url": "https://…"}}`)
	}
	var servers []skill.Server
	secrets := map[string]skill.Secrets{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s, err := parseServer(name, all[name])
		if err != nil {
			return nil, nil, err
		}
		one := skill.Server{Name: name, Description: s.About, URL: s.URL, Command: s.Command, Agent: s.Agent, Offer: s.Offer, Auth: s.Auth.Auth}
		if one.AutoApprove, err = (approval{s.Auto, s.Auto2}).auto(name); err != nil {
			return nil, nil, err
		}
		for tool, p := range s.Tools {
			if p.Auto == nil && p.Auto2 == nil {
				return nil, nil, beeos.Errorf(beeos.InvalidParam, "skill %s says nothing about its tool %s; write {\"autoApprove\": true} or false", name, tool)
			}
			auto, err := p.auto(name)
			if err != nil {
				return nil, nil, err
			}
			if one.Policies == nil {
				one.Policies = map[string]skill.Policy{}
			}
			one.Policies[tool] = skill.Policy{AutoApprove: auto}
		}
		servers = append(servers, one)
		if s.Auth.Secrets != (skill.Secrets{}) {
			secrets[name] = s.Auth.Secrets
		}
	}
	return servers, secrets, nil
}

func parseServer(name string, raw json.RawMessage) (s server, err error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		// The decoder's own words may repeat what must not be repeated.
		if m := unknownKey.FindStringSubmatch(err.Error()); m != nil {
			return s, beeos.Errorf(beeos.InvalidBody, "skill %s has a member %s that there is not; a skill has url, command or agent, description, autoApprove, tools, offer and auth", name, m[1])
		}
		where := "it"
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
			where = wrong.Field
		}
		if where == "offer" {
			return s, beeos.Errorf(beeos.InvalidBody, "skill %s: offer is a list with the names of tools that callers may call, or [%q] for all of them", name, skill.AllTools)
		}
		return s, beeos.Errorf(beeos.InvalidBody, "skill %s: %s has another type than it should", name, where)
	}
	switch {
	case len(s.Args) > 0 || len(s.Env) > 0:
		return s, beeos.Errorf(beeos.Forbidden, "skill %s brings a command of its own; an admin allows commands in the configuration of the server, and a skill names one", name)
	case len(s.Headers) > 0:
		return s, beeos.Errorf(beeos.InvalidParam, "skill %s has headers; leave credentials out, a protected server is authorized by OAuth", name)
	case !slices.Contains(transports, s.Type) || !slices.Contains(transports, s.Transport):
		return s, beeos.Errorf(beeos.InvalidParam, "skill %s wants a transport that is not spoken here; skill servers are reached by Streamable HTTP (http)", name)
	}
	return s, nil
}

// auto is what was said about the skill of that name; nothing means no.
func (a approval) auto(name string) (bool, error) {
	if a.Auto != nil && a.Auto2 != nil && *a.Auto != *a.Auto2 {
		return false, beeos.Errorf(beeos.InvalidParam, "skill %s has both autoApprove and auto_approve, and they differ; write one", name)
	}
	given := cmp.Or(a.Auto, a.Auto2)
	return given != nil && *given, nil
}
