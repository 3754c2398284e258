package mcp

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// How agents share one endpoint: a tool or prompt is <slug>__<name>, a resource
// beeos://<slug>/<uri>, its own URI whole, so that templates stay templates and
// the way back is to cut the beginning off.

const nameMax = 64

// newUnion merges the lists of the members. Of two agents of different owners
// that share a slug, the first has it.
func newUnion(self *beeos.Agent, members []*entry) *lists {
	l := &lists{
		toolByName: map[string]*tool{}, resourceAt: map[string]*resource{}, promptByName: map[string]*beeos.Prompt{},
		bySlug: map[string]*entry{}, byAgent: map[string]*entry{}, promptOf: map[string]origin{},
	}
	l.skills.entries = map[string][]byte{}
	var tools, prompts, resources, templates, skills [][]byte
	for _, e := range members {
		tools = append(tools, l.mergeTools(e)...)
		if l.bySlug[e.agent.Slug] != nil {
			continue
		}
		l.bySlug[e.agent.Slug], l.byAgent[e.agent.ID] = e, e
		prompts = append(prompts, l.mergePrompts(e)...)
		for _, uri := range e.lists.resourceURIs {
			resources = append(resources, under(e, e.lists.resourceAt[uri].definition, `{"uri":`))
		}
		for _, shown := range e.lists.templateItems {
			templates = append(templates, under(e, shown, `{"uriTemplate":`))
		}
		for _, shown := range e.lists.skills.items {
			shown = e.outward(shown, "")
			uri, _ := textAt(shown, `{"uri":`)
			l.skills.entries[uri] = shown
			skills = append(skills, shown)
		}
	}
	if len(tools) > listedMax {
		tools = searchItems(l)
	}
	l.listTools(tools)
	l.resources, l.templates = newPages("resources", resources), newPages("resourceTemplates", templates)
	l.prompts, l.skills.list = newPages("prompts", prompts), newPages("skills", skills)
	l.describe(self)
	return l
}

func (l *lists) mergeTools(e *entry) (items [][]byte) {
	for _, name := range e.lists.toolNames {
		t := *e.lists.toolByName[name]
		shown := unionName(e.agent, t.name)
		if t.self {
			shown = unionName(e.agent, "")
		}
		if l.toolByName[shown] != nil {
			continue
		}
		t.agent, t.definition = e.agent, rename(t.definition, `{"name":`, shown)
		l.toolByName[shown] = &t
		l.toolNames = append(l.toolNames, shown)
		items = append(items, t.definition)
	}
	return items
}

// origin is where something of a union comes from.
type origin struct {
	member *entry
	name   string // there
}

func (l *lists) mergePrompts(e *entry) (items [][]byte) {
	for _, shown := range e.lists.promptItems {
		name, _ := textAt(shown, `{"name":`)
		abroad := unionName(e.agent, name)
		if l.promptOf[abroad].member == nil {
			l.promptOf[abroad] = origin{e, name}
			items = append(items, rename(shown, `{"name":`, abroad))
		}
	}
	return items
}

// prefix is what the URIs of an agent's resources begin with in a union.
func (e *entry) prefix() string { return "beeos://" + e.agent.Slug + "/" }

// under is a definition, which begins with a URI, as a union shows it.
func under(e *entry, definition []byte, head string) []byte {
	uri, _ := textAt(definition, head)
	return rename(definition, head, e.prefix()+uri)
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

// textAt reads the string that a definition has after its head.
func textAt(definition []byte, head string) (text string, end int) {
	end = len(head) + skipText(definition[len(head):])
	text, _ = httpd.StringValue(definition[len(head):end])
	return text, end
}

// rename puts another string after the head of a definition.
func rename(definition []byte, head, text string) []byte {
	_, end := textAt(definition, head)
	b := appendText(append(make([]byte, 0, len(definition)+len(text)), head...), text)
	return append(b, definition[end:]...)
}

// skipText returns the length of the JSON string that b begins with.
func skipText(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}
