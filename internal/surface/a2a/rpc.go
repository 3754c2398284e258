package a2a

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// method is one name of an operation; the names of 0.3 have a slash.
type method struct {
	op  operation
	old bool
}

var methods = map[string]method{
	"SendMessage":                      {opSend, false},
	"SendStreamingMessage":             {opStream, false},
	"GetTask":                          {opGet, false},
	"ListTasks":                        {opList, false},
	"CancelTask":                       {opCancel, false},
	"SubscribeToTask":                  {opSubscribe, false},
	"CreateTaskPushNotificationConfig": {opPushSet, false},
	"GetTaskPushNotificationConfig":    {opPushGet, false},
	"ListTaskPushNotificationConfigs":  {opPushList, false},
	"DeleteTaskPushNotificationConfig": {opPushDrop, false},
	"GetExtendedAgentCard":             {opCard, false},

	"message/send":                        {opSend, true},
	"message/stream":                      {opStream, true},
	"tasks/get":                           {opGet, true},
	"tasks/list":                          {opList, true},
	"tasks/cancel":                        {opCancel, true},
	"tasks/resubscribe":                   {opSubscribe, true},
	"tasks/pushNotificationConfig/set":    {opPushSet, true},
	"tasks/pushNotificationConfig/get":    {opPushGet, true},
	"tasks/pushNotificationConfig/list":   {opPushList, true},
	"tasks/pushNotificationConfig/delete": {opPushDrop, true},
	"agent/getAuthenticatedExtendedCard":  {opCard, true},
	"TaskResubscription":                  {opSubscribe, false},
	"SetTaskPushNotificationConfig":       {opPushSet, false},
	"ListTaskPushNotificationConfig":      {opPushList, false},
	"GetAuthenticatedExtendedCard":        {opCard, false},
	"tasks/subscribe":                     {opSubscribe, true},
	"agent/authenticatedExtendedCard":     {opCard, true},
	"tasks/pushNotificationConfig/create": {opPushSet, true},
	"tasks/pushNotification/set":          {opPushSet, true},
	"tasks/pushNotification/get":          {opPushGet, true},
}

// rpcAnswer is a JSON-RPC response.
type rpcAnswer struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

// serveRPC answers one JSON-RPC request. There are no batches in A2A.
func (g *Gateway) serveRPC(w http.ResponseWriter, r *http.Request, agentID string) {
	c := rpcCall{w: w, r: r, dialect: v10}
	version, err := versionOf(r)
	if err == nil {
		c.dialect = dialectOf(version, false)
	}
	caller, agent, denied := g.access(r, agentID)
	if denied != nil {
		c.fail(denied)
		return
	}
	body, unreadable := httpd.ReadJSON(w, r, messageLimit)
	if unreadable != nil {
		c.fail(unreadable)
		return
	}
	m, malformed := c.read(body)
	switch {
	case malformed != nil:
		err = malformed
	case err == nil:
		c.dialect = dialectOf(version, m.old)
		var p params
		if p, err = readParams(httpd.Field(body, "params")); err == nil {
			x := &exchange{g: g, w: w, r: r, caller: caller, agent: agent, dialect: c.dialect, params: p}
			c.run(x, m.op)
			return
		}
	}
	c.fail(err)
}

// rpcCall is one request and where its answer goes.
type rpcCall struct {
	w       http.ResponseWriter
	r       *http.Request
	id      json.RawMessage
	dialect dialect
}

// read takes the envelope apart. Its members' names count to the letter.
func (c *rpcCall) read(body []byte) (m method, err error) {
	body = bytes.TrimLeft(body, " \t\r\n")
	if body[0] != '{' {
		return m, beeos.Errorf(beeos.InvalidBody, "the body must be one JSON-RPC request; batches are not part of A2A")
	}
	id := httpd.Field(body, "id")
	if _, text := httpd.StringValue(id); text || len(id) > 0 && (id[0] == '-' || id[0] >= '0' && id[0] <= '9') {
		c.id = id
	}
	name, named := httpd.StringValue(httpd.Field(body, "method"))
	version, _ := httpd.StringValue(httpd.Field(body, "jsonrpc"))
	switch m, known := methods[name]; {
	case version != "2.0":
		return m, beeos.Errorf(beeos.InvalidBody, `jsonrpc must be "2.0"`)
	case c.id == nil:
		return m, beeos.Errorf(beeos.InvalidBody, "id must be a string or a number")
	case !named:
		return m, beeos.Errorf(beeos.InvalidBody, "method must be a string")
	case !known:
		return m, refuse(methodNotFound, "there is no method %.60q", name)
	default:
		return m, nil
	}
}

func (c *rpcCall) run(x *exchange, op operation) {
	ctx := httpd.With(c.r.Context(), "caller", x.caller.Principal())
	if op.stream == nil {
		result, err := op.do(x, ctx)
		if err != nil {
			c.fail(err)
			return
		}
		c.answer(http.StatusOK, rpcAnswer{Result: x.encode(result)})
		return
	}
	events, err := op.stream(x, ctx)
	if err != nil {
		c.fail(err)
		return
	}
	writeEvents(ctx, c.w, c.r, events, func(ev any, err error) any {
		if err != nil {
			return rpcAnswer{Version: "2.0", ID: c.id, Error: faultOf(err).rpcError(c.dialect)}
		}
		return rpcAnswer{Version: "2.0", ID: c.id, Result: x.encode(ev)}
	})
}

func (c *rpcCall) answer(status int, a rpcAnswer) {
	a.Version, a.ID = "2.0", c.id
	if a.ID == nil {
		a.ID = json.RawMessage("null")
	}
	httpd.WriteJSON(c.w, status, a)
}

// fail refuses. What answers a request that was understood comes with 200, as
// JSON-RPC clients expect; what the request's envelope or credential is to
// blame for comes with its HTTP status.
func (c *rpcCall) fail(err error) {
	f := faultOf(err)
	f.report(c.w, c.r, err)
	status := http.StatusOK
	switch f.status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusTooManyRequests:
		status = f.status
	}
	if c.id == nil || f.kind == versionNotSupported {
		status = f.status
	}
	c.answer(status, rpcAnswer{Error: f.rpcError(c.dialect)})
}

// writeEvents writes a stream, and keeps it alive. An error in the middle of
// it is its last event.
func writeEvents(ctx context.Context, w http.ResponseWriter, r *http.Request, all events, encode func(any, error) any) {
	sse := httpd.NewSSE(w)
	defer sse.Close()
	sse.KeepAlive(keepAlive)
	for ev, err := range all {
		if err != nil && ctx.Err() != nil {
			return
		}
		if err != nil {
			httpd.Report(r, err)
		}
		data, failed := beeos.EncodeJSON(encode(ev, err))
		if failed != nil {
			httpd.Report(r, failed)
			return
		}
		if sse.Event("", "", data) != nil || err != nil {
			return
		}
	}
}
