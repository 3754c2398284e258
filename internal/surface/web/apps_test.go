package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// What was allowed can be narrowed, and taken back, by who allowed it.
func TestAppsAreNarrowedAndRevoked(t *testing.T) {
	k := newStack(t)
	ann, bob := k.user("Ann", false), k.user("Bob", false)
	agents := k.agents(ann, 2)
	b := k.signedIn(ann)
	f := form(b.get(b.authorize(k.register("Claude"), "")).body, "consent")
	f["agent"] = []string{agents[0].ID, agents[1].ID}
	f.Set("decision", "allow")
	if res := b.get(continueURL(t, b.post("/mcp-login", f))); !strings.Contains(res.location(), "code=") {
		t.Fatalf("allowing led to %q", res.location())
	}
	granted := func() []string {
		t.Helper()
		grants, err := k.oauth.ListGrants(t.Context(), ann.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range grants {
			if k.site.isAlive(g) {
				return g.Agents
			}
		}
		return nil
	}
	grants, err := k.oauth.ListGrants(t.Context(), ann.ID)
	if err != nil || len(grants) != 1 || len(granted()) != 2 {
		t.Fatalf("granted: %+v, %v", grants, err)
	}
	path := "/apps/" + grants[0].ID
	if body := b.get("/apps").body; !strings.Contains(body, "Claude") || !strings.Contains(body, "2 agents") {
		t.Error("the app is not listed")
	}
	for _, deed := range []string{"/narrow", "/revoke"} {
		if res := k.signedIn(bob).post(path+deed, url.Values{"agent": {agents[0].ID}}); res.status != http.StatusNotFound || len(granted()) != 2 {
			t.Errorf("somebody else's %s: %d", deed, res.status)
		}
	}
	if res := b.post(path+"/narrow", url.Values{"agent": {agents[1].ID}}); res.status != http.StatusSeeOther || !slices.Equal(granted(), []string{agents[1].ID}) {
		t.Errorf("narrowing: %d, left %v", res.status, granted())
	}
	if res := b.post(path+"/narrow", nil); res.status != http.StatusSeeOther || granted() != nil {
		t.Errorf("narrowing to nothing: %d, left %v", res.status, granted())
	}
	if body := b.get("/apps").body; !strings.Contains(body, "Nothing is connected") {
		t.Error("a revoked app is still listed")
	}
}
