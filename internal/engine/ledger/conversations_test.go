package ledger

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
)

// TestConversationsOfAllAgents: those of one owner, the newest first, by words in
// their titles, which mean themselves, or by their agents.
func TestConversationsOfAllAgents(t *testing.T) {
	engines(t, func(t *testing.T, open func(Options) *Ledger) {
		l := open(Options{})
		for _, c := range []beeos.Channel{
			{ID: "ch-1", AgentID: "agent_a", Owner: "user:u", Title: "Rain in Bern"},
			{ID: "ch-2", AgentID: "agent_b", Owner: "user:u", Title: "100% of the tax_form!"},
			{ID: "ch-3", AgentID: "agent_b", Owner: "user:v", Title: "Rain"},
			{ID: "ch-4", AgentID: "agent_a", Owner: "user:u", Title: "Rain", Kind: beeos.KindMCP},
		} {
			if c.Kind == "" {
				c.Kind = beeos.KindConversation
			}
			if err := l.CreateChannel(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range []struct {
			filter ConversationFilter
			want   []string
		}{
			{ConversationFilter{}, []string{"ch-2", "ch-1"}},
			{ConversationFilter{AgentID: "agent_a"}, []string{"ch-1"}},
			{ConversationFilter{Before: "ch-2"}, []string{"ch-1"}},
			{ConversationFilter{Words: "RAIN"}, []string{"ch-1"}},
			{ConversationFilter{Words: "rain", Agents: []string{"agent_x", "agent_b"}}, []string{"ch-2", "ch-1"}},
			{ConversationFilter{Words: "0% of"}, []string{"ch-2"}},
			{ConversationFilter{Words: "x_f"}, []string{"ch-2"}},
			{ConversationFilter{Words: "m!"}, []string{"ch-2"}},
			{ConversationFilter{Words: "a_n"}, nil},
		} {
			c.filter.Owner, c.filter.Limit = "user:u", 10
			found, err := l.Conversations(t.Context(), c.filter)
			var ids []string
			for _, ch := range found {
				ids = append(ids, ch.ID)
			}
			if diff := cmp.Diff(c.want, ids); diff != "" || err != nil {
				t.Errorf("%+v: %v %s", c.filter, err, diff)
			}
		}
		agents, err := l.ConversationAgents(t.Context(), "user:u")
		slices.Sort(agents)
		if diff := cmp.Diff([]string{"agent_a", "agent_b"}, agents); diff != "" || err != nil {
			t.Errorf("%v %s", err, diff)
		}
	})
}
