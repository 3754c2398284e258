package catalog

import (
	"bytes"
	"strings"

	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// FindMember returns who has what m names, and m in that agent's own names.
func (l *Lists) FindMember(m *wire.Message) (e *Server, local *wire.Message, uri string) {
	local = &wire.Message{ID: m.ID, Method: m.Method, Params: m.Params}
	switch m.Method {
	case "prompts/get":
		e, local.Params = l.ownPrompt(m.Params)
	case "completion/complete":
		ref := strictjson.Field(m.Params, "ref")
		if named := strictjson.Field(ref, "name"); named != nil {
			e, ref = l.ownPrompt(ref)
		} else {
			e, ref, uri = l.ownResource(ref)
		}
		local.Params = wire.ReplaceMember(m.Params, "ref", ref)
	default:
		e, local.Params, uri = l.ownResource(m.Params)
	}
	return e, local, uri
}

func (l *Lists) ownPrompt(params []byte) (*Server, []byte) {
	name, _ := strictjson.StringValue(strictjson.Field(params, "name"))
	o := l.promptOf[name]
	return o.member, wire.ReplaceMember(params, "name", wire.AppendText(nil, o.name))
}

func (l *Lists) ownResource(params []byte) (*Server, []byte, string) {
	abroad, _ := strictjson.StringValue(strictjson.Field(params, "uri"))
	e, uri := l.ResourceOwner(abroad)
	return e, wire.ReplaceMember(params, "uri", wire.AppendText(nil, uri)), uri
}

// ResourceOwner returns the agent of a union that has a resource, or a template
// of that name, and what it is there.
func (l *Lists) ResourceOwner(abroad string) (*Server, string) {
	rest, ok := strings.CutPrefix(abroad, "beeos://")
	slug, uri, _ := strings.Cut(rest, "/")
	if e := l.memberBySlug[slug]; ok && e != nil && (e.Lists.ownsURI(uri) || e.Lists.TemplateAt[uri]) {
		return e, uri
	}
	return nil, ""
}

// ownsURI reports whether a URI is the agent's to answer for.
func (l *Lists) ownsURI(uri string) bool {
	return l.HasResource(uri) || l.Skills.Directories[strings.TrimSuffix(uri, "/")] != nil
}

// membersWithURIs are the members of a result in which an agent names its
// resources.
var membersWithURIs = map[string]bool{"contents": true, "content": true, "messages": true, "resource": true, "resources": true, "skill": true}

// ToUnion returns a result of the agent's with the URIs of its own resources,
// and the one that was asked for, as a union has them. Others are the world's.
func (e *Server) ToUnion(raw []byte, asked string) []byte {
	if !bytes.Contains(raw, []byte(`"uri"`)) {
		return raw
	}
	switch wire.Kind(raw) {
	case '[':
		b := []byte{'['}
		for v := range strictjson.Elements(raw) {
			b = append(append(b, e.ToUnion(v, asked)...), ',')
		}
		return append(bytes.TrimSuffix(b, []byte{','}), ']')
	case '{':
		b := []byte{'{'}
		for name, value := range strictjson.Fields(raw) {
			b = append(wire.AppendText(b, name), ':')
			uri, text := "", false
			if name == "uri" {
				uri, text = strictjson.StringValue(value)
			}
			switch {
			case text && (uri == asked || e.Lists.ownsURI(uri)):
				b = wire.AppendText(b, e.URIPrefix()+uri)
			case membersWithURIs[name]:
				b = append(b, e.ToUnion(value, asked)...)
			default:
				b = append(b, value...)
			}
			b = append(b, ',')
		}
		return append(bytes.TrimSuffix(b, []byte{','}), '}')
	}
	return raw
}
