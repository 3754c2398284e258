package mcp

import (
	"net/http"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// From 2026-07-28 on there is no handshake: every request says in its _meta
// which revision it speaks and what its client can do, and repeats in headers
// what a proxy on the way may want to know. Both eras share the endpoint.

// Keys of a modern _meta.
const (
	metaPrefix       = "io.modelcontextprotocol/"
	metaVersion      = metaPrefix + "protocolVersion"
	metaCapabilities = metaPrefix + "clientCapabilities"
	metaLogLevel     = metaPrefix + "logLevel"
	metaServerInfo   = metaPrefix + "serverInfo"
	metaSubscription = metaPrefix + "subscriptionId"
	tasksExtension   = metaPrefix + "tasks"
)

// requestMeta is what a request says about itself, in ranges of its body.
type requestMeta struct {
	token        []byte // progressToken
	version      []byte // nil = a request of the older era
	capabilities []byte
	level        []byte
}

func readMeta(params []byte) (m requestMeta) {
	raw := httpd.Field(params, "_meta")
	if raw == nil {
		return m
	}
	for name, value := range httpd.Fields(raw) {
		switch name {
		case "progressToken":
			if k := kind(value); k == '"' || k == '0' {
				m.token = value
			}
		case metaVersion:
			m.version = value
		case metaCapabilities:
			m.capabilities = value
		case metaLogLevel:
			m.level = value
		}
	}
	return m
}

// isModern reports whether m belongs to the stateless era: by its _meta or, in
// doubt, by its header. A bare initialize never does, because some clients
// send their newest revision in the header of the handshake as well.
func (x *exchange) isModern(m *message, header string) bool {
	if x.meta.version != nil {
		return true
	}
	return versionOf(header).stateless() && m.method != "initialize"
}

// settleModern checks everything that a stateless request must say.
func (x *exchange) settleModern(m *message, header string) error {
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

// discover answers server/discover.
func (x *exchange) discover() ([]byte, error) { return x.lists.discovery, nil }

// How long clients may keep what they got, in milliseconds. All of it is
// private: what a list shows depends on who asks.
const (
	freshDiscovery = 300_000
	freshList      = 60_000
	freshContents  = 0
)

// resultTTL is the ttlMs of a method's result; -1 = it has none.
func resultTTL(method string) int {
	switch method {
	case "server/discover":
		return freshDiscovery
	case "tools/list", "resources/list", "resources/templates/list", "prompts/list", "skills/list", "skills/get":
		return freshList
	case "resources/read":
		return freshContents
	}
	return -1
}

func badMeta(what string) error {
	return &fault{
		err:    beeos.Errorf(beeos.InvalidParam, "params._meta: %s", what),
		number: codeNumbers[beeos.InvalidParam],
		status: http.StatusBadRequest,
	}
}
