package web

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/store/grants"
	keystore "github.com/beeos/beeos/internal/store/keys"
	"github.com/beeos/beeos/internal/store/people"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
	"github.com/beeos/beeos/test/pagetest"
)

// fixture is a page's data with n rows in each of its lists.
func fixture(s *Surface, n int) map[string]any {
	now := time.Now()
	agentRows := pagetest.Repeat(n, func(i int) page.AgentRow {
		return page.AgentRow{ID: fmt.Sprint("agent_", i), Name: "a", Slug: "a", Title: fmt.Sprint("Agent ", i), Text: "Does things.", Online: i%2 == 0, Active: i%3 > 0, Visibility: beeos.VisiblePrivate, Skills: i}
	})
	calls := pagetest.Repeat(n, func(i int) page.CallRow {
		return page.CallRow{ID: fmt.Sprint("turn", i), At: now.Add(-time.Duration(i) * time.Hour), Surface: "mcp", Caller: "you", AgentID: "agent_0", Agent: "Agent", What: "add", Outcome: "ok", Mood: "good", Took: time.Duration(i) * time.Millisecond}
	})
	keys := keysData{Path: "/keys", REST: "http://rest", Keys: pagetest.Repeat(n, func(i int) beeos.Key {
		return beeos.Key{ID: fmt.Sprint("k", i), Name: "key", Prefix: "oag_12345678", LastUsedAt: now, ExpiresAt: now.Add(time.Hour)}
	})}
	agent := &beeos.Agent{ID: "agent_0", Name: "a", Slug: "a", Visibility: beeos.VisiblePrivate}
	return map[string]any{
		"home": homeData{
			Agents: agentRows, Total: n, Calls: calls, Activity: activityFixture(n), Steps: s.listSteps(homeData{Agents: agentRows}),
			Needs: pagetest.Repeat(n, func(i int) need { return need{"Agent is offline.", "/agents", "Open"} }),
		},
		"agents": agentsData{Agents: agentRows, Total: n, Next: "/agents?from=50"},
		"agent": agentData{
			Agent: agent, Row: page.AgentRow{ID: "agent_0", Title: "A"}, Facts: listFacts(agent, page.AgentRow{}), Activity: activityFixture(n), Calls: calls, Snippets: s.listSnippets(agent, ""),
			Card: []*cardData{nil, {URL: "http://a2a/card", Signed: true, Whole: "{}"}, {URL: "http://a2a/card", Whole: "{}", Redacted: "{}"}}[min(n, 2)],
		},
		"agent_access": accessData{
			Agent: agent, Row: page.AgentRow{ID: "agent_0", Title: "A", Builtin: n == 1}, Visibilities: visibilityChoices, Keys: keys, Snippets: s.listKeySnippets(agent, strings.Repeat("bak_x", n%2)),
			Rules: skillsFixture(n).Rules,
		},
		"agent_settings": settingsData{
			Agent: agent, Row: page.AgentRow{ID: "agent_0", Title: "A"},
			Builtin: []*builtinData{nil, {ID: "agent_0"}, {ID: "agent_0", Minutes: 10, Stopped: true}}[min(n, 2)],
		},
		"new_agent":       newData{Definition: builtin.Definition{Name: "clerk", Prompt: "Be <brief>."}, HasModel: n > 0},
		"delete_agent":    page.AgentRow{ID: "agent_0", Title: "A"},
		"authorize_skill": authorizeData{"files", "login.example", "https://login.example/authorize?x=1", "/agents/agent_0/skills"},
		"skills":          skillsFixture(n),
		"approvals": approvalsData{History: n == 60, Next: "/approvals/history?before=x", Rows: pagetest.Repeat(n, func(i int) page.ApprovalCard {
			return page.ApprovalCard{ID: fmt.Sprint("p", i), Tool: "save_csv", Agent: "A", Caller: "you", Arguments: safetext.Pieces("{\n  \"a\": \"⟨U+202E⟩\"\n}"), At: now, Until: now, Open: n < 60, State: "approved", Mood: "good", By: "you", Via: "rest"}
		})},
		"approval_link": linkData{Token: "t", Row: page.ApprovalCard{Tool: "save_csv", Open: n > 0}, Head: "Approved", Text: "Done."},
		"keys":          keys,
		"marketplace": marketData{Next: "/marketplace?after=x", OwnerID: strings.Repeat("u", n%2), Owner: "Ann", Offers: pagetest.Repeat(n, func(i int) offerRow {
			return offerRow{agentRows[i], "Ann <b>", i%2 == 0}
		})},
		"offer": offerData{
			offerRow: offerRow{page.AgentRow{ID: "agent_0", Title: "A", Chats: n > 0}, "Ann", n == 1}, MCP: strings.Repeat("http://mcp", n%2), REST: "http://rest",
			Snippets: s.listOfferSnippets(agent), Offered: pagetest.Repeat(n, func(i int) offeredSkill { return offeredSkill{fmt.Sprint("skill", i), "Does things."} }),
		},
		"apps": appsData{Apps: pagetest.Repeat(n, func(i int) appRow {
			return appRow{Grant: grants.Grant{ID: fmt.Sprint("g", i), CreatedAt: now, All: i%2 == 0}, Name: "Claude", Host: "claude.ai", Agents: pagetest.Repeat(n, func(i int) appAgent { return appAgent{fmt.Sprint("agent_", i), "A"} })}
		})},
		"account": accountData{HasPassword: true, This: "l0", Logins: pagetest.Repeat(n, func(i int) people.Login {
			return people.Login{ID: fmt.Sprint("l", i), Device: "Firefox on Linux", Address: "127.0.0.1", SeenAt: now}
		})},
		"users": usersData{
			Me: "u0",
			Users: pagetest.Repeat(n, func(i int) beeos.User {
				return beeos.User{ID: fmt.Sprint("u", i), Name: "Ann", Email: "ann@example.com"}
			}),
			Invitations: pagetest.Repeat(n, func(i int) people.Link {
				return people.Link{ID: fmt.Sprint("i", i), Email: "bob@example.com", ExpiresAt: now}
			}),
		},
		"audit": auditData{Rows: pagetest.Repeat(n, func(i int) auditRow {
			return auditRow{ID: fmt.Sprint("r", i), Actor: "you", Action: "key.create", Subject: "k", At: now, Detail: []auditDetail{{"name", "n8n"}}}
		})},
	}
}

// skillsFixture is a built-in agent with n servers that have n tools; with 60,
// too, of which every other has changed.
func skillsFixture(n int) skillsData {
	tools := pagetest.Repeat(min(n, 5), func(i int) toolRow {
		return toolRow{Skill: "files", Tool: fmt.Sprint("tool", i), Title: "tool", Text: safetext.Pieces("Saves.⟨U+202E⟩"), Schema: safetext.Pieces("{}"), Destructive: i%2 == 0, Hidden: i%3 == 0, Mode: approvals.ModeAsk, Default: approvals.ModeAuto}
	})
	return skillsData{
		Row: page.AgentRow{ID: "agent_0", Title: "A", Builtin: true, Stopped: n == 1}, Rules: rulesData{Path: "/agents/agent_0/approvals", Minutes: n, Tools: tools},
		Add: addData{Path: "/agents/agent_0/skills", Commands: pagetest.Repeat(n, func(i int) string { return fmt.Sprint("command", i) }), Open: n == 0, How: "own"},
		Servers: pagetest.Repeat(n, func(i int) serverRow {
			return serverRow{
				Path: "/agents/agent_0/skills/files", Name: fmt.Sprint("files", i), Where: "https://files.example/mcp", State: "working", Mood: "good",
				Trouble: strings.Repeat("Down.", i%3), Detail: "<b>", Consent: i%4 == 0, Agreed: i%2 == 1, Issuer: strings.Repeat("https://login.example", i%2), Tools: tools,
				Held: pagetest.Repeat(i%2, func(int) heldRow {
					return heldRow{Title: "save", Hash: "abc", Changes: safetext.Compare("a\nb\nc\nd\ne", "a\nb\nc\nd\nf")}
				}),
			}
		}),
	}
}

func TestEveryPageRendersEmptyOneAndMany(t *testing.T) {
	s := newStack(t).site
	pagetest.RenderAll(t, s.Server, templates, func(n int) map[string]any { return fixture(s, n) }, map[string]string{
		"home": `data-call="`, "agents": `data-agent="`, "agent": `data-call="`, "agent_access": `data-key="`, "keys": `data-key="`, "apps": `data-grant="`,
		"account": `data-login="`, "users": `data-user="`, "skills": `data-skill="`, "audit": `data-audit="`, "marketplace": `data-offer="`,
	})
}

func TestRoomsAnswer(t *testing.T) {
	k := newStack(t)
	ann, bob := k.user("Ann", true), k.user("Bob", false)
	agents := k.agents(ann, 60)
	k.online[agents[0].ID] = true
	o := &ledger.Opening{
		Channel: beeos.Channel{ID: beeos.NewChannelID(), AgentID: agents[0].ID, Owner: "user:" + bob.ID, Kind: beeos.KindInvoke, SingleShot: true}, Fresh: true,
		Message: beeos.Message{ID: beeos.NewID(), Type: beeos.ChatMessage, Publisher: "user:" + bob.ID, Payload: []byte(`{"protocol":"mcp","tool":"forecast"}`)},
		Delivery: &ledger.Delivery{
			AgentID: agents[0].ID, Mode: beeos.DeliverPush, Redelivery: beeos.RedeliverAlways, LeaseUntil: time.Now().Add(time.Minute),
		},
		Surface: "mcp", Tool: "forecast",
	}
	o.Message.Channel = o.Channel.ID
	if _, _, err := k.ledger.BeginRequest(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	rooms := []string{
		"/", "/?range=7d", "/?range=nonsense", "/approvals", "/approvals/history", "/approvals/channels", "/agents", "/agents?q=agent-1", "/agents?from=50", "/marketplace", "/marketplace?q=x", "/apps", "/keys", "/account", "/audit", "/users", "/audit?of=everyone", "/calls", "/calls?outcome=problems&last=24h&slower=1s&agent=" + agents[0].ID, "/calls/" + o.Message.ID, "/agents/" + agents[0].ID, "/agents/" + agents[0].ID + "?range=1h",
		"/agents/" + agents[0].ID + "/tools", "/agents/" + agents[0].ID + "/health", "/agents/" + agents[0].ID + "/access", "/agents/" + agents[0].ID + "/settings",
		"/tasks", "/tasks?state=ended", "/conversations", "/conversations?q=x", "/webhooks", "/webhooks?only=problems", "/usage", "/usage?by=day&days=90", "/usage/export?by=credential", "/budgets", "/system",
	}
	full, empty := k.signedIn(ann), k.signedIn(bob)
	for _, room := range rooms {
		if res := full.get(room); res.status != http.StatusOK {
			t.Errorf("%s: %d %s", room, res.status, res.body)
		}
		want := http.StatusOK
		switch {
		case room == "/users", room == "/system":
			want = http.StatusForbidden
		case strings.HasPrefix(room, "/agents/"), strings.HasPrefix(room, "/calls/"), strings.HasPrefix(room, "/calls?"):
			want = http.StatusNotFound
		}
		if res := empty.get(room); res.status != want {
			t.Errorf("%s as a newcomer: %d, want %d", room, res.status, want)
		}
		if res := k.browser().get(room); res.status != http.StatusSeeOther || !strings.HasPrefix(res.location(), "/signin") {
			t.Errorf("%s signed out: %d to %q", room, res.status, res.location())
		}
	}
	for from, want := range map[string]string{
		"/agents/" + agents[0].ID + "/keys": "/agents/" + agents[0].ID + "/access#keys", "/agents/" + agents[0].ID + "/stopped": "/agents/" + agents[0].ID + "/settings",
		"/account/password": "/account", "/users/x/reset": "/users",
	} {
		if res := full.get(from); res.status != http.StatusSeeOther || res.location() != want {
			t.Errorf("%s leads to %q, not %q", from, res.location(), want)
		}
	}
	home := full.get("/").body
	for _, want := range []string{`data-call="` + o.Message.ID + `"`, "Bob", "forecast", "working", "1<small> of 60"} {
		if !strings.Contains(home, want) {
			t.Errorf("Ann's home lacks %q", want)
		}
	}
	if body := empty.get("/").body; strings.Contains(body, o.Message.ID) {
		t.Error("Bob sees a call to Ann's agent, though it was he who called") // it is the owner's page
	}
	if body := empty.get("/agents").body; !strings.Contains(body, "beeos agent new") {
		t.Error("an empty list of agents does not say what to do next")
	}
	if res := full.get("/nowhere"); res.status != http.StatusNotFound || !strings.Contains(res.body, "Nothing here") {
		t.Errorf("a page that is not there: %d %s", res.status, res.body)
	}
}

func TestKeysAreShownOnce(t *testing.T) {
	k := newStack(t)
	ann := k.user("Ann", false)
	a := k.agents(ann, 1)[0]
	revoked := []string{}
	k.bus.OnControl(func(c bus.Control) {
		if c.Kind == bus.KeyRevoked {
			revoked = append(revoked, c.ID)
		}
	})
	b := k.signedIn(ann)
	for _, page := range []string{"/keys", "/agents/" + a.ID} {
		path, prefix := "/keys", beeos.UserKeyPrefix
		if page != path {
			path, prefix, page = page+"/keys", beeos.AgentKeyPrefix, page+"/access"
		}
		if res := b.post(path, map[string][]string{"name": {" "}}); res.status != http.StatusBadRequest || !strings.Contains(res.body, "give the key a name") && !strings.Contains(res.body, "Give the key a name") {
			t.Errorf("%s without a name: %d", path, res.status)
		}
		res := b.post(path, map[string][]string{"name": {"n8n"}, "days": {"30"}})
		at := strings.Index(res.body, `data-copy="`+prefix)
		if res.status != http.StatusOK || at < 0 {
			t.Fatalf("%s made no key: %d %s", path, res.status, res.body)
		}
		secret := res.body[at+len(`data-copy="`):][:68]
		keys, err := k.db.Keys.List(t.Context(), keystore.Filter{Owner: ann.ID})
		if err != nil || len(keys) == 0 {
			t.Fatal(keys, err)
		}
		key := keys[len(keys)-1]
		if body := b.get(page).body; strings.Contains(body, secret) || !strings.Contains(body, key.Prefix) {
			t.Errorf("%s shows a key again, or not at all", page)
		}
		if res := b.post(path+"/"+key.ID+"/revoke", nil); res.status != http.StatusSeeOther || !slices.Contains(revoked, key.ID) {
			t.Errorf("revoking gave %d, told %v", res.status, revoked)
		}
		if res := b.post(path+"/"+key.ID+"/revoke", nil); res.status != http.StatusNotFound {
			t.Errorf("revoking twice gave %d", res.status)
		}
	}
}

// TestKeysAreLimited: when they are made, and later.
func TestKeysAreLimited(t *testing.T) {
	k := newStack(t)
	ann := k.user("Ann", false)
	a := k.agents(ann, 1)[0]
	b, bob := k.signedIn(ann), k.signedIn(k.user("Bob", false))
	for _, page := range []string{"/keys", "/agents/" + a.ID} {
		path, list := page, ""
		if page != "/keys" {
			path, list = path+"/keys", "/access"
		}
		newest := func() beeos.Key {
			t.Helper()
			keys, err := k.db.Keys.List(t.Context(), keystore.Filter{Owner: ann.ID})
			if err != nil || len(keys) == 0 {
				t.Fatal(keys, err)
			}
			return keys[len(keys)-1]
		}
		if res := b.post(path, map[string][]string{"name": {"ci"}, "rate": {"soon"}}); res.status != http.StatusBadRequest {
			t.Errorf("%s, no number: %d", path, res.status)
		}
		if res := b.post(path, map[string][]string{"name": {"ci"}, "rate": {"12"}}); res.status != http.StatusOK || newest().RatePerMinute != 12 {
			t.Errorf("%s: %d, %+v", path, res.status, newest())
		}
		form := path + "/" + newest().ID + "/limit"
		for _, rate := range []string{"7", ""} {
			res := b.post(form, map[string][]string{"rate": {rate}})
			if want, _ := strconv.Atoi(rate); res.status != http.StatusSeeOther || !strings.HasPrefix(res.location(), page+list+"?") || newest().RatePerMinute != want {
				t.Errorf("%s to %q: %d to %q, %+v", form, rate, res.status, res.location(), newest())
			}
		}
		if res := b.post(form, map[string][]string{"rate": {"-4"}}); res.status != http.StatusBadRequest || !strings.Contains(res.body, "leave the field empty") {
			t.Errorf("%s below nothing: %d", form, res.status)
		}
		if res := bob.post(form, map[string][]string{"rate": {"4"}}); res.status != http.StatusNotFound {
			t.Errorf("%s by somebody else: %d", form, res.status)
		}
	}
}

func TestAgentSettings(t *testing.T) {
	k := newStack(t)
	ann, bob := k.user("Ann", false), k.user("Bob", false)
	a := k.agents(ann, 1)[0]
	changed := ""
	k.bus.OnControl(func(c bus.Control) {
		if c.Kind == bus.AgentChanged {
			changed = c.AgentID
		}
	})
	page := "/agents/" + a.ID
	access := map[string][]string{"visibility": {"public"}}
	for _, form := range []string{"/access", "/settings"} {
		if res := k.signedIn(bob).post(page+form, access); res.status != http.StatusNotFound {
			t.Errorf("somebody else's agent: %d", res.status)
		}
	}
	b := k.signedIn(ann)
	if res := b.post(page+"/access", access); res.location() != page+"/access?did=saved" || changed != a.ID {
		t.Errorf("saving gave %d, told %q", res.status, changed)
	}
	if res := b.post(page+"/settings", map[string][]string{"self": {"on"}, "title": {" My parrot "}}); res.location() != page+"/settings?did=saved" {
		t.Errorf("renaming gave %d", res.status)
	}
	got, err := k.db.Agents.Get(t.Context(), a.ID)
	if err != nil || got.Visibility != beeos.VisiblePublic || got.MCPEnabled || !got.SelfTool {
		t.Errorf("the agent is %+v, %v", got, err)
	}
	if body := b.get(page + "/settings").body; !strings.Contains(body, "<h1>My parrot</h1>") || !strings.Contains(body, `name="title" maxlength="60" value="My parrot"`) {
		t.Errorf("renamed: %s", body)
	}
	for rate, want := range map[string]int{"30": 30, "": 0} {
		access["rate"] = []string{rate}
		if res := b.post(page+"/access", access); res.status != http.StatusSeeOther {
			t.Errorf("a limit of %q gave %d", rate, res.status)
		}
		if got, err := k.db.Agents.Get(t.Context(), a.ID); err != nil || got.RateLimit != want || got.Title != "My parrot" {
			t.Errorf("a limit of %q: %+v, %v", rate, got, err)
		}
	}
	for _, bad := range []string{"-1", "many", "1000001", "99999999999999999999"} {
		access["rate"] = []string{bad}
		if res := b.post(page+"/access", access); res.status != http.StatusBadRequest || !strings.Contains(res.body, "leave the field empty") {
			t.Errorf("a limit of %q gave %d", bad, res.status)
		}
	}
	if res := b.post(page+"/access", map[string][]string{"visibility": {"nobody"}}); res.status != http.StatusBadRequest || !strings.Contains(res.body, `role="alert"`) {
		t.Errorf("a visibility that does not exist: %d", res.status)
	}
}

// TestAgentTabs: what is about an agent is on pages with addresses of their own,
// each of which says which it is; the address of a form leads to its page.
func TestAgentTabs(t *testing.T) {
	k := newStack(t)
	ann, bob := k.user("Ann", false), k.user("Bob", false)
	a := k.agents(ann, 1)[0]
	me, him, base := k.signedIn(ann), k.signedIn(bob), "/agents/"+a.ID
	for _, tab := range []string{"", "/access", "/settings"} {
		body := me.get(base + tab).body
		if lit := `<a href="` + base + tab + `" aria-current="page">`; strings.Count(body, lit) != 1 {
			t.Errorf("%s does not say that it is lit: %s", tab, body)
		}
		if !strings.Contains(body, `href="/calls?agent=`+a.ID+`"`) || strings.Contains(body, base+`/skills"`) {
			t.Errorf("the tabs of %s: %s", tab, body)
		}
		if res := him.get(base + tab); res.status != http.StatusNotFound {
			t.Errorf("%s of somebody else: %d", tab, res.status)
		}
	}
	for form, page := range map[string]string{"/keys": "/access#keys", "/approvals": "/access#approvals", "/skills": "/access#approvals", "/builtin": "/settings", "/stopped": "/settings"} {
		if res := me.get(base + form); res.location() != base+page {
			t.Errorf("%s leads to %s", form, res.location())
		}
	}
}
