package catalog

import (
	"regexp"
	"slices"
	"strings"

	"github.com/beeos/beeos"
)

// Lists is everything a client can ask about an agent, built once: whole
// pages of bytes to write, and the indexes that calls are looked up in. The
// schemas and annotations in them are the agent's own bytes.
type Lists struct {
	Tools, Resources, Templates, Prompts List
	ToolsAndFetch                        List // tools, and the one that brings results later
	FetchToolName                        string

	InitializeMembers []byte // members of the initialize result that follow protocolVersion
	Discovery         []byte // the result of server/discover
	ServerInfo        []byte // whom every stateless result comes from
	ToolByName        map[string]*Tool
	toolNames         []string          // in order
	Contents          map[string][]byte // resource -> the whole result of reading it; nil = the agent answers
	PromptByName      map[string]*beeos.Prompt
	TemplateAt        map[string]bool
	patterns          []*regexp.Regexp // of the URI templates
	Skills            Skills

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
	_, listed := l.Contents[uri]
	return listed || len(uri) <= URIMax && slices.ContainsFunc(l.patterns, func(p *regexp.Regexp) bool { return p.MatchString(uri) })
}

func newLists(a *beeos.Agent) *Lists {
	l := &Lists{
		ToolByName:   map[string]*Tool{},
		Contents:     map[string][]byte{},
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
	for _, s := range a.Definition.Skills {
		if s.Exposed() {
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
	for _, r := range append(ownResources(a), a.Definition.Resources...) {
		shown, err := resourceDefinition(&r)
		_, known := l.Contents[r.URI]
		switch {
		case err != nil: // the store has checked it; should it be broken after all, it is left out
		case r.URITemplate != "":
			templates = append(templates, shown)
			l.TemplateAt[r.URITemplate] = true
			l.patterns = append(l.patterns, templatePattern(r.URITemplate))
		case !known:
			l.Contents[r.URI] = staticContents(&r)
			items = append(items, shown)
		}
	}
	l.Resources, l.Templates = newList("resources", items), newList("resourceTemplates", templates)
}

func (l *Lists) addPrompts(a *beeos.Agent) {
	var items [][]byte
	for i := range a.Definition.Prompts {
		p := &a.Definition.Prompts[i]
		shown := *p
		shown.Messages = nil // what prompts/get is for
		if item, err := beeos.EncodeJSON(shown); err == nil && l.PromptByName[p.Name] == nil {
			l.PromptByName[p.Name] = p
			items = append(items, item)
		}
	}
	l.Prompts = newList("prompts", items)
}

// templatePattern matches the URIs that a simple URI template can make: {x}
// stands for one segment, {+x} and anything fancier for any text.
func templatePattern(template string) *regexp.Regexp {
	pattern := "^"
	for {
		before, rest, opened := strings.Cut(template, "{")
		name, after, closed := strings.Cut(rest, "}")
		if !opened || !closed {
			break
		}
		pattern += regexp.QuoteMeta(before)
		if strings.ContainsAny(name, "+#/?&;.*,:") {
			pattern += ".*"
		} else {
			pattern += "[^/?#]+"
		}
		template = after
	}
	return regexp.MustCompile(pattern + regexp.QuoteMeta(template) + "$") // only quoted text and our own two classes
}
