package a2a

import (
	"net/http"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// route is one address of HTTP+JSON. A * stands for an id, which becomes the
// next of the named parameters.
type route struct {
	method, path string
	ids          []string
	op           operation
}

var routes = []route{
	{"POST", "message:send", nil, opSend},
	{"POST", "message:stream", nil, opStream},
	{"GET", "tasks", nil, opList},
	{"GET", "tasks/*", []string{"id"}, opGet},
	{"POST", "tasks/*:cancel", []string{"id"}, opCancel},
	{"POST", "tasks/*:subscribe", []string{"id"}, opSubscribe},
	{"GET", "tasks/*:subscribe", []string{"id"}, opSubscribe},
	{"POST", "tasks/*/pushNotificationConfigs", []string{"taskId"}, opPushSet},
	{"GET", "tasks/*/pushNotificationConfigs", []string{"taskId"}, opPushList},
	{"GET", "tasks/*/pushNotificationConfigs/*", []string{"taskId", "id"}, opPushGet},
	{"DELETE", "tasks/*/pushNotificationConfigs/*", []string{"taskId", "id"}, opPushDrop},
	{"GET", "extendedAgentCard", nil, opCard},
	{"GET", "card", nil, opCard},
}

// match returns the route of a path, and the ids in it.
func match(method string, path []string) (op operation, ids params, ok bool) {
	for _, rt := range routes {
		if rt.method != method {
			continue
		}
		if ids, ok := rt.idsIn(path); ok {
			return rt.op, ids, true
		}
	}
	return op, nil, false
}

// idsIn compares the path segment by segment.
func (rt route) idsIn(path []string) (params, bool) {
	want := strings.Split(rt.path, "/")
	if len(want) != len(path) {
		return nil, false
	}
	ids, next := params{}, 0
	for i, w := range want {
		verb, wild := strings.CutPrefix(w, "*")
		if !wild {
			if w != path[i] {
				return nil, false
			}
			continue
		}
		id, ok := strings.CutSuffix(path[i], verb)
		if !ok || verb == "" && strings.Contains(id, ":") {
			return nil, false
		}
		ids.set(rt.ids[next], id)
		next++
	}
	return ids, true
}

// serveREST answers one request of the HTTP+JSON binding. 0.3 has its paths
// below v1.
func (g *Gateway) serveREST(w http.ResponseWriter, r *http.Request, agentID string, path []string) {
	x, op, err := g.readREST(w, r, agentID, path)
	if err != nil {
		failREST(w, r, err)
		return
	}
	ctx := httpd.With(r.Context(), "caller", x.caller.Principal())
	if op.stream == nil {
		result, err := op.do(x, ctx)
		if err != nil {
			failREST(w, r, err)
			return
		}
		httpd.WriteJSON(w, http.StatusOK, x.encode(result))
		return
	}
	events, err := op.stream(x, ctx)
	if err != nil {
		failREST(w, r, err)
		return
	}
	writeEvents(ctx, w, r, events, func(ev any, err error) any {
		if err != nil {
			return faultOf(err).restError()
		}
		return x.encode(ev)
	})
}

func (g *Gateway) readREST(w http.ResponseWriter, r *http.Request, agentID string, path []string) (*exchange, operation, error) {
	old := path[0] == "v1"
	if old {
		path = path[1:]
	}
	op, ids, known := match(r.Method, path)
	if !known {
		return nil, op, refuse(methodNotFound, "there is no %s %s here", r.Method, r.URL.Path)
	}
	version, err := versionOf(r)
	if err != nil {
		return nil, op, err
	}
	caller, agent, err := g.access(r, agentID)
	if err != nil {
		return nil, op, err
	}
	x := &exchange{g: g, w: w, r: r, caller: caller, agent: agent, dialect: dialectOf(version, old)}
	x.params, err = restParams(w, r)
	if err != nil {
		return nil, op, err
	}
	for name, raw := range ids { // the path names what is meant, whatever the rest says
		x.params[name] = raw
	}
	return x, op, nil
}

// restParams is the body, or what the URL says.
func restParams(w http.ResponseWriter, r *http.Request) (params, error) {
	p := params{}
	if r.Method == http.MethodPost && r.ContentLength != 0 {
		body, err := httpd.ReadJSON(w, r, messageLimit)
		if err != nil {
			return nil, err
		}
		if p, err = readParams([]byte(strings.TrimLeft(string(body), " \t\r\n"))); err != nil {
			return nil, err
		}
	}
	if r.Method == http.MethodGet {
		q := r.URL.Query()
		for name, values := range q {
			if len(values) > 1 {
				return nil, beeos.Errorf(beeos.InvalidParam, "%.60s is given twice", name)
			}
		}
		p.addQuery(q)
	}
	return p, nil
}

func failREST(w http.ResponseWriter, r *http.Request, err error) {
	f := faultOf(err)
	f.report(w, r, err)
	httpd.WriteJSON(w, f.status, f.restError())
}
