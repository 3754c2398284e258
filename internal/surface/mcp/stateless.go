package mcp

import (
	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// From 2026-07-28 on there is no handshake: every request says in its _meta
// which revision it speaks and what its client can do, and repeats in headers
// what a proxy on the way may want to know. Both eras share the endpoint.

// isModern reports whether m belongs to the stateless era: by its _meta or, in
// doubt, by its header. A bare initialize never does, because some clients
// send their newest revision in the header of the handshake as well.
func (x *request) isModern(m *message, header string) bool {
	if x.meta.version != nil {
		return true
	}
	return versionOf(header).stateless() && m.method != "initialize"
}

// settleModern checks everything that a stateless request must say.
func (x *request) settleModern(m *message, header string) error {
	x.version = v20260728
	switch {
	case m.isResponse():
		return beeos.Errorf(beeos.InvalidBody, "this revision has no requests of the server's to respond to: retry your request with inputResponses")
	case m.isNotification():
		return nil // this revision says nothing about their headers
	}
	name, ok := httpd.StringValue(x.meta.version)
	if !ok {
		return badMeta(metaVersion + " must be a string: the revision that this request speaks")
	}
	tolerated := !x.g.opt.Strict && versionOf(header) != unversioned && !versionOf(header).stateless()
	if header != name && !tolerated {
		return headerMismatch("MCP-Protocol-Version must be there once and equal _meta[%q]", metaVersion)
	}
	if !versionOf(name).stateless() {
		return unsupportedVersion(name)
	}
	if kind(x.meta.capabilities) != '{' {
		return badMeta(metaCapabilities + " must be an object: what this client can do")
	}
	x.can = capabilities(x.meta.capabilities)
	if !modernMethods[m.method] {
		return methodNotFound(m.method)
	}
	return x.checkHeaders(m, tolerated)
}

// modernMethods are those that the stateless era has. What it took away from
// the one before is unknown here.
var modernMethods = map[string]bool{
	"server/discover": true, "subscriptions/listen": true,
	"tools/list": true, "tools/call": true,
	"resources/list": true, "resources/templates/list": true, "resources/read": true,
	"prompts/list": true, "prompts/get": true, "completion/complete": true,
	"skills/list": true, "skills/get": true, "resources/directory/read": true,
	"tasks/get": true, "tasks/update": true, "tasks/cancel": true,
}

// checkHeaders compares the standard headers with the body. A client that is
// tolerated with an older version header may leave them out.
func (x *request) checkHeaders(m *message, tolerated bool) error {
	h := x.r.Header
	if !(tolerated && h[headerMethod] == nil) && !isOnly(h[headerMethod], m.method) {
		return headerMismatch("%s must be there once and equal the body's method", headerMethod)
	}
	member := nameMembers[m.method]
	if member == "" || tolerated && h[headerName] == nil {
		return nil
	}
	want, ok := httpd.StringValue(httpd.Field(m.params, member))
	if !ok {
		return nil // the method itself complains about that
	}
	if got, ok := decodeHeader(h[headerName]); !ok || got != want {
		return headerMismatch("%s must be there once and equal params.%s", headerName, member)
	}
	return nil
}
