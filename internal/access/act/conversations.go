package act

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/store/audit"
)

// MaxTitle is how many characters the title of a conversation may have.
const MaxTitle = 256

const maxModelName = 128 // characters

// inConversation does something with a conversation that the caller began.
func (a *Acts) inConversation(ctx context.Context, c beeos.Caller, ch beeos.Channel, action string, model string, do func() error) error {
	if err := RequirePerson(c); err != nil {
		return err
	}
	if ch.Owner != c.Principal() {
		return beeos.Errorf(beeos.NotFound, "you have no such conversation; list your conversations to see which you have")
	}
	if err := do(); err != nil {
		return err
	}
	a.record(ctx, c, c.UserID, action, ch.ID, map[string]string{"agent": ch.AgentID, "model": model})
	return nil
}

// RenameConversation gives a conversation a title.
func (a *Acts) RenameConversation(ctx context.Context, c beeos.Caller, ch beeos.Channel, title string) error {
	if err := CheckTitle(title); err != nil {
		return err
	}
	return a.inConversation(ctx, c, ch, audit.ConversationRename, "", func() error { return a.Ledger.RenameChannel(ctx, ch.ID, title) })
}

// CheckTitle says what is wrong with the title of a conversation.
func CheckTitle(title string) error {
	if n := utf8.RuneCountInString(title); n == 0 || n > MaxTitle || !utf8.ValidString(title) {
		return beeos.Errorf(beeos.InvalidParam, "title must have from 1 to %d characters", MaxTitle)
	}
	return nil
}

// DeleteConversation forgets a conversation and everything said in it.
func (a *Acts) DeleteConversation(ctx context.Context, c beeos.Caller, ch beeos.Channel) error {
	return a.inConversation(ctx, c, ch, audit.ConversationDelete, "", func() error { return a.Ledger.DeleteChannel(ctx, ch.ID) })
}

// ClearConversation lets a built-in agent start afresh: what was said stays in
// the conversation, and is not told to the model again. What other agents
// remember is not ours to clear.
func (a *Acts) ClearConversation(ctx context.Context, c beeos.Caller, ch beeos.Channel) (generation int64, err error) {
	err = a.inConversation(ctx, c, ch, audit.ConversationClear, "", func() error {
		generation, err = a.Ledger.ClearHistory(ctx, ch.ID)
		return err
	})
	return generation, err
}

// CheckClear says why a conversation with an agent cannot be cleared.
func (a *Acts) CheckClear(ctx context.Context, agent *beeos.Agent, ch beeos.Channel) error {
	switch _, ok, err := a.BuiltinOf(ctx, agent); {
	case err != nil:
		return err
	case !ok:
		return beeos.Errorf(beeos.Conflict, "this agent keeps its own memory, which cannot be cleared from here; create a new conversation to start afresh")
	case ch.Closed:
		return beeos.Errorf(beeos.Conflict, "the conversation is closed (%s); start a new one", ch.ClosedReason)
	}
	return nil
}

// SetConversationModel chooses the model of a conversation; "" is the agent's
// own. CheckModel says beforehand whether it can be.
func (a *Acts) SetConversationModel(ctx context.Context, c beeos.Caller, ch beeos.Channel, model string) error {
	return a.inConversation(ctx, c, ch, audit.ConversationModel, model, func() error { return a.Ledger.SetModel(ctx, ch.ID, model) })
}

// CheckModel says why an agent would not use a model: it takes none from its
// callers, or it is built in and does not offer that one. Another agent knows
// its models itself.
func (a *Acts) CheckModel(ctx context.Context, agent *beeos.Agent, model string) error {
	var declared struct {
		ModelsSet bool `json:"modelsSet"`
	}
	switch {
	case utf8.RuneCountInString(model) > maxModelName:
		return beeos.Errorf(beeos.InvalidParam, "a model's name may have at most %d characters", maxModelName)
	case json.Unmarshal(agent.Definition.Capabilities, &declared) != nil || !declared.ModelsSet:
		return beeos.Errorf(beeos.Conflict, "this agent chooses its model itself (it does not declare modelsSet); ask its owner")
	}
	row, ok, err := a.BuiltinOf(ctx, agent)
	if err != nil || !ok || model == "" {
		return err
	}
	d, err := builtin.ReadDefinition(row)
	if err != nil || model == d.Model || slices.Contains(d.Models, model) {
		return err
	}
	return beeos.Errorf(beeos.InvalidParam, "this agent may not use the model %q; choose one of %s", model, strings.Join(d.Models, ", "))
}
