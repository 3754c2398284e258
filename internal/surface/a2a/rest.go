package a2a

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/beeos/beeos/internal/surface/a2a/wire"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// route is one address of HTTP+JSON; the ids in it are parameters of that name.
type route struct {
	request *regexp.Regexp
	handler handler
}

var routes = []route{
	on("POST message:send", opSend),
	on("POST message:stream", opStream),
	on("GET tasks", opList),
	on("GET tasks/{id}", opGet),
	on("POST tasks/{id}:cancel", opCancel),
	on("POST tasks/{id}:subscribe", opSubscribe),
	on("GET tasks/{id}:subscribe", opSubscribe),
	on("POST tasks/{taskId}/pushNotificationConfigs", opPushSet),
	on("GET tasks/{taskId}/pushNotificationConfigs", opPushList),
	on("GET tasks/{taskId}/pushNotificationConfigs/{id}", opPushGet),
	on("DELETE tasks/{taskId}/pushNotificationConfigs/{id}", opPushDrop),
	on("GET extendedAgentCard", opCard),
	on("GET card", opCard),
}

func on(request string, h handler) route {
	ids := regexp.MustCompile(`\{(\w+)\}`).ReplaceAllString(request, `(?P<$1>[^/:]*)`)
	return route{regexp.MustCompile("^" + ids + "$"), h}
}

// matchRoute returns the handler of a request, and the ids in its path.
func matchRoute(request string) (h handler, ids map[string]string) {
	for _, rt := range routes {
		if found := rt.request.FindStringSubmatch(request); found != nil {
			ids = map[string]string{}
			for i, name := range rt.request.SubexpNames()[1:] {
				ids[name] = found[i+1]
			}
			return rt.handler, ids
		}
	}
	return h, nil
}

// restBinding answers with results and errors as they are.
type restBinding struct{}

func (restBinding) status(f wire.Fault) int { return f.Status }

func (restBinding) body(d wire.Dialect, result any, err error) any {
	if err != nil {
		return wire.FaultOf(err).RESTError(d)
	}
	return result
}

// serveREST answers one request of the HTTP+JSON binding.
func (s *Surface) serveREST(w http.ResponseWriter, r *http.Request, agentID string, path []string) {
	o := &operation{surface: s, w: w, r: r, binding: restBinding{}}
	o.run(o.readREST(agentID, path))
}

// readREST finds out what is asked for. 0.3 has its paths below v1.
func (o *operation) readREST(agentID string, path []string) (handler, error) {
	old := path[0] == "v1"
	if old {
		path = path[1:]
	}
	h, ids := matchRoute(o.r.Method + " " + strings.Join(path, "/"))
	if ids == nil {
		return h, wire.Refuse(wire.MethodNotFound, "there is no %s %s here", o.r.Method, o.r.URL.Path)
	}
	version, err := wire.ReadVersion(o.r)
	if err != nil {
		return h, err
	}
	if o.dialect = wire.DialectOf(version, old); o.dialect == wire.V03 {
		o.dialect = wire.V03HTTP
	}
	if err := o.authorize(agentID); err != nil {
		return h, err
	}
	var body []byte
	if o.r.Method == http.MethodPost && o.r.ContentLength != 0 {
		if body, err = httpd.ReadJSON(o.w, o.r, messageLimit); err != nil {
			return h, err
		}
	}
	if o.params, err = wire.ReadParams(body); err == nil && o.r.Method == http.MethodGet {
		err = o.params.AddQuery(o.r.URL.Query())
	}
	if o.dialect == wire.V03HTTP && o.params.Object("message").Has("parts") {
		o.dialect = wire.V03 // whoever writes 0.3 as JSON-RPC has it is answered so
	}
	for name, id := range ids { // the path names what is meant, whatever the rest says
		o.params.Set(name, id)
	}
	return h, err
}
