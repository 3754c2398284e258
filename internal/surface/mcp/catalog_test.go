package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/store"
)

func toolNames(t *testing.T, l *lists) []string {
	t.Helper()
	var names []string
	params := []byte(nil)
	for range 10 {
		page, err := l.tools.page("tools", params)
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Tools      []struct{ Name string }
			NextCursor string
		}
		if err := json.Unmarshal(page, &got); err != nil {
			t.Fatal(err)
		}
		for _, tool := range got.Tools {
			names = append(names, tool.Name)
		}
		if got.NextCursor == "" {
			return names
		}
		params = appendText([]byte(`{"cursor":`), got.NextCursor)
		params = append(params, '}')
	}
	t.Fatal("the pages do not end")
	return nil
}

func TestToolList(t *testing.T) {
	hidden := false
	skill := func(name string) beeos.Skill { return beeos.Skill{Name: name} }
	var many []beeos.Skill
	var manyNames []string
	for i := range 2*pageSize + 1 {
		many = append(many, skill(fmt.Sprintf("t%03d", i)))
		manyNames = append(manyNames, fmt.Sprintf("t%03d", i))
	}
	tests := []struct {
		name   string
		skills []beeos.Skill
		self   bool
		want   []string
	}{
		{"no skills", nil, true, []string{"agent_x"}},
		{"no skills, self off", nil, false, []string{"agent_x"}},
		{"skills first", []beeos.Skill{skill("b"), skill("a")}, true, []string{"b", "a", "agent_x"}},
		{"self off", []beeos.Skill{skill("b")}, false, []string{"b"}},
		{"only hidden skills", []beeos.Skill{{Name: "h", ExposeAsTool: &hidden}}, false, []string{"agent_x"}},
		{"broken JSON is left out", []beeos.Skill{{Name: "bad", InputSchema: json.RawMessage(`{`)}, skill("good")}, false, []string{"good"}},
		{"a skill named like the agent", []beeos.Skill{skill("agent_x")}, true, []string{"agent_x"}},
		{"pages", many, false, manyNames},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLists(&beeos.Agent{ID: "agent_x", Name: "x", SelfTool: tt.self, Definition: beeos.Definition{Skills: tt.skills}})
			got := toolNames(t, l)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			for _, name := range got {
				if l.toolByName[name] == nil {
					t.Errorf("%s is listed and cannot be called", name)
				}
			}
			if len(l.toolByName) != len(got)+1 { // and the one that brings results later
				t.Errorf("%d tools can be called, %d are listed", len(l.toolByName), len(got))
			}
		})
	}
}

func TestTemplatePattern(t *testing.T) {
	tests := []struct {
		template, uri string
		want          bool
	}{
		{"test://template/{id}/data", "test://template/5/data", true},
		{"test://template/{id}/data", "test://template/5/6/data", false},
		{"test://template/{id}/data", "test://template//data", false},
		{"file:///{+path}", "file:///a/b/c", true},
		{"a://{x}.{y}", "a://1.2", true},
		{"a://(x)/{y}", "a://x/1", false},
		{"a://{open", "a://", false},
	}
	for _, tt := range tests {
		if got := templatePattern(tt.template).MatchString(tt.uri); got != tt.want {
			t.Errorf("%s matches %s: %v", tt.template, tt.uri, got)
		}
	}
}

// TestCatalog: a change shows with its agent; what did not change keeps its
// compiled schemas.
func TestCatalog(t *testing.T) {
	s := newStack(t)
	ctx := t.Context()
	c := &catalog{calls: s.calls, entries: map[string]*server{}}
	id := s.agents["clerk"]
	get := func() *server {
		t.Helper()
		e, err := c.agent(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	first := get()
	off := false
	if _, err := s.db.UpdateAgent(ctx, id, store.AgentPatch{SelfTool: &off}); err != nil {
		t.Fatal(err)
	}
	if get() != first {
		t.Error("a fresh entry was loaded again")
	}
	s.calls.Forget(id)
	second := get()
	if slices.Contains(toolNames(t, second.lists), id) {
		t.Error("the old list after forget")
	}
	s.calls.Forget(id)
	if third := get(); third == second || third.lists != second.lists {
		t.Error("lists of the same fingerprint were built twice")
	}
	if err := s.db.DeleteAgent(ctx, id); err != nil {
		t.Fatal(err)
	}
	s.calls.Forget(id)
	if _, err := c.agent(ctx, id); beeos.CodeOf(err) != beeos.AgentNotFound {
		t.Errorf("a deleted agent: %v", err)
	}
	if len(c.entries) != 0 {
		t.Error("a deleted agent stays in memory")
	}
}

func TestCatalogConcurrently(t *testing.T) {
	s := newStack(t)
	var working sync.WaitGroup
	for i := range 8 {
		working.Go(func() {
			for n := range 50 {
				for _, id := range s.agents {
					if _, err := s.gateway.catalog.agent(t.Context(), id); err != nil {
						t.Error(err)
					}
					if (n+i)%7 == 0 {
						s.bus.Control(bus.Control{Kind: bus.AgentChanged, AgentID: id})
					}
				}
			}
		})
	}
	working.Wait()
}
