package mcp

import (
	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// From 2026-07-28 on there is no handshake: every request says in its _meta
// which revision it speaks and what its client can do, and repeats in headers
// what a proxy on the way may want to know. Both eras share the endpoint.

// isModern reports whether m belongs to the stateless era: by its _meta or, in
// doubt, by its header. A bare initialize never does, because some clients
// send their newest revision in the header of the handshake as well.
func (x *request) isModern(m *wire.Message, header string) bool {
	if x.Meta.Version != nil {
		return true
	}
	return wire.VersionOf(header).Stateless() && m.Method != "initialize"
}

// settleModern checks everything that a stateless request must say.
func (x *request) settleModern(m *wire.Message, header string) error {
	x.Version = wire.V20260728
	switch {
	case m.IsResponse():
		return beeos.Errorf(beeos.InvalidBody, "this revision has no requests of the server's to respond to: retry your request with inputResponses")
	case m.IsNotification():
		return nil // this revision says nothing about their headers
	}
	name, ok := strictjson.StringValue(x.Meta.Version)
	if !ok {
		return wire.BadMeta(wire.MetaVersion + " must be a string: the revision that this request speaks")
	}
	tolerated := !x.surface.opt.Strict && wire.VersionOf(header) != wire.Unversioned && !wire.VersionOf(header).Stateless()
	if header != name && !tolerated {
		return wire.HeaderMismatch("MCP-Protocol-Version must be there once and equal _meta[%q]", wire.MetaVersion)
	}
	if !wire.VersionOf(name).Stateless() {
		return wire.UnsupportedVersion(name)
	}
	if wire.Kind(x.Meta.Capabilities) != '{' {
		return wire.BadMeta(wire.MetaCapabilities + " must be an object: what this client can do")
	}
	x.Can = wire.ReadCapabilities(x.Meta.Capabilities)
	if findMethod(m.Method, x.Version) == nil {
		return wire.MethodNotFound(m.Method)
	}
	return x.checkHeaders(m, tolerated)
}

// checkHeaders compares the standard headers with the body. A client that is
// tolerated with an older version header may leave them out.
func (x *request) checkHeaders(m *wire.Message, tolerated bool) error {
	h := x.HTTP.Header
	if !(tolerated && h[wire.HeaderMethod] == nil) && !wire.HasOnly(h[wire.HeaderMethod], m.Method) {
		return wire.HeaderMismatch("%s must be there once and equal the body's method", wire.HeaderMethod)
	}
	member := wire.NameMembers[m.Method]
	if member == "" || tolerated && h[wire.HeaderName] == nil {
		return nil
	}
	want, ok := strictjson.StringField(m.Params, member)
	if !ok {
		return nil // the method itself complains about that
	}
	if got, ok := wire.DecodeHeader(h[wire.HeaderName]); !ok || got != want {
		return wire.HeaderMismatch("%s must be there once and equal params.%s", wire.HeaderName, member)
	}
	return nil
}
