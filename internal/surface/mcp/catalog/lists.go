package catalog

import (
	"regexp"
	"slices"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
)

// Lists is everything a client can ask about an agent, built once: whole
// pages of bytes to write, and the indexes that calls are looked up in. The
// schemas and annotations in them are the agent's own bytes.
type Lists struct {
	Tools, Resources, Templates, Prompts Pages
	ToolsAndFetch                        Pages // tools, and the one that brings results later
	FetchToolName                        string

	InitializeMembers []byte // members of the initialize result that follow protocolVersion
	Discovery         []byte // the result of server/discover
	ServerInfo        []byte // whom every stateless result comes from
	ToolByName        map[string]*Tool
	toolNames         []string // in order
	ResourceAt        map[string]*Resource
	PromptByName      map[string]*beeos.Prompt
	TemplateAt        map[string]bool
	patterns          []*regexp.Regexp // of the URI templates
	Skills            Skills

	// What a union is made of: the elements of the lists, in order.
	resourceURIs               []string
	templateItems, promptItems [][]byte

	// Of a union: its members, by slug and by id, and whose its prompts are.
	memberBySlug, MemberByAgent map[string]*Server
	promptOf                    map[string]promptOrigin
}

// URIMax is how long a URI may be that is compared with templates, of which an
// agent may have thousands.
const URIMax = 4096

// HasResource reports whether there is such a resource, or a template that
// makes it.
func (l *Lists) HasResource(uri string) bool {
	return l.ResourceAt[uri] != nil || len(uri) <= URIMax && slices.ContainsFunc(l.patterns, func(p *regexp.Regexp) bool { return p.MatchString(uri) })
}

func newLists(a *beeos.Agent) *Lists {
	l := &Lists{
		ToolByName:   map[string]*Tool{},
		ResourceAt:   map[string]*Resource{},
		PromptByName: map[string]*beeos.Prompt{},
		TemplateAt:   map[string]bool{},
	}
	l.addTools(a)
	l.addResources(a)
	l.addPrompts(a)
	l.addSkills(a)
	l.describeServer(a)
	return l
}

func (l *Lists) addTools(a *beeos.Agent) {
	var items [][]byte
	add := func(t *Tool) {
		if t != nil && l.ToolByName[t.Name] == nil {
			l.ToolByName[t.Name] = t
			l.toolNames = append(l.toolNames, t.Name)
			items = append(items, t.definition)
		}
	}
	for i := range a.Definition.Skills {
		if s := &a.Definition.Skills[i]; s.Exposed() {
			add(newTool(s))
		}
	}
	if a.SelfTool || len(items) == 0 {
		add(newSelfTool(a))
	}
	l.setTools(items)
}

func (l *Lists) addResources(a *beeos.Agent) {
	var items, templates [][]byte
	add := func(r *Resource) {
		if r != nil && l.ResourceAt[r.uri] == nil {
			l.ResourceAt[r.uri] = r
			l.resourceURIs = append(l.resourceURIs, r.uri)
			items = append(items, r.definition)
		}
	}
	add(configResource(a))
	add(skillsResource(a))
	for i := range a.Definition.Resources {
		r := &a.Definition.Resources[i]
		if r.URITemplate == "" {
			add(newResource(r))
			continue
		}
		if shown, ok := resourceDefinition(r); ok {
			templates = append(templates, shown)
			l.TemplateAt[r.URITemplate] = true
			l.patterns = append(l.patterns, templatePattern(r.URITemplate))
		}
	}
	l.Resources = newPages("resources", items)
	l.templateItems, l.Templates = templates, newPages("resourceTemplates", templates)
}

func (l *Lists) addPrompts(a *beeos.Agent) {
	var items [][]byte
	for i := range a.Definition.Prompts {
		p := &a.Definition.Prompts[i]
		shown := *p
		shown.Messages = nil // what prompts/get is for
		if item, ok := wire.Encode(shown); ok && l.PromptByName[p.Name] == nil {
			l.PromptByName[p.Name] = p
			items = append(items, item)
		}
	}
	l.promptItems, l.Prompts = items, newPages("prompts", items)
}

// templatePattern matches the URIs that a simple URI template can make: {x}
// stands for one segment, {+x} and anything fancier for any text.
func templatePattern(template string) *regexp.Regexp {
	var p strings.Builder
	p.WriteString("^")
	for {
		open := strings.IndexByte(template, '{')
		end := strings.IndexByte(template, '}')
		if open < 0 || end < open {
			p.WriteString(regexp.QuoteMeta(template))
			break
		}
		p.WriteString(regexp.QuoteMeta(template[:open]))
		name := template[open+1 : end]
		if strings.ContainsAny(name, "+#/?&;.*,:") {
			p.WriteString(".*")
		} else {
			p.WriteString("[^/?#]+")
		}
		template = template[end+1:]
	}
	p.WriteString("$")
	return regexp.MustCompile(p.String()) // only quoted text and our own two classes
}
