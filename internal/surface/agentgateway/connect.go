package agentgateway

import (
	"net/http"
	"slices"
	"strings"

	"github.com/beeos/beeos"
)

// connect opens a connection: a WebSocket, or a stream of server-sent events
// for a client that asks for one.
func (g *Gateway) connect(w http.ResponseWriter, r *http.Request) error {
	inst, err := g.Auth.Instance(r, nil)
	if err != nil {
		return err
	}
	if strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		return g.serveEvents(w, r, inst)
	}
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return beeos.Errorf(beeos.InvalidParam, "connect by WebSocket, or send Accept: text/event-stream")
	}
	return g.serveWebSocket(w, r, inst)
}

// open makes a connection for the agents that the request names, lets the
// transport put itself in, and tells the bus.
func (g *Gateway) open(r *http.Request, inst beeos.Instance, transport func(*connection)) (*connection, error) {
	c, agents, err := g.meet(r, inst)
	if err != nil {
		return nil, err
	}
	transport(c)
	if err := g.serve(c, agents); err != nil {
		c.close()
		return nil, err
	}
	if err := g.DB.TouchInstance(r.Context(), inst.ID, g.Now()); err != nil {
		g.Log.WarnContext(r.Context(), "last seen not noted", "instance", inst.ID, "err", err)
	}
	g.Log.InfoContext(r.Context(), "agent connected", "instance", inst.ID, "name", inst.Name, "agents", len(agents))
	return c, nil
}

// meet makes a connection that nobody knows of yet.
func (g *Gateway) meet(r *http.Request, inst beeos.Instance) (*connection, []*beeos.Agent, error) {
	c := &connection{g: g, id: "conn_" + beeos.NewID(), instance: inst.ID, owner: inst.OwnerID}
	c.replies.send = c.enqueue
	agents, err := g.declared(r.Context(), inst.ID, nil)
	if err != nil {
		return nil, nil, err
	}
	if wanted := r.URL.Query()["agents"]; len(wanted) > 0 {
		c.only = names(wanted, agents)
		agents = pick(agents, c.only)
	}
	if len(agents) == 0 || len(agents) < len(c.only) {
		return nil, nil, beeos.Errorf(beeos.AgentNotFound, "this instance does not declare the agents that it wants to serve; sync them first")
	}
	return c, agents, nil
}

// names reads what a connection wants to serve: names, separated by commas
// unless an agent's name has one.
func names(wanted []string, agents []*beeos.Agent) map[string]bool {
	only := map[string]bool{}
	for _, list := range wanted {
		if slices.ContainsFunc(agents, func(a *beeos.Agent) bool { return a.Name == list }) {
			only[list] = true
			continue
		}
		for name := range strings.SplitSeq(list, ",") {
			only[name] = true
		}
	}
	return only
}

func pick(agents []*beeos.Agent, only map[string]bool) []*beeos.Agent {
	return slices.DeleteFunc(agents, func(a *beeos.Agent) bool { return !only[a.Name] })
}

// visitor is a connection that receives nothing: it only brings replies.
func (g *Gateway) visitor(r *http.Request, inst beeos.Instance) (*connection, error) {
	c, agents, err := g.meet(r, inst)
	if err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	for _, a := range agents {
		ids[a.ID] = true
	}
	c.setAgents(ids)
	return c, nil
}
