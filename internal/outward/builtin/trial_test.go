package builtin_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/outward/llm"
)

// TestOwnerTriesAnotherPromptAndModel: a message in the middle of a conversation
// is asked again with another prompt and a model that the agent does not offer;
// the model is told what was said before it, and nothing else changes.
func TestOwnerTriesAnotherPromptAndModel(t *testing.T) {
	s := start(t, builtin.Options{Model: llm.Script(func(r llm.Request) []llm.Delta {
		said := []string{r.Model, r.System}
		for _, m := range r.Messages {
			said = append(said, fmt.Sprintf("%s:%s", m.Role, m.Text[strings.LastIndex(m.Text, ":")+1:]))
		}
		return llm.Say(strings.Join(said, "|"))
	})})
	_, id := s.create(t, builtin.Definition{Name: "clerk", Model: "small", Prompt: "Be kind."}, nil)
	rest := client.New(s.REST, s.UserKey)
	conversation, err := rest.CreateConversation(t.Context(), id, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"one", "two", "three"} {
		s.ask(t, id, conversation.ID, word)
	}
	var second string
	for c, err := range rest.Calls(t.Context(), client.CallFilter{AgentID: id}) {
		if err != nil {
			t.Fatal(err)
		}
		call, err := rest.Call(t.Context(), c.ID)
		if err != nil {
			t.Fatal(err)
		}
		if call.Request.Text == "two" {
			second = c.ID
		}
	}
	replay := func(of string, r client.ReplayRequest) *client.CallDetail {
		t.Helper()
		made, err := rest.ReplayCall(t.Context(), of, r)
		if err != nil {
			t.Fatal(err)
		}
		got, err := rest.AwaitReplay(t.Context(), made, func(question string) { t.Error(question) })
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	brief, empty := "Be brief.", ""
	var tried string
	for _, c := range []struct {
		r    client.ReplayRequest
		want string
	}{
		{client.ReplayRequest{}, "small|Be kind.|user:one|assistant:one|user:two"},
		{client.ReplayRequest{Model: "large"}, "large|Be kind.|user:one|assistant:one|user:two"},
		{client.ReplayRequest{Prompt: &empty}, "small||user:one|assistant:one|user:two"},
		{client.ReplayRequest{Model: "large", Prompt: &brief}, "large|Be brief.|user:one|assistant:one|user:two"},
	} {
		got := replay(second, c.r)
		if got.Reply == nil || got.Reply.Text != c.want {
			t.Errorf("%+v: %+v, want %s", c.r, got.Reply, c.want)
		}
		tried = got.ID
		if got.Request.Model != c.r.Model || (got.Request.Prompt == nil) != (c.r.Prompt == nil) {
			t.Errorf("%+v: the call says that it was asked with %q, %v", c.r, got.Request.Model, got.Request.Prompt)
		}
	}
	if got := replay(tried, client.ReplayRequest{}); got.Reply == nil || got.Reply.Text != "large|Be brief.|user:one|assistant:one|user:two" {
		t.Errorf("a replay of what was tried: %+v", got.Reply)
	}
	if got := s.ask(t, id, conversation.ID, "four").Text; !strings.HasPrefix(got, "small|Be kind.|user:one") {
		t.Errorf("the conversation goes on with %s", got)
	}
	long := strings.Repeat("x", 8193)
	if _, err := rest.ReplayCall(t.Context(), second, client.ReplayRequest{Prompt: &long}); beeos.CodeOf(err) != beeos.InvalidParam {
		t.Errorf("too long a prompt: %v", err)
	}
}
