package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// How agents share one endpoint: a tool or prompt is <slug>__<name>, a resource
// beeos://<slug>/<uri>, its own URI whole, so that templates stay templates and
// the way back is to cut the beginning off. The pages of MCP Apps are known by
// their scheme, which they keep: ui://x is ui://<slug>/x.

const nameMax = 64

// newUnion merges the lists of the members. Of two agents of different owners
// that share a slug, the first has it.
func newUnion(self *beeos.Agent, members []*Server) *Lists {
	l := &Lists{
		ToolByName: map[string]*Tool{}, PromptByName: map[string]*beeos.Prompt{},
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
		resources = append(resources, e.mergeResources(e.Lists.Resources, "uri")...)
		templates = append(templates, e.mergeResources(e.Lists.Templates, "uriTemplate")...)
		for shown := range e.Lists.Skills.List.items() {
			shown = e.ToUnion(shown, "")
			uri, _ := strictjson.StringField(shown, "uri")
			l.Skills.ByFile[uri] = shown
			skills = append(skills, shown)
		}
	}
	if len(tools) > listedMax {
		tools = searchItems(l)
	}
	l.setTools(tools)
	l.Resources, l.Templates = newList("resources", resources), newList("resourceTemplates", templates)
	l.Prompts, l.Skills.List = newList("prompts", prompts), newList("skills", skills)
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
		t.Agent, t.definition = e.Agent, wire.ReplaceMember(t.definition, "name", wire.EncodeText(shown))
		if meta := strictjson.Field(t.definition, "_meta"); meta != nil {
			t.definition = wire.ReplaceMember(t.definition, "_meta", e.uiInUnion(meta))
		}
		l.ToolByName[shown] = &t
		l.toolNames = append(l.toolNames, shown)
		items = append(items, t.definition)
	}
	return items
}

// promptOrigin is where a prompt of a union comes from.
type promptOrigin struct {
	member *Server
	name   string // there
}

func (l *Lists) mergePrompts(e *Server) (items [][]byte) {
	for shown := range e.Lists.Prompts.items() {
		name, _ := strictjson.StringField(shown, "name")
		abroad := unionName(e.Agent, name)
		if l.promptOf[abroad].member == nil {
			l.promptOf[abroad] = promptOrigin{e, name}
			items = append(items, wire.ReplaceMember(shown, "name", wire.EncodeText(abroad)))
		}
	}
	return items
}

// uiScheme begins the URIs of what MCP Apps show.
const uiScheme = "ui://"

// UnionURI is the URI of an agent's resource in a union.
func (e *Server) UnionURI(uri string) string {
	if page, ok := strings.CutPrefix(uri, uiScheme); ok {
		return uiScheme + e.Agent.Slug + "/" + page
	}
	return "beeos://" + e.Agent.Slug + "/" + uri
}

// localURI takes UnionURI back: whose it is, and what it is there.
func localURI(abroad string) (slug, uri string) {
	if page, ok := strings.CutPrefix(abroad, uiScheme); ok {
		slug, uri, _ = strings.Cut(page, "/")
		return slug, uiScheme + uri
	}
	if rest, ok := strings.CutPrefix(abroad, "beeos://"); ok {
		slug, uri, _ = strings.Cut(rest, "/")
	}
	return slug, uri
}

// uiInUnion returns the _meta of a tool or a result with the page that it names
// as a union has it: ui.resourceUri, or ui/resourceUri as it was at first.
func (e *Server) uiInUnion(meta []byte) []byte {
	translate := func(value []byte) []byte {
		if uri, ok := strictjson.StringValue(value); ok && strings.HasPrefix(uri, uiScheme) {
			return wire.EncodeText(e.UnionURI(uri))
		}
		return value
	}
	if wire.Kind(meta) != '{' {
		return meta
	}
	return wire.EditMembers(meta, func(name string, value []byte) []byte {
		switch {
		case name == "ui/resourceUri":
			return translate(value)
		case name == "ui" && strictjson.Field(value, "resourceUri") != nil:
			return wire.ReplaceMember(value, "resourceUri", translate(strictjson.Field(value, "resourceUri")))
		}
		return value
	})
}

// mergeResources returns the elements of a list as a union shows them: with
// the agent's prefix before the URI in that member.
func (e *Server) mergeResources(list List, member string) (items [][]byte) {
	for shown := range list.items() {
		uri, _ := strictjson.StringField(shown, member)
		items = append(items, wire.ReplaceMember(shown, member, wire.EncodeText(e.UnionURI(uri))))
	}
	return items
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
