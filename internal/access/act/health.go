package act

import (
	"context"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/store/calls"
)

// Health is how an agent does: who is connected, what waits, what went wrong last.
type Health struct {
	Nodes     []bus.Health              // what each server knows of it
	Instances map[string]beeos.Instance // of its connections, and the one that declared it last, by id
	Waiting   int
	Oldest    time.Time   // when the first of those that wait was asked for
	LastError *calls.Call // nil = none is known
	LastReply string      // what was said about it
}

// AgentHealth returns how an agent of the caller's does.
func (a *Acts) AgentHealth(ctx context.Context, c beeos.Caller, id string) (h Health, err error) {
	agent, err := a.OwnAgent(ctx, c, id)
	if err != nil {
		return h, err
	}
	if a.Bus != nil {
		h.Nodes = a.Bus.Health(ctx, id)
	}
	h.Instances = map[string]beeos.Instance{agent.InstanceID: {}}
	for _, node := range h.Nodes {
		for _, conn := range node.Connections {
			h.Instances[conn.Instance] = beeos.Instance{}
		}
	}
	for id := range h.Instances {
		if h.Instances[id], err = a.DB.Instances.Get(ctx, id); err != nil && !isAbsent(err) {
			return h, err
		}
	}
	if h.Waiting, h.Oldest, err = a.Ledger.Backlog(ctx, id); err != nil {
		return h, err
	}
	wrong, err := a.DB.Calls.Find(ctx, calls.Filter{AgentIDs: []string{id}, Outcomes: calls.Problems(), Limit: 1})
	if err != nil || len(wrong) == 0 {
		return h, err
	}
	h.LastError = &wrong[0]
	last, err := a.Call(ctx, c, wrong[0].Turn)
	switch {
	case isAbsent(err): // it has left in between
		return h, nil
	case last.Done != nil:
		h.LastReply = last.Done.Body
	}
	return h, err
}

// Backlogs returns what waits for agents of the caller's.
func (a *Acts) Backlogs(ctx context.Context, c beeos.Caller) ([]ledger.Waiting, error) {
	mine := CallFilter{}
	if err := a.pickAgents(ctx, c, &mine); err != nil {
		return nil, err
	}
	return a.Ledger.Backlogs(ctx, mine.AgentIDs)
}
