package calls

import (
	"cmp"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/surface/rest/route"
)

// conversationView is the contract's ConversationResponse.
type conversationView struct {
	ID             string            `json:"conversation_id"`
	AgentID        string            `json:"agent_id"`
	Title          string            `json:"title,omitempty"`
	State          string            `json:"state"` // active or closed
	Metadata       map[string]string `json:"metadata,omitempty"`
	CreatedAt      time.Time         `json:"created_at"`
	LastActivityAt time.Time         `json:"last_activity_at"`
	ClosedAt       time.Time         `json:"closed_at,omitzero"`
	ModelOverride  string            `json:"modelOverrideId,omitempty"`
	EffectiveModel string            `json:"effectiveModelId,omitempty"`
	historyView
}

// historyView says up to where the agent has forgotten a conversation. Numbers
// are decimal strings, as clients keep them that go beyond what a float can.
type historyView struct {
	Generation string `json:"historyGeneration"`     // how often it was cleared
	Version    string `json:"metadataVersion"`       // of the conversation; rises with every change
	Boundary   string `json:"historyBoundaryOffset"` // the last message that is forgotten
}

func viewHistory(ch *beeos.Channel) historyView {
	return historyView{strconv.FormatInt(ch.Generation, 10), strconv.FormatInt(ch.Version, 10), strconv.FormatInt(ch.Cleared<<offsetShift, 10)}
}

// conversation is the one of the path, with its agent.
type conversation struct {
	beeos.Channel
	agent *beeos.Agent
}

func viewConversation(ch *beeos.Channel, a *beeos.Agent) conversationView {
	v := conversationView{
		ID: ch.ID, AgentID: ch.AgentID, Title: ch.Title, State: "active", Metadata: ch.Metadata,
		CreatedAt: ch.CreatedAt, LastActivityAt: ch.UpdatedAt, ModelOverride: ch.Model, EffectiveModel: cmp.Or(ch.Model, a.Definition.Model),
		historyView: viewHistory(ch),
	}
	if ch.Closed {
		v.State, v.ClosedAt = "closed", ch.UpdatedAt
	}
	return v
}

// pathConversation returns the conversation of the path if it and its agent
// are within the caller's reach.
func (h *Handlers) pathConversation(r *route.Request) (*conversation, error) {
	a, err := h.pathAgent(r)
	if err != nil {
		return nil, err
	}
	id := r.PathValue("convId")
	ch, err := h.ownChannel(r, id)
	if beeos.CodeOf(err) == beeos.NotFound || err == nil && (ch.AgentID != a.ID || ch.Kind != beeos.KindConversation) {
		return nil, beeos.Errorf(beeos.AgentNotFound, "you have no conversation %q with this agent", id)
	}
	if err != nil {
		return nil, err
	}
	return &conversation{Channel: *ch, agent: a}, nil
}

// keyedConversation is pathConversation for the acts whose contract insists on
// an idempotency key.
func (h *Handlers) keyedConversation(r *route.Request) (*conversation, error) {
	conv, err := h.pathConversation(r)
	if err == nil {
		err = r.RequireKey()
	}
	return conv, err
}

func (h *Handlers) createConversation(r *route.Request, a *beeos.Agent) (any, error) {
	ch := beeos.Channel{ID: beeos.NewChannelID(), AgentID: a.ID, Owner: r.Caller.Principal(), Kind: beeos.KindConversation}
	if err := r.ReadOptional(route.MessageLimit, route.Lenient, route.Shape{"title": &ch.Title, "metadata": &ch.Metadata}); err != nil {
		return nil, err
	}
	if err := invoke.CheckMetadata(ch.Metadata); err != nil {
		return nil, err
	}
	if utf8.RuneCountInString(ch.Title) > act.MaxTitle {
		return nil, beeos.Errorf(beeos.InvalidParam, "title may have at most %d characters", act.MaxTitle)
	}
	replayed, err := h.earlierConversation(r, &ch)
	if err != nil {
		return nil, err
	}
	if replayed {
		r.MarkReplay(true)
		return route.Created(viewConversation(&ch, a)), nil
	}
	failed := h.opt.Ledger.CreateChannel(r.Context(), ch)
	if ch, err = h.opt.Ledger.Channel(r.Context(), ch.ID); err != nil {
		return nil, cmp.Or(failed, err)
	}
	r.MarkReplay(failed != nil) // another try under the same key was faster
	return route.Created(viewConversation(&ch, a)), nil
}

// earlierConversation notes the idempotency key before there is a conversation,
// since there must not be two. If the key was noted before, ch becomes the one
// that it stands for.
func (h *Handlers) earlierConversation(r *route.Request, ch *beeos.Channel) (found bool, err error) {
	key, err := r.IdempotencyKey("")
	if err != nil || key == "" {
		return false, err
	}
	k, err := h.router.Idempotency(r, key, "conversation "+ch.AgentID, []any{ch.Title, ch.Metadata})
	if err != nil {
		return false, err
	}
	dup, err := h.opt.Ledger.ClaimKey(r.Context(), k, ch.ID)
	if err != nil || dup == nil {
		return false, err
	}
	ch.ID = dup.Channel
	first, err := h.opt.Ledger.Channel(r.Context(), ch.ID)
	if beeos.CodeOf(err) == beeos.NotFound {
		return false, nil // the first try got no further than its key
	}
	*ch = first
	return err == nil, err
}

func (h *Handlers) listConversations(r *route.Request, a *beeos.Agent) (any, error) {
	p, err := r.ReadStatePage(100)
	if err != nil {
		return nil, err
	}
	found, err := h.opt.Ledger.Conversations(r.Context(), ledger.ConversationFilter{
		Owner: r.Caller.Principal(), AgentID: a.ID, Open: p.Open, Closed: p.Closed, Before: p.Before, Limit: p.AtMost(),
	})
	view := func(ch *beeos.Channel) conversationView { return viewConversation(ch, a) }
	return route.PageOf("conversations", p, found, view, func(ch *beeos.Channel) string { return ch.ID }), err
}

func (h *Handlers) getConversation(r *route.Request, conv *conversation) (any, error) {
	return viewConversation(&conv.Channel, conv.agent), nil
}
