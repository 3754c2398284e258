package rest

import (
	"net/http"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// maxDeadline bounds how far ahead a channel's deadline may lie.
const maxDeadline = 7 * 24 * time.Hour

// channelView is a channel with its state in words.
type channelView struct {
	beeos.Channel
	State string `json:"state"` // active or closed
}

func viewChannel(ch beeos.Channel) channelView {
	if ch.Closed {
		return channelView{ch, "closed"}
	}
	return channelView{ch, "active"}
}

// createChannel opens a channel between the caller and one agent.
func (s *Surface) createChannel(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	ch := beeos.Channel{ID: beeos.NewChannelID(), Owner: c.Principal(), Kind: beeos.KindConversation}
	var deadline int64
	err := read(w, r, settingLimit, true, shape{
		"agent_id": &ch.AgentID, "kind": &ch.Kind, "single_shot": &ch.SingleShot, "metadata": &ch.Metadata, "deadline_ms": &deadline,
	})
	switch {
	case err != nil:
		return err
	case ch.AgentID == "":
		return beeos.Errorf(beeos.MissingParam, "agent_id is required")
	case deadline < 0 || deadline > int64(maxDeadline/time.Millisecond):
		return beeos.Errorf(beeos.InvalidParam, "deadline_ms must be from 0 (none) to %d", int64(maxDeadline/time.Millisecond))
	}
	switch ch.Kind {
	case beeos.KindInvoke, beeos.KindTask, beeos.KindConversation, beeos.KindMCP, beeos.KindA2A:
	default:
		return beeos.Errorf(beeos.InvalidParam, "kind must be invoke, task, conversation, mcp or a2a")
	}
	if err := invoke.CheckMetadata(ch.Metadata); err != nil {
		return err
	}
	if _, err := s.agentFor(r.Context(), ch.AgentID, c); err != nil {
		return err
	}
	now := s.now().UTC()
	ch.CreatedAt, ch.UpdatedAt = now, now
	if deadline > 0 {
		ch.Deadline = now.Add(time.Duration(deadline) * time.Millisecond)
	}
	if err := s.Ledger.CreateChannel(r.Context(), ch); err != nil {
		return err
	}
	httpd.WriteData(w, http.StatusCreated, viewChannel(ch))
	return nil
}

// channel returns the channel of the path if it is the caller's own; anybody
// else's does not exist.
func (s *Surface) channel(r *http.Request, c beeos.Caller) (beeos.Channel, error) {
	id := r.PathValue("channel")
	ch, err := s.Ledger.Channel(r.Context(), id)
	if err != nil && beeos.CodeOf(err) != beeos.NotFound {
		return ch, err
	}
	if err != nil || ch.Owner != c.Principal() {
		return ch, beeos.Errorf(beeos.NotFound, "you have no channel %q", id)
	}
	return ch, nil
}

func (s *Surface) getChannel(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	ch, err := s.channel(r, c)
	if err != nil {
		return err
	}
	httpd.WriteData(w, http.StatusOK, viewChannel(ch))
	return nil
}

// closeChannel ends a channel; closing a closed one changes nothing.
func (s *Surface) closeChannel(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	ch, err := s.channel(r, c)
	if err != nil {
		return err
	}
	if !ch.Closed {
		if err := s.Ledger.CloseChannel(r.Context(), ch.ID, "closed_by_owner"); err != nil {
			return err
		}
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
