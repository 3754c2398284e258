package agents_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/storetest"
)

// TestPastSchemas: of a tool that changes or goes, what it named secret is kept, and
// that it was there; each once, and not without end.
func TestPastSchemas(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		_, inst := storetest.Owner(t, db, "a@example.com")
		var id string
		declare := func(skills ...beeos.Skill) {
			t.Helper()
			id = storetest.Sync(t, db, inst, beeos.Definition{Name: "a", Skills: skills}).IDs()["a"]
		}
		expect := func(tool string, want ...string) {
			t.Helper()
			list, err := db.Agents.ListPastSchemas(t.Context(), id, tool)
			if err != nil || len(list) != len(want) {
				t.Fatalf("%s: %d schemas, %v; want %d", tool, len(list), err, len(want))
			}
			for i := range want {
				if !strings.Contains(fmt.Sprintf("%s", list), want[i]) {
					t.Errorf("%s: %s lacks %s", tool, list, want[i])
				}
			}
		}
		skill := func(name, schema string) beeos.Skill {
			return beeos.Skill{Name: name, InputSchema: json.RawMessage(schema)}
		}
		secret := func(name string) string {
			return `{"type":"object","properties":{"` + name + `":{"x-secret":true}}}`
		}
		declare(skill("login", secret("a")), skill("plain", `{"type":"object"}`))
		expect("login")
		declare(skill("login", secret("b")), skill("plain", `{"type":"object","required":[]}`))
		declare(skill("login", secret("a")), skill("plain", `{"type":"object"}`))
		declare(skill("login", secret("b")))
		expect("login", `"a"`, `"b"`)
		expect("plain", "")
		expect("other")
		declare(skill("login", `{"type":"object","x-secret":true,"title":"`+strings.Repeat("x", 70<<10)+`"}`))
		declare()
		expect("login", `"a"`, `"b"`, "too long")
		for i := range 3 {
			var many []beeos.Skill
			for j := range 100 {
				many = append(many, skill(fmt.Sprintf("t%d-%d", i, j), secret("x")))
			}
			declare(many...)
		}
		declare()
		expect("login")
		expect("t0-1")
		expect("t2-1", `"x"`)
		if err := db.Agents.Delete(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		expect("t2-1")
	})
}
