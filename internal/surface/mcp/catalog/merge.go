package catalog

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
)

// How agents share one endpoint: a tool or prompt is <slug>__<name>, a resource
// beeos://<slug>/<uri>, its own URI whole, so that templates stay templates and
// the way back is to cut the beginning off.

const nameMax = 64

// newUnion merges the lists of the members. Of two agents of different owners
// that share a slug, the first has it.
func newUnion(self *beeos.Agent, members []*Server) *Lists {
	l := &Lists{
		ToolByName: map[string]*Tool{}, ResourceAt: map[string]*Resource{}, PromptByName: map[string]*beeos.Prompt{},
		memberBySlug: map[string]*Server{}, MemberByAgent: map[string]*Server{}, promptOf: map[string]promptOrigin{},
	}
	l.Skills.ByFile = map[string][]byte{}
	var tools, prompts, resources, templates, skills [][]byte
	for _, e := range members {
		tools = append(tools, l.mergeTools(e)...)
		if l.memberBySlug[e.Agent.Slug] != nil {
			continue
		}
		l.memberBySlug[e.Agent.Slug], l.MemberByAgent[e.Agent.ID] = e, e
		prompts = append(prompts, l.mergePrompts(e)...)
		for _, uri := range e.Lists.resourceURIs {
			resources = append(resources, unionDefinition(e, e.Lists.ResourceAt[uri].definition, `{"uri":`))
		}
		for _, shown := range e.Lists.templateItems {
			templates = append(templates, unionDefinition(e, shown, `{"uriTemplate":`))
		}
		for _, shown := range e.Lists.Skills.items {
			shown = e.ToUnion(shown, "")
			uri, _ := wire.StringAfter(shown, `{"uri":`)
			l.Skills.ByFile[uri] = shown
			skills = append(skills, shown)
		}
	}
	if len(tools) > listedMax {
		tools = searchItems(l)
	}
	l.setTools(tools)
	l.Resources, l.Templates = newPages("resources", resources), newPages("resourceTemplates", templates)
	l.Prompts, l.Skills.List = newPages("prompts", prompts), newPages("skills", skills)
	l.describeServer(self)
	return l
}

func (l *Lists) mergeTools(e *Server) (items [][]byte) {
	for _, name := range e.Lists.toolNames {
		t := *e.Lists.ToolByName[name]
		shown := unionName(e.Agent, t.Name)
		if t.IsAgent {
			shown = unionName(e.Agent, "")
		}
		if l.ToolByName[shown] != nil {
			continue
		}
		t.Agent, t.definition = e.Agent, wire.ReplaceString(t.definition, `{"name":`, shown)
		l.ToolByName[shown] = &t
		l.toolNames = append(l.toolNames, shown)
		items = append(items, t.definition)
	}
	return items
}

// promptOrigin is where something of a union comes from.
type promptOrigin struct {
	member *Server
	name   string // there
}

func (l *Lists) mergePrompts(e *Server) (items [][]byte) {
	for _, shown := range e.Lists.promptItems {
		name, _ := wire.StringAfter(shown, `{"name":`)
		abroad := unionName(e.Agent, name)
		if l.promptOf[abroad].member == nil {
			l.promptOf[abroad] = promptOrigin{e, name}
			items = append(items, wire.ReplaceString(shown, `{"name":`, abroad))
		}
	}
	return items
}

// URIPrefix is what the URIs of an agent's resources begin with in a union.
func (e *Server) URIPrefix() string { return "beeos://" + e.Agent.Slug + "/" }

// unionDefinition is a definition, which begins with a URI, as a union shows
// it.
func unionDefinition(e *Server, definition []byte, head string) []byte {
	uri, _ := wire.StringAfter(definition, head)
	return wire.ReplaceString(definition, head, e.URIPrefix()+uri)
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
