package agentgateway

import (
	"context"
	"encoding/json"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/store"
)

const reloadWithin = 10 * time.Second

// control acts on what concerns this node's agents. It never blocks.
func (g *Gateway) control(m bus.Control) {
	switch m.Kind {
	case bus.Cancel:
		if t := g.desk.turn(m.ID); t != nil {
			t.conn.enqueue(encode(&beeos.Frame{Type: beeos.FrameCancel, MessageID: t.id, Reason: m.Reason}))
		}
	case bus.Continue:
		if t := g.desk.turn(m.ID); t != nil && !g.decideByWord(t, m.Data) {
			g.desk.unpause(t)
			t.conn.enqueue(m.Data)
		}
	case bus.Answer:
		g.answer(m)
	case bus.KeyRevoked: // an instance is a key too
		for _, c := range g.registry.of(m.ID, "") {
			g.workers.Go(func() { c.end("this instance was revoked") })
		}
		if g.registry.ofOwner(m.ID) { // renamed, or locked out
			g.locks.add(m.ID)
		}
	case bus.AgentChanged:
		g.changes.add(m.AgentID)
	}
}

// answer brings a caller's answer to the agent that asked.
func (g *Gateway) answer(m bus.Control) {
	if a, ok := g.desk.ask(m.ID); ok && a.approval != "" {
		g.decideByForm(a, m.Data)
		return
	}
	a, ok := g.desk.takeAsk(m.ID)
	if !ok {
		return // another node's, or the turn is over
	}
	var body struct {
		Result json.RawMessage   `json:"result"`
		Error  *beeos.FrameFault `json:"error"`
	}
	if err := json.Unmarshal(m.Data, &body); err != nil {
		body.Error = &beeos.FrameFault{Code: string(beeos.InvalidBody), Message: "the caller's answer could not be read"}
	}
	g.Bus.Control(bus.Control{Kind: bus.TurnChanged, ID: a.event.Turn})
	if a.pause != "" {
		if body.Error == nil { // else it stays paused, for whoever can be asked
			g.resume(a, body.Result)
		}
		return
	}
	a.conn.enqueue(encode(&beeos.Frame{Type: beeos.FrameAnswer, RequestID: a.request, Result: body.Result, Error: body.Error}))
}

// noticed drops a turn that was ended by somebody else: a deadline, or
// another instance.
func (g *Gateway) noticed(n bus.Notice) {
	if !n.Terminal || n.Turn == "" {
		return
	}
	if t := g.desk.turn(n.Turn); t != nil && !t.ending() {
		g.overtaken(t)
	}
}

// followChanges keeps what connections serve in step with what their instance
// declares.
func (g *Gateway) followChanges(ctx context.Context) error {
	for {
		select {
		case <-g.changes.ready():
		case <-ctx.Done():
			return nil
		}
		for _, id := range g.changes.take() {
			if err := g.reload(ctx, id); err != nil && ctx.Err() == nil {
				g.Log.Error("a changed agent could not be read", "agent", id, "err", err)
			}
		}
	}
}

// reload brings the connections up to date that serve the agent, or belong to
// the instance that declared it last.
func (g *Gateway) reload(ctx context.Context, agentID string) error {
	ctx, cancel := context.WithTimeout(ctx, reloadWithin)
	defer cancel()
	instance := ""
	a, err := g.DB.Agent(ctx, agentID)
	switch {
	case err == nil:
		instance = a.InstanceID
	case beeos.CodeOf(err) != beeos.AgentNotFound:
		return err
	}
	for _, c := range g.registry.of(instance, agentID) {
		agents, err := g.declared(ctx, c.instance, c.only)
		if err != nil {
			return err
		}
		if err := g.serve(c, agents); err != nil {
			return err
		}
	}
	return nil
}

// maxAgents is how many agents one connection may serve.
const maxAgents = 10_000

// declared returns the active agents that an instance declares, or those of
// them that are named.
func (g *Gateway) declared(ctx context.Context, instance string, only map[string]bool) ([]*beeos.Agent, error) {
	active := true
	agents, _, err := g.DB.Agents(ctx, store.AgentFilter{InstanceID: instance, Active: &active, Limit: maxAgents})
	if err != nil || only == nil {
		return agents, err
	}
	return pick(agents, only), nil
}

// serve makes agents the ones that c serves, and says hello when that is
// something new.
func (g *Gateway) serve(c *connection, agents []*beeos.Agent) error {
	ids := make(map[string]bool, len(agents))
	for _, a := range agents {
		ids[a.ID] = true
	}
	before := c.setAgents(ids)
	var gone []string
	news := before == nil
	for id := range before {
		if !ids[id] {
			gone = append(gone, id)
		}
	}
	for id := range ids {
		news = news || !before[id]
	}
	if news || len(gone) > 0 {
		c.enqueue(c.hello(agents))
	}
	g.registry.unserve(c, gone)
	if c.isDraining() {
		return nil
	}
	first, err := g.registry.add(c, agents)
	if c.isClosed() { // closed meanwhile: it must not come back
		g.registry.remove(c)
	}
	for _, id := range first {
		g.Calls.Kick(id)
	}
	return err
}
