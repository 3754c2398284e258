package mcp

import (
	"bytes"
	"strings"

	"github.com/beeos/beeos/internal/wire/httpd"
)

// findMember returns who has what m names, and m in that agent's own names.
func (l *lists) findMember(m *message) (e *server, local *message, uri string) {
	local = &message{id: m.id, method: m.method, params: m.params}
	switch m.method {
	case "prompts/get":
		e, local.params = l.ownPrompt(m.params)
	case "completion/complete":
		ref := httpd.Field(m.params, "ref")
		if named := httpd.Field(ref, "name"); named != nil {
			e, ref = l.ownPrompt(ref)
		} else {
			e, ref, uri = l.ownResource(ref)
		}
		local.params = replaceMember(m.params, "ref", ref)
	default:
		e, local.params, uri = l.ownResource(m.params)
	}
	return e, local, uri
}

func (l *lists) ownPrompt(params []byte) (*server, []byte) {
	name, _ := httpd.StringValue(httpd.Field(params, "name"))
	o := l.promptOf[name]
	return o.member, replaceMember(params, "name", appendText(nil, o.name))
}

func (l *lists) ownResource(params []byte) (*server, []byte, string) {
	abroad, _ := httpd.StringValue(httpd.Field(params, "uri"))
	e, uri := l.resourceOwner(abroad)
	return e, replaceMember(params, "uri", appendText(nil, uri)), uri
}

// resourceOwner returns the agent of a union that has a resource, or a template of
// that name, and what it is there.
func (l *lists) resourceOwner(abroad string) (*server, string) {
	rest, ok := strings.CutPrefix(abroad, "beeos://")
	slug, uri, _ := strings.Cut(rest, "/")
	if e := l.memberBySlug[slug]; ok && e != nil && (e.lists.ownsURI(uri) || e.lists.templateAt[uri]) {
		return e, uri
	}
	return nil, ""
}

// ownsURI reports whether a URI is the agent's to answer for.
func (l *lists) ownsURI(uri string) bool {
	return l.hasResource(uri) || l.skills.directories[strings.TrimSuffix(uri, "/")] != nil
}

// membersWithURIs are the members of a result in which an agent names its resources.
var membersWithURIs = map[string]bool{"contents": true, "content": true, "messages": true, "resource": true, "resources": true, "skill": true}

// toUnion returns a result of the agent's with the URIs of its own resources,
// and the one that was asked for, as a union has them. Others are the world's.
func (e *server) toUnion(raw []byte, asked string) []byte {
	if !bytes.Contains(raw, []byte(`"uri"`)) {
		return raw
	}
	switch kind(raw) {
	case '[':
		b := []byte{'['}
		for v := range httpd.Elements(raw) {
			b = append(append(b, e.toUnion(v, asked)...), ',')
		}
		return append(bytes.TrimSuffix(b, []byte{','}), ']')
	case '{':
		b := []byte{'{'}
		for name, value := range httpd.Fields(raw) {
			b = append(appendText(b, name), ':')
			uri, text := "", false
			if name == "uri" {
				uri, text = httpd.StringValue(value)
			}
			switch {
			case text && (uri == asked || e.lists.ownsURI(uri)):
				b = appendText(b, e.uriPrefix()+uri)
			case membersWithURIs[name]:
				b = append(b, e.toUnion(value, asked)...)
			default:
				b = append(b, value...)
			}
			b = append(b, ',')
		}
		return append(bytes.TrimSuffix(b, []byte{','}), '}')
	}
	return raw
}
