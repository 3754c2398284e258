package mcp

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/beeos/beeos"
)

// How agents share one endpoint: a tool or prompt is <slug>__<name>, a resource
// beeos://<slug>/<uri>, its own URI whole, so that templates stay templates and
// the way back is to cut the beginning off.

const nameMax = 64

// newUnion merges the lists of the members. Of two agents of different owners
// that share a slug, the first has it.
func newUnion(self *beeos.Agent, members []*server) *lists {
	l := &lists{
		toolByName: map[string]*tool{}, resourceAt: map[string]*resource{}, promptByName: map[string]*beeos.Prompt{},
		memberBySlug: map[string]*server{}, memberByAgent: map[string]*server{}, promptOf: map[string]promptOrigin{},
	}
	l.skills.byFile = map[string][]byte{}
	var tools, prompts, resources, templates, skills [][]byte
	for _, e := range members {
		tools = append(tools, l.mergeTools(e)...)
		if l.memberBySlug[e.agent.Slug] != nil {
			continue
		}
		l.memberBySlug[e.agent.Slug], l.memberByAgent[e.agent.ID] = e, e
		prompts = append(prompts, l.mergePrompts(e)...)
		for _, uri := range e.lists.resourceURIs {
			resources = append(resources, unionDefinition(e, e.lists.resourceAt[uri].definition, `{"uri":`))
		}
		for _, shown := range e.lists.templateItems {
			templates = append(templates, unionDefinition(e, shown, `{"uriTemplate":`))
		}
		for _, shown := range e.lists.skills.items {
			shown = e.toUnion(shown, "")
			uri, _ := stringAfter(shown, `{"uri":`)
			l.skills.byFile[uri] = shown
			skills = append(skills, shown)
		}
	}
	if len(tools) > listedMax {
		tools = searchItems(l)
	}
	l.setTools(tools)
	l.resources, l.templates = newPages("resources", resources), newPages("resourceTemplates", templates)
	l.prompts, l.skills.list = newPages("prompts", prompts), newPages("skills", skills)
	l.describeServer(self)
	return l
}

func (l *lists) mergeTools(e *server) (items [][]byte) {
	for _, name := range e.lists.toolNames {
		t := *e.lists.toolByName[name]
		shown := unionName(e.agent, t.name)
		if t.isAgent {
			shown = unionName(e.agent, "")
		}
		if l.toolByName[shown] != nil {
			continue
		}
		t.agent, t.definition = e.agent, replaceString(t.definition, `{"name":`, shown)
		l.toolByName[shown] = &t
		l.toolNames = append(l.toolNames, shown)
		items = append(items, t.definition)
	}
	return items
}

// promptOrigin is where something of a union comes from.
type promptOrigin struct {
	member *server
	name   string // there
}

func (l *lists) mergePrompts(e *server) (items [][]byte) {
	for _, shown := range e.lists.promptItems {
		name, _ := stringAfter(shown, `{"name":`)
		abroad := unionName(e.agent, name)
		if l.promptOf[abroad].member == nil {
			l.promptOf[abroad] = promptOrigin{e, name}
			items = append(items, replaceString(shown, `{"name":`, abroad))
		}
	}
	return items
}

// uriPrefix is what the URIs of an agent's resources begin with in a union.
func (e *server) uriPrefix() string { return "beeos://" + e.agent.Slug + "/" }

// unionDefinition is a definition, which begins with a URI, as a union shows it.
func unionDefinition(e *server, definition []byte, head string) []byte {
	uri, _ := stringAfter(definition, head)
	return replaceString(definition, head, e.uriPrefix()+uri)
}

// unionName is the name of an agent's tool or prompt among those of all;
// without one, the agent's own. Clients take at most 64 characters.
func unionName(a *beeos.Agent, name string) string {
	if name = a.Slug + "__" + name; len(name) == len(a.Slug)+2 {
		name = a.Slug
	}
	if len(name) <= nameMax {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return name[:nameMax-9] + "_" + hex.EncodeToString(sum[:4])
}
