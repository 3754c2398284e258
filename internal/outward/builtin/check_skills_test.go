package builtin_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/outward/llm"
	"github.com/beeos/beeos/internal/outward/skill"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/test/issuer"
)

// look returns the state of the only skill.
func (s *stack) look(t *testing.T, id string) builtin.SkillState {
	t.Helper()
	states, err := s.rt.CheckSkills(t.Context(), s.owner, id)
	if err != nil || len(states) != 1 {
		t.Fatalf("%+v, %v", states, err)
	}
	return states[0]
}

// TestLook: a server that wants consent, one that was let in, a tool that has
// changed, and a skill that is taken away and leaves nothing behind.
func TestLook(t *testing.T) {
	as, srv := issuer.New(t, nil), skillServer(t)
	guard := protect(t, srv, as)
	s := start(t, builtin.Options{Model: llm.Script(saving)})
	row, err := s.rt.Create(t.Context(), s.owner, builtin.Definition{Name: "clerk", Description: "Files things.", Servers: files(guard.URL, false)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := s.db.Agents.GetByName(t.Context(), s.owner, "clerk")
	if err != nil || a.InstanceID != row.ID || a.Definition.Description != "Files things." {
		t.Fatalf("the agent is not there at once: %+v, %v", a, err)
	}
	if got := s.look(t, row.ID); !got.Consent || got.Issuer != "" || got.Trouble == "" || len(got.Tools) != 0 {
		t.Errorf("before: %+v", got)
	}
	if _, err := s.rt.CheckSkills(t.Context(), "somebody else", row.ID); beeos.CodeOf(err) != beeos.NotFound {
		t.Errorf("another looks: %v", err)
	}
	address, err := s.rt.StartConsent(t.Context(), s.owner, row.ID, "files")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.rt.FinishConsent(t.Context(), s.owner, visit(t, address).Query()); err != nil {
		t.Fatal(err)
	}
	got := s.look(t, row.ID)
	if got.Trouble != "" || got.Consent || got.Issuer != as.URL || len(got.Tools) != 1 || got.Tools[0].Held != nil || !strings.Contains(got.Tools[0].Schema, `"filename"`) {
		t.Fatalf("after: %+v", got)
	}
	yes := true
	mcp.AddTool(srv.mcp, &mcp.Tool{Name: "save_csv", Description: "Save \u202eall", Annotations: &mcp.ToolAnnotations{DestructiveHint: &yes}}, srv.save)
	s.untilHeld(t, row.ID)
	got = s.look(t, row.ID)
	if held := got.Tools[0].Held; held.Name != "save_csv" || !strings.Contains(held.Is, "Save ⟨U+202E⟩all") || got.Tools[0].Destructive {
		t.Errorf("held: %+v", got.Tools[0])
	}
	if err := s.rt.AcceptTool(t.Context(), s.owner, row.ID, "files", "save_csv", got.Tools[0].Held.Hash); err != nil {
		t.Fatal(err)
	}
	if got = s.look(t, row.ID); got.Tools[0].Held != nil || !got.Tools[0].Destructive || got.Tools[0].Description != "Save ⟨U+202E⟩all" {
		t.Errorf("accepted: %+v", got.Tools[0])
	}
	srv.mcp.RemoveTools("save_csv")
	s.untilTools(t, row.ID, 0)

	rule := approvals.Rule{AgentID: a.ID, Skill: "files", Mode: approvals.ModeAuto, UpdatedAt: time.Now()}
	if err := s.db.Approvals.SetRules(t.Context(), []approvals.Rule{rule}); err != nil {
		t.Fatal(err)
	}
	if err := s.rt.Change(t.Context(), s.owner, row.ID, builtin.Definition{}, nil); err != nil {
		t.Fatal(err)
	}
	rules, err := s.db.Approvals.ListRules(t.Context(), a.ID)
	if err != nil || len(rules) != 0 {
		t.Errorf("another server called files would go ahead: %+v, %v", rules, err)
	}
	if kept, err := s.db.Builtins.GetSkillToken(t.Context(), row.ID, "files", guard.URL, as.URL); err != nil || kept != nil {
		t.Errorf("its token is still there: %v", err)
	}
	if tools, err := s.db.Builtins.ListSkillTools(t.Context(), row.ID, ""); err != nil || len(tools) != 0 {
		t.Errorf("its tools are still known: %+v, %v", tools, err)
	}
}

// TestMovedSkillIsAskedAbout: that the owner need not be asked was said about a
// server, not about whatever is called the same later on.
func TestMovedSkillIsAskedAbout(t *testing.T) {
	s := start(t, builtin.Options{})
	id, agentID := s.create(t, builtin.Definition{Name: "clerk", Servers: files("http://127.0.0.1:1/one", false)}, nil)
	for i, c := range []struct {
		address string
		rules   int
	}{{"http://127.0.0.1:1/one", 1}, {"http://127.0.0.1:1/two", 0}} {
		rule := approvals.Rule{AgentID: agentID, Skill: "files", Mode: approvals.ModeAuto, UpdatedAt: time.Now()}
		if err := s.db.Approvals.SetRules(t.Context(), []approvals.Rule{rule}); err != nil {
			t.Fatal(err)
		}
		d := builtin.Definition{Prompt: fmt.Sprint(i), Servers: files(c.address, false)}
		if err := s.rt.Change(t.Context(), s.owner, id, d, nil); err != nil {
			t.Fatal(err)
		}
		if rules, err := s.db.Approvals.ListRules(t.Context(), agentID); err != nil || len(rules) != c.rules {
			t.Errorf("%s: %+v, %v", c.address, rules, err)
		}
	}
}

// TestLookAtTrouble: what a server says about its trouble is text without
// anything hidden, and an agent that is stopped can be looked at, too.
func TestLookAtTrouble(t *testing.T) {
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "<b>out\x1b[8m\u202e", http.StatusInternalServerError)
	}))
	t.Cleanup(broken.Close)
	s := start(t, builtin.Options{})
	id, _ := s.create(t, builtin.Definition{Name: "clerk", Servers: files(broken.URL, false)}, nil)
	if s.rt.HasModel(t.Context()) || len(s.rt.Commands(t.Context())) != 0 {
		t.Error("a model or a command that nobody configured")
	}
	if err := s.rt.SetStopped(t.Context(), s.owner, id, true); err != nil {
		t.Fatal(err)
	}
	got := s.look(t, id)
	if got.Trouble == "" || got.Consent || got.Detail == "" || strings.ContainsAny(got.Detail, "\x1b\u202e") {
		t.Errorf("%+v", got)
	}
	long := builtin.Definition{Name: "clerk", Description: strings.Repeat("x", 2<<20)}
	if err := s.rt.Change(t.Context(), s.owner, id, long, nil); beeos.CodeOf(err) != beeos.InvalidBody {
		t.Errorf("a description that the gateway would refuse: %v", err)
	}
	bad := builtin.Definition{Name: "second", Servers: []skill.Server{{Name: "x", Command: "sh"}}}
	if _, err := s.rt.Create(t.Context(), s.owner, bad, nil); beeos.CodeOf(err) != beeos.Forbidden {
		t.Errorf("a command that nobody allowed: %v", err)
	}
}

// untilHeld looks until the tool is held.
func (s *stack) untilHeld(t *testing.T, id string) {
	t.Helper()
	s.lookUntil(t, id, func(got builtin.SkillState) bool { return len(got.Tools) == 1 && got.Tools[0].Held != nil })
}

func (s *stack) untilTools(t *testing.T, id string, n int) {
	t.Helper()
	s.lookUntil(t, id, func(got builtin.SkillState) bool { return got.Trouble == "" && len(got.Tools) == n })
}

func (s *stack) lookUntil(t *testing.T, id string, ok func(builtin.SkillState) bool) {
	t.Helper()
	within := time.After(10 * time.Second)
	for {
		got := s.look(t, id)
		if ok(got) {
			return
		}
		select {
		case <-within:
			t.Fatalf("still %+v", got)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
