package wire

import (
	"github.com/beeos/beeos"
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
	UIExtension      = MetaPrefix + "ui" // MCP Apps: pages of tools, shown by the client
)

// Meta is what a request says about itself, in ranges of its body.
type Meta struct {
	Token        []byte // progressToken
	Version      []byte // nil = a request of the older era
	Capabilities []byte
	Level        []byte
	TraceParent  []byte // the place in a distributed trace of what the client does
	TraceState   []byte
}

// Trace is the place in a trace that the request names, if it does.
func (m *Meta) Trace() beeos.Trace {
	if m.TraceParent == nil {
		return beeos.Trace{}
	}
	parent, _ := strictjson.StringValue(m.TraceParent)
	state, _ := strictjson.StringValue(m.TraceState)
	return beeos.ParseTrace(parent, state)
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
		case "traceparent":
			m.TraceParent = value
		case "tracestate":
			m.TraceState = value
		}
	}
	return m
}

// How long clients may keep lists, in milliseconds.
const freshList = 60_000

// resultTTL is how long clients may keep the results of methods that say so, in
// milliseconds. All of it is private: what a list shows depends on who asks.
var resultTTL = map[string]int{
	"server/discover":          300_000,
	"tools/list":               freshList,
	"resources/list":           freshList,
	"resources/templates/list": freshList,
	"prompts/list":             freshList,
	"skills/list":              freshList,
	"skills/get":               freshList,
	"resources/read":           0,
}
