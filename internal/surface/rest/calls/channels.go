package calls

import (
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/surface/rest/route"
)

// channelView is a channel with its state in words.
type channelView struct {
	beeos.Channel
	State string `json:"state"` // active or closed
}

func viewChannel(ch *beeos.Channel) channelView {
	if ch.Closed {
		return channelView{*ch, "closed"}
	}
	return channelView{*ch, "active"}
}

// createChannel opens a channel between the caller and one agent.
func (h *Handlers) createChannel(r *route.Request) (any, error) {
	ch := beeos.Channel{ID: beeos.NewChannelID(), Owner: r.Caller.Principal(), Kind: beeos.KindConversation}
	var deadline int64
	err := r.ReadSettings(route.Strict, route.Shape{
		"agent_id": &ch.AgentID, "kind": &ch.Kind, "single_shot": &ch.SingleShot, "metadata": &ch.Metadata, "deadline_ms": &deadline,
	})
	switch {
	case err != nil:
		return nil, err
	case ch.AgentID == "":
		return nil, beeos.Errorf(beeos.MissingParam, "agent_id is required")
	case deadline < 0 || deadline > maxDeadline.Milliseconds():
		return nil, beeos.Errorf(beeos.InvalidParam, "deadline_ms must be from 0 (none) to %d", maxDeadline.Milliseconds())
	}
	switch ch.Kind {
	case beeos.KindInvoke, beeos.KindTask, beeos.KindConversation, beeos.KindMCP, beeos.KindA2A:
	default:
		return nil, beeos.Errorf(beeos.InvalidParam, "kind must be invoke, task, conversation, mcp or a2a")
	}
	if err := invoke.CheckMetadata(ch.Metadata); err != nil {
		return nil, err
	}
	if _, err := h.currentAgent(r, ch.AgentID); err != nil {
		return nil, err
	}
	now := h.opt.Now().UTC()
	ch.CreatedAt, ch.UpdatedAt = now, now
	if deadline > 0 {
		ch.Deadline = now.Add(time.Duration(deadline) * time.Millisecond)
	}
	return route.Created(viewChannel(&ch)), h.opt.Ledger.CreateChannel(r.Context(), ch)
}

// ownChannel returns a channel of the caller's; anybody else's does not exist.
func (h *Handlers) ownChannel(r *route.Request, id string) (*beeos.Channel, error) {
	ch, err := h.opt.Ledger.Channel(r.Context(), id)
	if beeos.CodeOf(err) == beeos.NotFound || err == nil && ch.Owner != r.Caller.Principal() {
		err = beeos.Errorf(beeos.NotFound, "you have no channel %q", id)
	}
	return &ch, err
}

// pathChannel returns the channel of the path.
func (h *Handlers) pathChannel(r *route.Request) (*beeos.Channel, error) {
	return h.ownChannel(r, r.PathValue("channel"))
}

func (h *Handlers) getChannel(r *route.Request) (any, error) {
	ch, err := h.pathChannel(r)
	return viewChannel(ch), err
}

// closeChannel ends a channel; closing a closed one changes nothing.
func (h *Handlers) closeChannel(r *route.Request) (any, error) {
	ch, err := h.pathChannel(r)
	if err == nil && !ch.Closed {
		err = h.opt.Ledger.CloseChannel(r.Context(), ch.ID, "closed_by_owner")
	}
	return route.NoContent, err
}
