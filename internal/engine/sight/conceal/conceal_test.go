package conceal_test

import (
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/sight/conceal"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/store/builtins"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/store/storetest"
)

// TestApprovalsAreMasked by what is known of their tools: of skill servers, of the
// agent itself, and of neither.
func TestApprovalsAreMasked(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx := t.Context()
		const secret = `{"type":"object","properties":{"pass":{"x-secret":true}}}`
		b := storetest.Builtin(t, db, "helper")
		own, err := db.Instances.Get(ctx, b.ID)
		if err != nil {
			t.Fatal(err)
		}
		helper := storetest.Sync(t, db, own, beeos.Definition{Name: "helper"}).IDs()["helper"]
		_, inst := storetest.Owner(t, db, "x@example.com")
		program := storetest.Sync(t, db, inst, beeos.Definition{Name: "program", Skills: []beeos.Skill{{Name: "login", InputSchema: []byte(secret)}}}).IDs()["program"]
		_, err = db.Builtins.PinSkillTools(ctx, b.ID, "files", []builtins.SkillTool{
			{Tool: "login", Hash: "1", Definition: `{"name":"login","inputSchema":` + secret + `}`}, {Tool: "plain", Hash: "2", Definition: `{"name":"plain","inputSchema":{"type":"object"}}`},
		}, database.Now())
		if err != nil {
			t.Fatal(err)
		}
		const shown, some, none = `{"pass":"hush","n":1}`, `{"pass":"•••","n":1}`, `{"pass":"•••","n":"•••"}`
		r := &conceal.Reader{Agents: db.Agents, Builtins: db.Builtins}
		expect := func(agent, skill, tool, want string) {
			t.Helper()
			list := []approvals.Approval{{AgentID: agent, Skill: skill, Tool: tool, Arguments: []byte(shown), Hash: []byte("h")}}
			if err := r.Approvals(ctx, list); err != nil {
				t.Fatal(err)
			}
			if a := list[0]; string(a.Arguments) != want || (a.Hash == nil) != (want != shown) {
				t.Errorf("%q %q of %s: %s, hash %s; want %s", skill, tool, agent, a.Arguments, a.Hash, want)
			}
		}
		expect(helper, "files", "login", some)
		expect(helper, "files", "plain", shown)
		expect(helper, "files", "gone", none)
		expect(helper, "other", "login", none)
		changed := []builtins.SkillTool{{Tool: "login", Hash: "3", Definition: `{"name":"login","inputSchema":{"type":"object"}}`}}
		if _, err := db.Builtins.PinSkillTools(ctx, b.ID, "files", changed, database.Now()); err != nil {
			t.Fatal(err)
		}
		expect(helper, "files", "login", some)
		if err := db.Builtins.AcceptSkillTool(ctx, b.ID, "files", "login", "3", database.Now()); err != nil {
			t.Fatal(err)
		}
		expect(helper, "files", "login", some) // of the time before
		expect(program, "", "login", some)
		expect(program, "", "made up", shown) // by the agent, which says what is to be shown
		expect(program, "files", "made up", shown)
		if err := db.Agents.Delete(ctx, program); err != nil {
			t.Fatal(err)
		}
		expect(program, "", "login", none)
		expect(program, "files", "login", none)
	})
}
