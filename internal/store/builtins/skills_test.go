package builtins_test

import (
	"crypto/ed25519"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/store/builtins"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/store/storetest"
)

func TestBuiltinsAreTheirOwners(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx := t.Context()
		mine, others := storetest.Builtin(t, db, "helper"), storetest.Builtin(t, db, "helper")
		got, err := db.Builtins.Get(ctx, mine.OwnerID, mine.ID)
		if err != nil || got.Name != "helper" || string(got.Sealed) != string(mine.Sealed) || got.Definition != mine.Definition {
			t.Fatalf("%+v, %v", got, err)
		}
		if _, err := db.Builtins.Get(ctx, mine.OwnerID, others.ID); beeos.CodeOf(err) != beeos.NotFound {
			t.Errorf("another owner's: %v", err)
		}
		public, _, _ := ed25519.GenerateKey(nil)
		twin := mine
		twin.ID = beeos.NewID()
		if err := db.Builtins.Create(ctx, twin, public); beeos.CodeOf(err) != beeos.Conflict {
			t.Errorf("a second one of that name: %v", err)
		}
		if i, err := db.Instances.Get(ctx, twin.ID); err != nil || i.RevokedAt.IsZero() {
			t.Errorf("its identity is left alive: %+v, %v", i, err)
		}
		was := mine.UpdatedAt
		mine.Stopped, mine.UpdatedAt = true, was.Add(time.Second)
		if ok, err := db.Builtins.Update(ctx, mine, was); err != nil || !ok {
			t.Fatal(ok, err)
		}
		if ok, err := db.Builtins.Update(ctx, mine, was); err != nil || ok {
			t.Errorf("changed from what it no longer is: %v, %v", ok, err)
		}
		if got, err := db.Builtins.GetByName(ctx, mine.OwnerID, "helper"); err != nil || got.ID != mine.ID {
			t.Errorf("by name: %+v, %v", got, err)
		}
		if list, err := db.Builtins.List(ctx, mine.OwnerID); err != nil || len(list) != 1 || !list[0].Stopped {
			t.Errorf("%+v, %v", list, err)
		}
		if err := db.Builtins.Delete(ctx, others.OwnerID, mine.ID); beeos.CodeOf(err) != beeos.NotFound {
			t.Errorf("deleted by another: %v", err)
		}
		if _, err := db.Builtins.PinSkillTools(ctx, mine.ID, "s", []builtins.SkillTool{{Tool: "t", Hash: "1"}}, database.Now()); err != nil {
			t.Fatal(err)
		}
		if err := db.Builtins.Delete(ctx, mine.OwnerID, mine.ID); err != nil {
			t.Fatal(err)
		}
		if i, err := db.Instances.Get(ctx, mine.ID); err != nil || i.RevokedAt.IsZero() {
			t.Errorf("its identity outlives it: %+v, %v", i, err)
		}
	})
}

func TestChangedToolsAreHeldUntilAccepted(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx, b := t.Context(), storetest.Builtin(t, db, "helper")
		pin := func(hash string, wantHash, wantHeld string) {
			t.Helper()
			list, err := db.Builtins.PinSkillTools(ctx, b.ID, "files", []builtins.SkillTool{{Tool: "save", Hash: hash, Definition: "as " + hash}}, database.Now())
			if err != nil || len(list) != 1 {
				t.Fatalf("%+v, %v", list, err)
			}
			if got := list[0]; got.Hash != wantHash || got.Definition != "as "+wantHash || got.HeldHash != wantHeld {
				t.Fatalf("%+v; want %s, held %q", got, wantHash, wantHeld)
			}
		}
		accept := func(hash string, want beeos.Code) {
			t.Helper()
			if err := db.Builtins.AcceptSkillTool(ctx, b.ID, "files", "save", hash, database.Now()); beeos.CodeOf(err) != want && (err != nil || want != "") {
				t.Fatalf("accepted: %v, want %q", err, want)
			}
		}
		pin("1", "1", "")
		pin("2", "1", "2")
		pin("3", "1", "3")
		accept("2", beeos.Conflict) // seen, but not the one that is held now
		accept("3", "")
		pin("3", "3", "")
		pin("1", "3", "1")
		pin("3", "3", "") // the server went back
		accept("1", beeos.Conflict)
		accept("", beeos.Conflict)
	})
}

// TestNewToolsAreHeldUntilAccepted: what a server shows first is known, also
// when that is nothing; a tool that it adds later waits, and goes without a
// trace when the server takes it back.
func TestNewToolsAreHeldUntilAccepted(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx, b := t.Context(), storetest.Builtin(t, db, "helper")
		list := func(skill string, want string, tools ...string) {
			t.Helper()
			var shown []builtins.SkillTool
			for _, name := range tools {
				shown = append(shown, builtins.SkillTool{Tool: name, Hash: "h-" + name, Definition: "d-" + name})
			}
			got, err := db.Builtins.PinSkillTools(ctx, b.ID, skill, shown, database.Now())
			if err != nil {
				t.Fatal(err)
			}
			var all []string
			for _, g := range got {
				all = append(all, g.Tool+"="+g.Hash+g.Definition+"/"+g.HeldHash+g.Held)
			}
			if strings.Join(all, " ") != want {
				t.Fatalf("%v, want %s", all, want)
			}
		}
		list("files", "save=h-saved-save/", "save")
		list("files", "save=h-saved-save/ wipe=/h-wiped-wipe", "save", "wipe")
		list("files", "save=h-saved-save/ wipe=/h-wiped-wipe", "save", "wipe")
		list("files", "save=h-saved-save/", "save")
		list("files", "save=h-saved-save/ wipe=/h-wiped-wipe", "wipe")
		if err := db.Builtins.AcceptSkillTool(ctx, b.ID, "files", "wipe", "h-wipe", database.Now()); err != nil {
			t.Fatal(err)
		}
		list("files", "save=h-saved-save/ wipe=h-wiped-wipe/", "save", "wipe")
		list("files", "save=h-saved-save/ wipe=h-wiped-wipe/")

		list("late", "")
		list("late", "wipe=/h-wiped-wipe", "wipe")
		if err := db.Builtins.ForgetSkill(ctx, b.ID, "late"); err != nil {
			t.Fatal(err)
		}
		list("late", "wipe=h-wiped-wipe/", "wipe")
	})
}

// TestSkillIsForgotten: what is held is counted for its owner, and a skill
// that is taken away leaves nothing that another of its name could inherit.
func TestSkillIsForgotten(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx, b := t.Context(), storetest.Builtin(t, db, "helper")
		other := storetest.Builtin(t, db, "other")
		inst, err := db.Instances.Get(ctx, b.ID)
		if err != nil {
			t.Fatal(err)
		}
		done, err := db.Agents.Sync(ctx, inst, []beeos.Definition{{Name: "helper"}})
		if err != nil {
			t.Fatal(err)
		}
		agent := done.IDs()["helper"]
		for _, skill := range []string{"files", "mail"} {
			for _, hash := range []string{"1", "2"} {
				if _, err := db.Builtins.PinSkillTools(ctx, b.ID, skill, []builtins.SkillTool{{Tool: "save", Hash: hash}}, database.Now()); err != nil {
					t.Fatal(err)
				}
			}
			err := errors.Join(
				db.Builtins.PutSkillToken(ctx, b.ID, skill, "r", "i", []byte("x"), database.Now()),
				db.Approvals.SetRules(ctx, []approvals.Rule{{AgentID: agent, Skill: skill, Mode: approvals.ModeAuto}, {AgentID: agent, Skill: skill, Tool: "save", Mode: approvals.ModeAsk}}))
			if err != nil {
				t.Fatal(err)
			}
		}
		held, err := db.Builtins.CountHeldSkillTools(ctx, b.OwnerID)
		if err != nil || len(held) != 1 || held[b.ID] != 2 {
			t.Errorf("%v, %v", held, err)
		}
		if held, err := db.Builtins.CountHeldSkillTools(ctx, other.OwnerID); err != nil || len(held) != 0 {
			t.Errorf("another's: %v, %v", held, err)
		}
		if err := db.Builtins.ForgetSkill(ctx, b.ID, "files"); err != nil {
			t.Fatal(err)
		}
		tools, err := db.Builtins.ListSkillTools(ctx, b.ID, "")
		if err != nil || len(tools) != 1 || tools[0].Skill != "mail" {
			t.Errorf("%+v, %v", tools, err)
		}
		rules, err := db.Approvals.ListRules(ctx, agent)
		if err != nil || len(rules) != 2 || rules[0].Skill != "mail" {
			t.Errorf("%+v, %v", rules, err)
		}
		for skill, want := range map[string]string{"files": "", "mail": "x"} {
			if got, err := db.Builtins.GetSkillToken(ctx, b.ID, skill, "r", "i"); err != nil || string(got) != want {
				t.Errorf("%s: %q, %v", skill, got, err)
			}
		}
	})
}

func TestTokensHaveOneResourceAndIssuer(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx, b := t.Context(), storetest.Builtin(t, db, "helper")
		at := database.Now()
		put := func(resource, issuer, value string) {
			t.Helper()
			at = at.Add(time.Second)
			if err := db.Builtins.PutSkillToken(ctx, b.ID, "files", resource, issuer, []byte(value), at); err != nil {
				t.Fatal(err)
			}
		}
		want := func(resource, issuer, value string) {
			t.Helper()
			got, err := db.Builtins.GetSkillToken(ctx, b.ID, "files", resource, issuer)
			if err != nil || string(got) != value {
				t.Errorf("%s of %s: %q, %v; want %q", resource, issuer, got, err, value)
			}
		}
		put("https://a/mcp", "https://as1", "one")
		put("https://a/mcp", "https://as2", "two")
		put("https://b/mcp", "https://as1", "three")
		put("https://a/mcp", "https://as1", "four")
		want("https://a/mcp", "https://as1", "four")
		want("https://a/mcp", "https://as2", "two")
		want("https://a/mcp", "", "four")
		want("https://b/mcp", "https://as2", "")
		if err := db.Builtins.ForgetSkillTokens(ctx, b.ID, "files"); err != nil {
			t.Fatal(err)
		}
		want("https://a/mcp", "", "")
	})
}

func TestConsentsAreTakenOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx, b := t.Context(), storetest.Builtin(t, db, "helper")
		c := builtins.SkillConsent{BuiltinID: b.ID, Skill: "files", Sealed: []byte("x")}
		for state, expires := range map[string]time.Time{"one": database.Now().Add(time.Minute), "late": database.Now().Add(-time.Minute)} {
			if err := db.Builtins.PutSkillConsent(ctx, state, c, expires); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := db.Builtins.TakeSkillConsent(ctx, "one", database.Now()); err != nil || got.Skill != "files" || string(got.Sealed) != "x" {
			t.Errorf("%+v, %v", got, err)
		}
		for _, state := range []string{"one", "late", "never"} {
			if _, err := db.Builtins.TakeSkillConsent(ctx, state, database.Now()); beeos.CodeOf(err) != beeos.InvalidParam {
				t.Errorf("%s: %v", state, err)
			}
		}
	})
}

// TestOneNodeRunsABuiltin: of several nodes that want it one gets it, and the
// changes of its owner do not take it away.
func TestOneNodeRunsABuiltin(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx, b := t.Context(), storetest.Builtin(t, db, "helper")
		claim := func(from, to string, want bool) {
			t.Helper()
			if ok, err := db.Builtins.Claim(ctx, b.ID, from, to); err != nil || ok != want {
				t.Fatalf("from %q to %q: %v, %v", from, to, ok, err)
			}
		}
		claim("", "one", true)
		claim("", "two", false)
		if ok, err := db.Builtins.Update(ctx, b, b.UpdatedAt); err != nil || !ok {
			t.Fatal(ok, err)
		}
		claim("two", "", false)
		claim("one", "two", true)
		if got, err := db.Builtins.Get(ctx, "", b.ID); err != nil || got.Node != "two" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}
