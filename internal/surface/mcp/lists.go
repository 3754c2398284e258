package mcp

import (
	"regexp"
	"slices"
	"strings"

	"github.com/beeos/beeos"
)

// lists is everything a client can ask about an agent, built once: whole
// pages of bytes to write, and the indexes that calls are looked up in. The
// schemas and annotations in them are the agent's own bytes.
type lists struct {
	tools, resources, templates, prompts pages
	toolsAndFetch                        pages // tools, and the one that brings results later
	fetchToolName                        string

	initializeMembers []byte // members of the initialize result that follow protocolVersion
	discovery         []byte // the result of server/discover
	serverInfo        []byte // whom every stateless result comes from
	toolByName        map[string]*tool
	toolNames         []string // in order
	resourceAt        map[string]*resource
	promptByName      map[string]*beeos.Prompt
	templateAt        map[string]bool
	patterns          []*regexp.Regexp // of the URI templates
	skills            skills

	// What a union is made of: the elements of the lists, in order.
	resourceURIs               []string
	templateItems, promptItems [][]byte

	// Of a union: its members, by slug and by id, and whose its prompts are.
	memberBySlug, memberByAgent map[string]*server
	promptOf                    map[string]promptOrigin
}

// uriMax is how long a URI may be that is compared with templates, of which an
// agent may have thousands.
const uriMax = 4096

// hasResource reports whether there is such a resource, or a template that makes it.
func (l *lists) hasResource(uri string) bool {
	return l.resourceAt[uri] != nil || len(uri) <= uriMax && slices.ContainsFunc(l.patterns, func(p *regexp.Regexp) bool { return p.MatchString(uri) })
}

func newLists(a *beeos.Agent) *lists {
	l := &lists{
		toolByName:   map[string]*tool{},
		resourceAt:   map[string]*resource{},
		promptByName: map[string]*beeos.Prompt{},
		templateAt:   map[string]bool{},
	}
	l.addTools(a)
	l.addResources(a)
	l.addPrompts(a)
	l.addSkills(a)
	l.describeServer(a)
	return l
}

func (l *lists) addTools(a *beeos.Agent) {
	var items [][]byte
	add := func(t *tool) {
		if t != nil && l.toolByName[t.name] == nil {
			l.toolByName[t.name] = t
			l.toolNames = append(l.toolNames, t.name)
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

func (l *lists) addResources(a *beeos.Agent) {
	var items, templates [][]byte
	add := func(r *resource) {
		if r != nil && l.resourceAt[r.uri] == nil {
			l.resourceAt[r.uri] = r
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
			l.templateAt[r.URITemplate] = true
			l.patterns = append(l.patterns, templatePattern(r.URITemplate))
		}
	}
	l.resources = newPages("resources", items)
	l.templateItems, l.templates = templates, newPages("resourceTemplates", templates)
}

func (l *lists) addPrompts(a *beeos.Agent) {
	var items [][]byte
	for i := range a.Definition.Prompts {
		p := &a.Definition.Prompts[i]
		shown := *p
		shown.Messages = nil // what prompts/get is for
		if item, ok := encode(shown); ok && l.promptByName[p.Name] == nil {
			l.promptByName[p.Name] = p
			items = append(items, item)
		}
	}
	l.promptItems, l.prompts = items, newPages("prompts", items)
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
