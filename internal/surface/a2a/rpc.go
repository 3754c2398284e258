package a2a

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/a2a/wire"
	"github.com/beeos/beeos/internal/wire/httpd"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// methods are the operations by their names; those of 0.3 have a slash.
var methods = map[string]handler{
	"SendMessage":                      opSend,
	"SendStreamingMessage":             opStream,
	"GetTask":                          opGet,
	"ListTasks":                        opList,
	"CancelTask":                       opCancel,
	"SubscribeToTask":                  opSubscribe,
	"CreateTaskPushNotificationConfig": opPushSet,
	"GetTaskPushNotificationConfig":    opPushGet,
	"ListTaskPushNotificationConfigs":  opPushList,
	"DeleteTaskPushNotificationConfig": opPushDrop,
	"GetExtendedAgentCard":             opCard,

	"message/send":                        opSend,
	"message/stream":                      opStream,
	"tasks/get":                           opGet,
	"tasks/list":                          opList,
	"tasks/cancel":                        opCancel,
	"tasks/resubscribe":                   opSubscribe,
	"tasks/pushNotificationConfig/set":    opPushSet,
	"tasks/pushNotificationConfig/get":    opPushGet,
	"tasks/pushNotificationConfig/list":   opPushList,
	"tasks/pushNotificationConfig/delete": opPushDrop,
	"agent/getAuthenticatedExtendedCard":  opCard,
	"TaskResubscription":                  opSubscribe,
	"SetTaskPushNotificationConfig":       opPushSet,
	"ListTaskPushNotificationConfig":      opPushList,
	"GetAuthenticatedExtendedCard":        opCard,
	"tasks/subscribe":                     opSubscribe,
	"agent/authenticatedExtendedCard":     opCard,
	"tasks/pushNotificationConfig/create": opPushSet,
	"tasks/pushNotification/set":          opPushSet,
	"tasks/pushNotification/get":          opPushGet,
}

// rpcBinding wraps answers in JSON-RPC.
type rpcBinding struct {
	id      json.RawMessage // nil = the request has none that can be read
	refused bool            // before it was looked at what is asked for
}

// rpcAnswer is a JSON-RPC response.
type rpcAnswer struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   any             `json:"error,omitempty"`
}

func (b *rpcBinding) status(f wire.Fault) int { return f.RPCStatus(b.id != nil && !b.refused) }

func (b *rpcBinding) body(d wire.Dialect, result any, err error) any {
	if err != nil {
		return rpcAnswer{Version: "2.0", ID: b.id, Error: wire.FaultOf(err).RPCError(d)}
	}
	return rpcAnswer{Version: "2.0", ID: b.id, Result: result}
}

// serveRPC answers one JSON-RPC request. There are no batches in A2A.
func (s *Surface) serveRPC(w http.ResponseWriter, r *http.Request, agentID string) {
	b := &rpcBinding{}
	o := &operation{surface: s, w: w, r: r, binding: b}
	o.run(o.readRPC(agentID, b))
}

// readRPC finds out what is asked for. The version comes last: whoever speaks
// another one is told so as the answer to a request.
func (o *operation) readRPC(agentID string, b *rpcBinding) (h handler, err error) {
	version, unspoken := wire.ReadVersion(o.r)
	if unspoken == nil {
		o.dialect = wire.DialectOf(version, false)
	}
	if err := o.authorize(agentID); err != nil {
		if body := httpd.ReadRefused(o.w, o.r); body != nil {
			b.readEnvelope(body) //nolint:errcheck // for its id
		}
		b.refused = true
		return h, err
	}
	body, err := httpd.ReadJSON(o.w, o.r, messageLimit)
	if err != nil {
		return h, err
	}
	method, err := b.readEnvelope(body)
	if err != nil {
		return h, err
	}
	h, known := methods[method]
	switch {
	case !known:
		return h, wire.Refuse(wire.MethodNotFound, "there is no method %.60q", method)
	case unspoken != nil:
		return h, unspoken
	}
	o.dialect = wire.DialectOf(version, strings.Contains(method, "/"))
	o.params, err = wire.ReadParams(strictjson.Field(body, "params"))
	return h, err
}

// readEnvelope takes the envelope apart and returns the method. Its members'
// names count to the letter.
func (b *rpcBinding) readEnvelope(body []byte) (method string, err error) {
	if bytes.TrimSpace(body)[0] != '{' {
		return "", beeos.Errorf(beeos.InvalidBody, "the body must be one JSON-RPC request; batches are not part of A2A")
	}
	id := strictjson.Field(body, "id")
	if _, text := strictjson.StringValue(id); text || len(id) > 0 && (id[0] == '-' || id[0] >= '0' && id[0] <= '9') {
		b.id = id
	}
	method, named := strictjson.StringField(body, "method")
	version, _ := strictjson.StringField(body, "jsonrpc")
	switch {
	case version != "2.0":
		err = beeos.Errorf(beeos.InvalidBody, `jsonrpc must be "2.0"`)
	case b.id == nil:
		err = beeos.Errorf(beeos.InvalidBody, "id must be a string or a number")
	case !named:
		err = beeos.Errorf(beeos.InvalidBody, "method must be a string")
	}
	return method, err
}
