package builtin_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/outward/builtin/answer"
	"github.com/beeos/beeos/internal/outward/llm"
	"github.com/beeos/beeos/internal/outward/skill"
)

// delegating is a script that makes the calls that it is told to, all at once, one a
// line, and then says what came of them.
func delegating(r llm.Request) (said []llm.Delta) {
	last := r.Messages[len(r.Messages)-1]
	if last.Role == llm.ToolRole {
		var got []string
		for _, m := range r.Messages {
			if m.Role == llm.ToolRole {
				got = append(got, m.Text)
			}
		}
		return llm.Say(strings.Join(got, "|"))
	}
	if last.Text == "tools" {
		for _, t := range r.Tools {
			said = append(said, llm.Delta{Text: t.Name + " "})
		}
		return append(said, llm.Say(r.System)...)
	}
	for i, line := range strings.Split(last.Text, "\n") {
		tool, arguments, _ := strings.Cut(line, " ")
		said = append(said, call(string(rune('a'+i)), tool, json.RawMessage(arguments)))
	}
	return said
}

// weather is an agent with a tool that answers in words, one that answers with a
// value, and an ear for messages.
func weather(s *stack, t *testing.T) string {
	city := json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)
	where := func(m agent.Message) string {
		var in struct{ City string }
		_ = json.Unmarshal(m.Arguments, &in)
		return in.City
	}
	return s.Connect(t, agent.Options{Name: "weather", Tools: []agent.Tool{
		{Name: "forecast", Schema: city, Handle: func(_ context.Context, m agent.Message, r *agent.Reply) error { return r.Send("sunny in " + where(m)) }},
		{Name: "now", Schema: city, Handle: func(_ context.Context, m agent.Message, r *agent.Reply) error {
			return errors.Join(r.Structured(map[string]any{"city": where(m), "degrees": 21}), r.Send(""))
		}},
	}}, func(_ context.Context, m agent.Message, r *agent.Reply) error {
		if m.Text == "fail" {
			return r.Fail("no weather today")
		}
		return r.Send("you said " + m.Text + " over " + m.Protocol)
	})
}

// TestAgentsAsTools: the model of a built-in agent calls tools of another agent and
// talks to it, several at once, and hears what went wrong.
func TestAgentsAsTools(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	s := start(t, builtin.Options{Model: llm.Script(delegating), Approve: func(_ context.Context, _ *agent.Reply, a answer.Approval) error {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, a.Skill+"/"+a.Tool+" "+string(a.Arguments))
		if strings.Contains(string(a.Arguments), "secret") {
			return errors.New("not that")
		}
		return nil
	}})
	other := weather(s, t)
	_, guide := s.create(t, builtin.Definition{Name: "guide", Servers: []skill.Server{{Name: "sky", Agent: "weather"}, {Name: "by-id", Agent: other}}}, nil)
	for _, tt := range []struct{ say, want string }{
		{"tools", "sky__forecast sky__now sky__message by-id__forecast by-id__now by-id__message "},
		{`sky__forecast {"city":"Bern"}`, "sunny in Bern"},
		{`sky__now {"city":"Bern"}`, `{"city":"Bern","degrees":21}`},
		{`by-id__message {"message":"hello"}`, "you said hello over agent"},
		{`sky__message {"message":"fail"}`, "agent weather failed: no weather today"},
		{`sky__message {"words":"hello"}`, "the call was not made: say in the argument message what you want of the agent"},
		{`sky__forecast {"town":"Bern"}`, "these arguments do not fit the tool forecast"},
		{`sky__forecast {"city":"secret"}`, "the call was denied and not made: not that"},
		{"sky__forecast {\"city\":\"Bern\"}\nby-id__forecast {\"city\":\"Rome\"}\nsky__message {\"message\":\"hi\"}\nsky__now {\"city\":\"Oslo\"}", `sunny in Bern|sunny in Rome|you said hi over agent|{"city":"Oslo","degrees":21}`},
	} {
		got, err := s.say(t.Context(), guide, "", tt.say)
		if err != nil || !strings.Contains(got.Text, tt.want) {
			t.Errorf("%s: %+v %v, want %q", tt.say, got, err, tt.want)
		}
	}
	slices.Sort(asked)
	if !slices.Contains(asked, `by-id/message {"message":"hello"}`) || !slices.Contains(asked, `sky/now {"city":"Oslo"}`) {
		t.Errorf("approval was asked for %q", asked)
	}
	states, err := s.rt.CheckSkills(t.Context(), s.owner, s.idOf(t, "guide"))
	if err != nil || len(states) != 2 || states[0].Trouble != "" || len(states[0].Tools) != 3 || !strings.Contains(states[0].Tools[0].Schema, `"city"`) {
		t.Errorf("%+v %v", states, err)
	}
}

// TestWhichAgentsAreTools: only other agents of the same owner, and one that is gone
// is missed without stopping the answer.
func TestWhichAgentsAreTools(t *testing.T) {
	s := start(t, builtin.Options{Model: llm.Script(delegating)})
	stranger := beeos.User{ID: beeos.NewID(), Email: "stranger@example.com", Name: "stranger"}
	if err := s.db.People.CreateUser(t.Context(), stranger); err != nil {
		t.Fatal(err)
	}
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	instance := beeos.Instance{ID: "inst_" + beeos.NewID(), OwnerID: stranger.ID, Name: "there", PublicKey: public}
	if err := s.db.Instances.Create(t.Context(), instance); err != nil {
		t.Fatal(err)
	}
	synced, err := s.db.Agents.Sync(t.Context(), instance, []beeos.Definition{{Name: "foreign"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, server := range map[string]skill.Server{
		"nobody's": {Name: "x", Agent: "nobody"}, "somebody else's": {Name: "x", Agent: synced.IDs()["foreign"]}, "itself": {Name: "x", Agent: "guide"},
		"and a url": {Name: "x", Agent: "echo", URL: "https://x.example"}, "and an offer": {Name: "x", Agent: "echo", Offer: []string{"*"}}, "and auth": {Name: "x", Agent: "echo", Auth: skill.Auth{ClientID: "c"}},
	} {
		if _, err := s.rt.Create(t.Context(), s.owner, builtin.Definition{Name: "guide", Servers: []skill.Server{server}}, nil); beeos.CodeOf(err) != beeos.InvalidParam && beeos.CodeOf(err) != beeos.AgentNotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	other := weather(s, t)
	_, guide := s.create(t, builtin.Definition{Name: "guide", Servers: []skill.Server{{Name: "sky", Agent: "weather", AutoApprove: true}}}, nil)
	if err := s.db.Agents.Delete(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	got, err := s.say(t.Context(), guide, "", "tools")
	if err != nil || strings.Contains(got.Text, "sky__forecast") || !strings.Contains(got.Text, `The tools of the skill "sky" are not there now`) {
		t.Errorf("%+v %v", got, err)
	}
	states, err := s.rt.CheckSkills(t.Context(), s.owner, s.idOf(t, "guide"))
	if err != nil || len(states) != 1 || !strings.Contains(states[0].Trouble, "you have none of that name") {
		t.Errorf("%+v %v", states, err)
	}
}

// TestAgentsInACircle: two built-in agents that are each other's tools are stopped.
func TestAgentsInACircle(t *testing.T) {
	s := start(t, builtin.Options{Model: llm.Script(func(r llm.Request) []llm.Delta {
		if last := r.Messages[len(r.Messages)-1]; last.Role == llm.ToolRole {
			return llm.Say("heard: " + last.Text)
		}
		return []llm.Delta{call("c", r.Tools[len(r.Tools)-1].Name, map[string]string{"message": "go round"})}
	})})
	_, one := s.create(t, builtin.Definition{Name: "one"}, nil)
	s.create(t, builtin.Definition{Name: "two", Servers: []skill.Server{{Name: "first", Agent: "one", AutoApprove: true}}}, nil)
	if err := s.rt.Change(t.Context(), s.owner, s.idOf(t, "one"), builtin.Definition{Servers: []skill.Server{{Name: "second", Agent: "two", AutoApprove: true}}}, nil); err != nil {
		t.Fatal(err)
	}
	got, err := s.say(t.Context(), one, "", "begin")
	for err == nil && !strings.Contains(got.Text, "heard") { // as it was before the change
		got, err = s.say(t.Context(), one, "", "begin")
	}
	if err != nil || !strings.Contains(got.Text, "already working on this") {
		t.Errorf("%+v %v", got, err)
	}
}

// idOf returns the id of a built-in agent.
func (s *stack) idOf(t *testing.T, name string) string {
	t.Helper()
	row, err := s.db.Builtins.GetByName(t.Context(), s.owner, name)
	if err != nil {
		t.Fatal(err)
	}
	return row.ID
}
