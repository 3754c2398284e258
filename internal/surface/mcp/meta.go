package mcp

import (
	"github.com/beeos/beeos/internal/wire/httpd"
)

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
