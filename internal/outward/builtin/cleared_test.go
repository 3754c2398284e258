package builtin_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/outward/llm"
)

// TestClearedConversation: the model is told nothing of what was said before,
// whichever process asks, and everything of what is said after.
func TestClearedConversation(t *testing.T) {
	s := start(t, builtin.Options{Model: llm.Script(func(r llm.Request) []llm.Delta {
		var said []string
		for _, m := range r.Messages {
			said = append(said, fmt.Sprintf("%s:%s", m.Role, m.Text))
		}
		return llm.Say(strings.Join(said, "|"))
	})})
	inst, id := s.create(t, builtin.Definition{Name: "clerk"}, nil)
	rest := client.New(s.REST, s.UserKey)
	conversation, err := rest.CreateConversation(t.Context(), id, "")
	if err != nil {
		t.Fatal(err)
	}
	say := func(text string) string {
		t.Helper()
		return s.ask(t, id, conversation.ID, text).Text
	}
	var got []string
	got = append(got, say("one"), say("two"))
	if err := rest.ClearConversation(t.Context(), id, conversation.ID); err != nil {
		t.Fatal(err)
	}
	got = append(got, say("three"))
	if err := s.rt.SetStopped(t.Context(), s.owner, inst, true); err != nil {
		t.Fatal(err)
	}
	s.untilAgent(t, inst, "") // else the next answer may be its last
	if err := s.rt.Restart(t.Context(), s.owner, inst); err != nil {
		t.Fatal(err)
	}
	s.until(t, id, func(a *client.Answer, err error) bool { return err == nil && !a.IsError })
	got = append(got, say("four"))
	want := []string{
		"user:one", "user:one|assistant:user:one|user:two",
		"user:three", "user:three|assistant:user:three|user:four",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	n := 0
	if err := s.db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM messages WHERE channel = $1", conversation.ID).Scan(&n); err != nil || n != 8 {
		t.Errorf("the log has %d messages, %v", n, err)
	}
	if err := rest.ClearConversation(t.Context(), s.AgentID, conversation.ID); beeos.CodeOf(err) != beeos.AgentNotFound {
		t.Errorf("of another agent: %v", err)
	}
}
