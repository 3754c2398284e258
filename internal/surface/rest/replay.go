package rest

import (
	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/engine/task"
	"github.com/beeos/beeos/internal/surface/rest/route"
)

// replayView is a call that was made again: a task of who did so.
type replayView struct {
	ID        string           `json:"id"`
	ReplayOf  string           `json:"replay_of"`
	AgentID   string           `json:"agent_id"`
	ContextID string           `json:"context_id"`
	Status    beeos.TaskStatus `json:"status"`
}

// replayCall makes a call again and answers before the agent does.
func (s *Surface) replayCall(r *route.Request) (any, error) {
	p := act.Replay{Call: r.PathValue("id")}
	err := r.ReadBody(route.Strict, route.Shape{
		"agent_id": &p.AgentID, "text": &p.Text, "arguments": &p.Arguments, "model": &p.Model, "prompt": &p.Prompt, "at_step": &p.AtStep, "confirm": &p.Confirm, "idempotency_key": &p.Key,
	})
	if err == nil {
		p.Key, err = r.IdempotencyKey(p.Key)
	}
	if err != nil {
		return nil, err
	}
	made, err := s.opt.Acts.ReplayCall(r.Context(), r.Caller, p)
	if err != nil {
		return nil, err
	}
	r.MarkReplay(made.Replayed)
	v := replayView{ID: made.Message.ID, ReplayOf: p.Call, AgentID: made.AgentID, ContextID: made.Message.Channel, Status: beeos.TaskQueued}
	if made.Done != nil {
		v.Status = task.StatusOf(&ledger.Request{Done: made.Done})
	}
	return route.Accepted(v), nil
}
