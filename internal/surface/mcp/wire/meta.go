package wire

import (
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// Keys of a modern _meta.
const (
	MetaPrefix       = "io.modelcontextprotocol/"
	MetaVersion      = MetaPrefix + "protocolVersion"
	MetaCapabilities = MetaPrefix + "clientCapabilities"
	MetaLogLevel     = MetaPrefix + "logLevel"
	metaServerInfo   = MetaPrefix + "serverInfo"
	MetaSubscription = MetaPrefix + "subscriptionId"
	TasksExtension   = MetaPrefix + "tasks"
)

// Meta is what a request says about itself, in ranges of its body.
type Meta struct {
	Token        []byte // progressToken
	Version      []byte // nil = a request of the older era
	Capabilities []byte
	Level        []byte
}

func ReadMeta(params []byte) (m Meta) {
	raw := strictjson.Field(params, "_meta")
	if raw == nil {
		return m
	}
	for name, value := range strictjson.Fields(raw) {
		switch name {
		case "progressToken":
			if k := Kind(value); k == '"' || k == '0' {
				m.Token = value
			}
		case MetaVersion:
			m.Version = value
		case MetaCapabilities:
			m.Capabilities = value
		case MetaLogLevel:
			m.Level = value
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
