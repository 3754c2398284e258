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
	name, _ := strictjson.StringField(params, "name")
	o := l.promptOf[name]
	return o.member, wire.ReplaceMember(params, "name", wire.EncodeText(o.name))
}

func (l *Lists) ownResource(params []byte) (*Server, []byte, string) {
	abroad, _ := strictjson.StringField(params, "uri")
	e, uri := l.ResourceOwner(abroad)
	return e, wire.ReplaceMember(params, "uri", wire.EncodeText(uri)), uri
}

// ResourceOwner returns the agent of a union that has a resource, or a template
// of that name, and what it is there.
func (l *Lists) ResourceOwner(abroad string) (*Server, string) {
	slug, uri := localURI(abroad)
	if e := l.memberBySlug[slug]; e != nil && (e.Lists.ownsURI(uri) || e.Lists.TemplateAt[uri]) {
		return e, uri
	}
	return nil, ""
}

// StaticContents is the result of reading a resource that needs no agent; nil =
// there is none. Of a union, the member's that has it.
func (l *Lists) StaticContents(uri string) []byte {
	if l.memberBySlug == nil {
		return l.Contents[uri]
	}
	e, local := l.ResourceOwner(uri)
	if e == nil {
		return nil
	}
	return e.Lists.Contents[local]
}

// ownsURI reports whether a URI is the agent's to answer for.
func (l *Lists) ownsURI(uri string) bool {
	_, folder := l.Skills.Directories[strings.TrimSuffix(uri, "/")]
	return folder || l.HasResource(uri)
}

// membersWithURIs are the members of a result in which an agent names its
// resources.
var membersWithURIs = map[string]bool{"contents": true, "content": true, "messages": true, "resource": true, "resources": true, "skill": true}

// ToUnion returns a result of the agent's with the URIs of its own resources,
// and the one that was asked for, as a union has them. Others are the world's.
func (e *Server) ToUnion(raw []byte, asked string) []byte {
	if !bytes.Contains(raw, []byte(`"uri"`)) && !bytes.Contains(raw, []byte(`resourceUri"`)) {
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
		return wire.EditMembers(raw, func(name string, value []byte) []byte {
			switch {
			case membersWithURIs[name]:
				return e.ToUnion(value, asked)
			case name == "_meta":
				return e.uiInUnion(value)
			case name == "uri":
				if uri, text := strictjson.StringValue(value); text && (uri == asked || e.Lists.ownsURI(uri)) {
					return wire.EncodeText(e.UnionURI(uri))
				}
			}
			return value
		})
	}
	return raw
}
