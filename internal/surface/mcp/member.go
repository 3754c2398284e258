package mcp

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// handler answers one method.
type handler = func(*exchange, context.Context, *message) ([]byte, error)

// atMember lets do answer a method that names a prompt or a resource. In a union
// that happens at the agent that has it, in its own names; the answer comes
// back in those of the union. What nobody has is do's to refuse.
func (x *exchange) atMember(ctx context.Context, m *message, do handler) ([]byte, error) {
	if x.home != "" {
		return do(x, ctx, m)
	}
	e, local, uri := x.lists.translate(m)
	if e == nil {
		return do(x, ctx, m)
	}
	there := *x
	there.agent, there.lists = e.agent, e.lists
	result, err := do(&there, ctx, local)
	var f *fault
	if errors.As(err, &f) && f.number == noResource {
		return nil, resourceNotFound(e.prefix() + uri)
	}
	return e.outward(result, uri), err
}

// translate returns who has what m names, and m in that agent's own names.
func (l *lists) translate(m *message) (e *entry, local *message, uri string) {
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
		local.params = withMember(m.params, "ref", ref)
	default:
		e, local.params, uri = l.ownResource(m.params)
	}
	return e, local, uri
}

func (l *lists) ownPrompt(params []byte) (*entry, []byte) {
	name, _ := httpd.StringValue(httpd.Field(params, "name"))
	o := l.promptOf[name]
	return o.member, withMember(params, "name", appendText(nil, o.name))
}

func (l *lists) ownResource(params []byte) (*entry, []byte, string) {
	abroad, _ := httpd.StringValue(httpd.Field(params, "uri"))
	e, uri := l.owner(abroad)
	return e, withMember(params, "uri", appendText(nil, uri)), uri
}

// owner returns the agent of a union that has a resource, or a template of
// that name, and what it is there.
func (l *lists) owner(abroad string) (*entry, string) {
	rest, ok := strings.CutPrefix(abroad, "beeos://")
	slug, uri, _ := strings.Cut(rest, "/")
	if e := l.bySlug[slug]; ok && e != nil && (e.lists.owns(uri) || e.lists.templateAt[uri]) {
		return e, uri
	}
	return nil, ""
}

// owns reports whether a URI is the agent's to answer for.
func (l *lists) owns(uri string) bool {
	return l.has(uri) || l.skills.directories[strings.TrimSuffix(uri, "/")] != nil
}

// reads reports whether the client can read a resource of that name here.
func (x *exchange) reads(uri string) bool {
	if x.home != "" {
		return x.lists.has(uri)
	}
	e, _ := x.lists.owner(uri)
	return e != nil
}

// linked are the members of a result in which an agent names its resources.
var linked = map[string]bool{"contents": true, "content": true, "messages": true, "resource": true, "resources": true, "skill": true}

// outward returns a result of the agent's with the URIs of its own resources,
// and the one that was asked for, as a union has them. Others are the world's.
func (e *entry) outward(raw []byte, asked string) []byte {
	if !bytes.Contains(raw, []byte(`"uri"`)) {
		return raw
	}
	switch kind(raw) {
	case '[':
		b := []byte{'['}
		for v := range httpd.Elements(raw) {
			b = append(append(b, e.outward(v, asked)...), ',')
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
			case text && (uri == asked || e.lists.owns(uri)):
				b = appendText(b, e.prefix()+uri)
			case linked[name]:
				b = append(b, e.outward(value, asked)...)
			default:
				b = append(b, value...)
			}
			b = append(b, ',')
		}
		return append(bytes.TrimSuffix(b, []byte{','}), '}')
	}
	return raw
}

// toolResult is a terminal reply as the result of a tool at this endpoint.
func (x *exchange) toolResult(m *beeos.Message) ([]byte, error) {
	result, err := toolResult(m)
	if e := x.lists.byAgent[strings.TrimPrefix(m.Publisher, "agent:")]; e != nil && err == nil {
		result = e.outward(result, "")
	}
	return result, err
}

// withMember copies an object with another value for one of its members.
func withMember(obj []byte, name string, value []byte) []byte {
	b := append(make([]byte, 0, len(obj)+len(value)), '{')
	for n, v := range httpd.Fields(obj) {
		if n == name {
			v = value
		}
		b = append(append(append(appendText(b, n), ':'), v...), ',')
	}
	return append(bytes.TrimSuffix(b, []byte{','}), '}')
}
