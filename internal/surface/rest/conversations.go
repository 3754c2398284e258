package rest

import (
	"cmp"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/wire/httpd"
)

const (
	idempotencyTTL = 24 * time.Hour
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
}

func viewConversation(ch beeos.Channel, a *beeos.Agent) conversationView {
	v := conversationView{
		ID: ch.ID, AgentID: ch.AgentID, Title: ch.Title, State: "active", Metadata: ch.Metadata,
		CreatedAt: ch.CreatedAt, LastActivityAt: ch.UpdatedAt, ModelOverride: ch.Model, EffectiveModel: orElse(ch.Model, a.Definition.Model),
	}
	if ch.Closed {
		v.State, v.ClosedAt = "closed", ch.UpdatedAt
	}
	return v
}

// conversation returns the agent and the conversation of the path if both are
// within the caller's reach. The contract's paths have two names for its id.
func (s *Surface) conversation(r *http.Request, c beeos.Caller) (*beeos.Agent, beeos.Channel, error) {
	a, err := s.reachable(r, c)
	if err != nil {
		return nil, beeos.Channel{}, err
	}
	id := r.PathValue("convId")
	ch, err := s.Ledger.Channel(r.Context(), id)
	if err != nil && beeos.CodeOf(err) != beeos.NotFound {
		return nil, ch, err
	}
	if err != nil || ch.Owner != c.Principal() || ch.AgentID != a.ID || ch.Kind != beeos.KindConversation {
		return nil, ch, beeos.Errorf(beeos.AgentNotFound, "you have no conversation %q with this agent", id)
	}
	return a, ch, nil
}

func (s *Surface) createConversation(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	a, err := s.reachable(r, c)
	if err != nil {
		return err
	}
	ch := beeos.Channel{ID: beeos.NewChannelID(), AgentID: a.ID, Owner: c.Principal(), Kind: beeos.KindConversation}
	if err := readMaybe(w, r, messageLimit, shape{"title": &ch.Title, "metadata": &ch.Metadata}); err != nil {
		return err
	}
	if err := invoke.CheckMetadata(ch.Metadata); err != nil {
		return err
	}
	if utf8.RuneCountInString(ch.Title) > act.MaxTitle {
		return beeos.Errorf(beeos.InvalidParam, "title may have at most %d characters", act.MaxTitle)
	}
	key, err := idempotencyKey(r, "")
	if err != nil {
		return err
	}
	if key != "" { // noted first: there must not be two of it
		k, err := s.keyOf(c, keyedAct{key, "conversation " + a.ID, []any{ch.Title, ch.Metadata}})
		if err != nil {
			return err
		}
		dup, err := s.Ledger.Remember(r.Context(), k, ch.ID)
		if err != nil {
			return err
		}
		if dup != nil {
			ch.ID = dup.Channel
			if first, err := s.Ledger.Channel(r.Context(), ch.ID); err == nil {
				markReplay(w, true)
				httpd.WriteData(w, http.StatusCreated, viewConversation(first, a))
				return nil
			} else if beeos.CodeOf(err) != beeos.NotFound {
				return err
			} // else the first try got no further than its key
		}
	}
	failed := s.Ledger.CreateChannel(r.Context(), ch)
	if ch, err = s.Ledger.Channel(r.Context(), ch.ID); err != nil {
		return cmp.Or(failed, err)
	}
	markReplay(w, failed != nil) // another try under the same key was faster
	httpd.WriteData(w, http.StatusCreated, viewConversation(ch, a))
	return nil
}

func (s *Surface) listConversations(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	a, err := s.reachable(r, c)
	if err != nil {
		return err
	}
	p, err := readPage(r)
	if err != nil {
		return err
	}
	found, err := s.Ledger.Conversations(r.Context(), ledger.ConversationFilter{
		Owner: c.Principal(), AgentID: a.ID, Open: p.open, Closed: p.closed, Before: p.before, Limit: p.limit + 1,
	})
	if err != nil {
		return err
	}
	list := struct {
		Conversations []conversationView `json:"conversations"`
		NextSince     string             `json:"next_since,omitempty"`
	}{Conversations: []conversationView{}}
	for _, ch := range found[:min(len(found), p.limit)] {
		list.Conversations = append(list.Conversations, viewConversation(ch, a))
	}
	if len(found) > p.limit {
		list.NextSince = found[p.limit-1].ID
	}
	httpd.WriteData(w, http.StatusOK, list)
	return nil
}

func (s *Surface) getConversation(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	a, ch, err := s.conversation(r, c)
	if err != nil {
		return err
	}
	httpd.WriteData(w, http.StatusOK, viewConversation(ch, a))
	return nil
}

func (s *Surface) renameConversation(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	a, ch, err := s.conversation(r, c)
	if err != nil {
		return err
	}
	key, err := requiredKey(r)
	if err != nil {
		return err
	}
	var title string
	if err := read(w, r, settingLimit, true, shape{"title": &title}); err != nil {
		return err
	}
	if err := act.CheckTitle(title); err != nil {
		return err
	}
	replayed, err := s.perform(w, r, c, keyedAct{key, "rename " + ch.ID, []any{title}}, func() error {
		return s.Acts.RenameConversation(r.Context(), c, ch, title)
	})
	if err != nil {
		return err
	}
	if !replayed {
		ch.Title = title
	}
	httpd.WriteData(w, http.StatusOK, viewConversation(ch, a))
	return nil
}

// requiredKey is for the routes whose contract insists on an idempotency key.
func requiredKey(r *http.Request) (string, error) {
	key, err := idempotencyKey(r, "")
	if err == nil && key == "" {
		err = beeos.Errorf(beeos.MissingParam, "the Idempotency-Key header is required here; any string of your own will do")
	}
	return key, err
}

// deleteConversation forgets a conversation and everything said in it.
func (s *Surface) deleteConversation(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	_, ch, err := s.conversation(r, c)
	if err != nil {
		return err
	}
	if err := s.Acts.DeleteConversation(r.Context(), c, ch); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
