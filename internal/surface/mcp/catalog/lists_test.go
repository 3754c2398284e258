package catalog

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
)

func toolNames(t *testing.T, l *Lists) []string {
	t.Helper()
	var names []string
	params := []byte(nil)
	for range 10 {
		page, err := l.Tools.Page(params)
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
		params = wire.AppendText([]byte(`{"cursor":`), got.NextCursor)
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
				if l.ToolByName[name] == nil {
					t.Errorf("%s is listed and cannot be called", name)
				}
			}
			if len(l.ToolByName) != len(got)+1 { // and the one that brings results later
				t.Errorf("%d tools can be called, %d are listed", len(l.ToolByName), len(got))
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

// TestFetchTool: every client that names its revision sees it, under a name
// that the agent does not use.
func TestFetchTool(t *testing.T) {
	for _, tt := range []struct {
		skills []string
		want   string
	}{
		{nil, "task_result"},
		{[]string{"task_result"}, "beeos_task_result"},
		{[]string{"task_result", "beeos_task_result"}, "beeos_beeos_task_result"},
	} {
		a := &beeos.Agent{ID: "agent_x", SelfTool: true}
		for _, name := range tt.skills {
			a.Definition.Skills = append(a.Definition.Skills, beeos.Skill{Name: name})
		}
		l := newLists(a)
		if l.FetchToolName != tt.want || !l.ToolByName[tt.want].IsFetch {
			t.Errorf("%v: %s", tt.skills, l.FetchToolName)
		}
		if !json.Valid(l.ToolsAndFetch.pages[0]) || !strings.Contains(string(l.ToolsAndFetch.pages[0]), `"name":"`+tt.want+`"`) || strings.Contains(string(l.Tools.pages[0]), fetchText) {
			t.Errorf("%s", l.ToolsAndFetch.pages[0])
		}
	}
}
