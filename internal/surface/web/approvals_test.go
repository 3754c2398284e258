package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/approval"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/store/storetest"
)

// asks lets an agent ask for a tool call.
func (k *stack) asks(a *beeos.Agent, caller, turn, arguments string) approvals.Approval {
	k.t.Helper()
	return k.storeQuestion(a, beeos.Frame{MessageID: turn}, caller, "save_csv", arguments)
}

// storeQuestion stores what an agent asks about a tool of its files.
func (k *stack) storeQuestion(a *beeos.Agent, f beeos.Frame, caller, tool, arguments string) approvals.Approval {
	k.t.Helper()
	q := storetest.Question(a.OwnerID, f.MessageID, arguments, time.Now())
	q.AgentID, q.Caller, q.Channel, q.Skill, q.Tool = a.ID, "user:"+caller, f.ChannelID, "files", tool
	q.ExpiresAt = q.CreatedAt.Add(approval.Timeout)
	row, _, err := k.db.Approvals.Ask(k.t.Context(), q, tool)
	if err != nil {
		k.t.Fatal(err)
	}
	return row
}

func (k *stack) state(id string) approvals.State {
	k.t.Helper()
	a, err := k.db.Approvals.Get(k.t.Context(), id)
	if err != nil {
		k.t.Fatal(err)
	}
	return a.State
}

// TestInbox: a person sees what is asked, all of it, and decides once.
func TestInbox(t *testing.T) {
	k := newStack(t)
	ann, bob := k.user("Ann", false), k.user("Bob", false)
	agent := k.agents(ann, 1)[0]
	a := k.asks(agent, bob.ID, "turn 1", "{\"name\": \"\u202egnp.csv\", \"html\": \"<script>\", \"esc\": \"\\u001b\"}")
	b := k.asks(agent, bob.ID, "turn 2", `{}`)
	me := k.signedIn(ann)
	page := me.get("/approvals").body
	for _, want := range []string{
		"files / save_csv", "Agent 0, called by Bob", `<mark class="odd" title="a character that cannot be seen">⟨U&#43;202E⟩</mark>gnp.csv`,
		"&lt;script&gt;", `\u001b`, `<span class="badge">2<span`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the inbox has no %s", want)
		}
	}
	if home := me.get("/").body; !strings.Contains(home, "Agent 0 wants to call files / save_csv.") {
		t.Error("Home does not say that something waits")
	}
	if res := me.post("/approvals/"+a.ID+"/approve", url.Values{}); res.location() != "/approvals?did=approved" || k.state(a.ID) != approvals.Approved {
		t.Errorf("approve: %d %s", res.status, res.body)
	}
	if res := me.post("/approvals/"+a.ID+"/reject", url.Values{}); res.status != http.StatusConflict || !strings.Contains(res.body, "approved already") {
		t.Errorf("a second decision: %d", res.status)
	}
	if res := me.post("/approvals/"+b.ID+"/reject", url.Values{"reason": {"not <b>today"}}); res.location() != "/approvals?did=rejected" {
		t.Errorf("reject: %d", res.status)
	}
	history := me.get("/approvals/history").body
	for _, want := range []string{"approved, not used", "rejected", "not &lt;b&gt;today", `data-approval="` + a.ID, "<span>you</span> <span class=\"tag\">console</span>"} {
		if !strings.Contains(history, want) {
			t.Errorf("the history has no %s", want)
		}
	}
	if strings.Contains(me.get("/approvals").body, `class="badge"`) {
		t.Error("there is a badge and nothing waits")
	}
}

// TestInboxIsMine: somebody else's approvals do not exist, unless one is an
// admin.
func TestInboxIsMine(t *testing.T) {
	k := newStack(t)
	ann, bob, boss := k.user("Ann", false), k.user("Bob", false), k.user("Boss", true)
	a := k.asks(k.agents(ann, 1)[0], bob.ID, "turn", `{}`)
	him := k.signedIn(bob)
	if strings.Contains(him.get("/approvals").body, a.ID) || strings.Contains(him.get("/").body, "save_csv") {
		t.Error("a stranger sees it")
	}
	for _, how := range []string{"approve", "reject"} {
		if res := him.post("/approvals/"+a.ID+"/"+how, url.Values{}); res.status != http.StatusNotFound {
			t.Errorf("a stranger's %s: %d", how, res.status)
		}
	}
	cross := http.Header{"Sec-Fetch-Site": {"cross-site"}, "Origin": {"https://evil.example"}}
	if res := k.signedIn(ann).do(http.MethodPost, "/approvals/"+a.ID+"/approve", url.Values{}, cross); res.status != http.StatusForbidden {
		t.Errorf("another site's form: %d", res.status)
	}
	if k.state(a.ID) != approvals.Pending {
		t.Fatal("it was decided")
	}
	if res := k.signedIn(boss).post("/approvals/"+a.ID+"/approve", url.Values{}); res.status != http.StatusSeeOther || k.state(a.ID) != approvals.Approved {
		t.Errorf("an admin: %d", res.status)
	}
}

// TestApprovalLinkPage: to look decides nothing, a form decides once, and
// nothing but the one approval is shown.
func TestApprovalLinkPage(t *testing.T) {
	k := newStack(t)
	ann := k.user("Ann", false)
	agent := k.agents(ann, 1)[0]
	a := k.asks(agent, ann.ID, "turn", `{"name": "a.csv"}`)
	link, err := k.desk.Link(t.Context(), &a, ann.ID)
	if err != nil {
		t.Fatal(err)
	}
	stranger := k.browser()
	for range 3 { // scanners
		page := stranger.get(link)
		if page.status != http.StatusOK || !strings.Contains(page.body, "a.csv") || !strings.Contains(page.body, "files / save_csv") || strings.Contains(page.body, "/approvals/live") {
			t.Fatalf("%d %s", page.status, page.body)
		}
	}
	token := form(stranger.get(link).body, "main").Get("token")
	for _, bad := range []url.Values{{"token": {token}}, {"token": {token}, "decision": {"perhaps"}}, {"token": {token + "x"}, "decision": {"approve"}}, {"decision": {"approve"}}} {
		if res := stranger.post("/approve", bad); res.status < 400 {
			t.Errorf("%v: %d", bad, res.status)
		}
	}
	if k.state(a.ID) != approvals.Pending {
		t.Fatal("it was decided")
	}
	if res := stranger.post("/approve", url.Values{"token": {token}, "decision": {"approve"}}); res.status != http.StatusOK || !strings.Contains(res.body, "<h1>Approved</h1>") {
		t.Fatalf("%d %s", res.status, res.body)
	}
	if res := stranger.post("/approve", url.Values{"token": {token}, "decision": {"reject"}}); res.status != http.StatusConflict || strings.Contains(res.body, "a.csv") || !strings.Contains(res.body, "Decided by whoever had the link") {
		t.Errorf("the link works twice: %d %s", res.status, res.body)
	}
	if res := stranger.get(link); res.status != http.StatusOK || !strings.Contains(res.body, "Decided by whoever had the link") {
		t.Errorf("the link afterwards: %d %s", res.status, res.body)
	}
	if got, err := k.db.Approvals.Get(t.Context(), a.ID); err != nil || got.DecidedBy != "link" || got.State != approvals.Approved {
		t.Errorf("%+v %v", got, err)
	}
}

// TestRulesOnAccessPage: the owner sets who is asked, for the agent and for
// each tool.
func TestRulesOnAccessPage(t *testing.T) {
	k := newStack(t)
	ann, bob := k.user("Ann", false), k.user("Bob", false)
	agent := k.agents(ann, 1)[0]
	k.asks(agent, ann.ID, "turn", `{}`)
	me, path := k.signedIn(ann), "/agents/"+agent.ID+"/approvals"
	page := me.get("/agents/" + agent.ID + "/access").body
	for _, want := range []string{`<code>forecast</code>`, "Tomorrow&#39;s weather.", `<code>files / save_csv</code>`} { // declared, and asked about
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	set := url.Values{"all": {"ask"}, "minutes": {"10"}, "skill": {"", "files"}, "tool": {"forecast", "save_csv"}, "mode": {"auto", ""}}
	if res := me.post(path, set); res.status != http.StatusSeeOther {
		t.Fatalf("%d %s", res.status, res.body)
	}
	rules, err := k.db.Approvals.ListRules(t.Context(), agent.ID)
	if err != nil || len(rules) != 2 || rules[0].Mode != approvals.ModeAsk || rules[1].Tool != "forecast" || rules[1].Mode != approvals.ModeAuto {
		t.Errorf("%+v %v", rules, err)
	}
	for _, bad := range []url.Values{{"all": {"perhaps"}}, {"minutes": {"x"}}, {"minutes": {"90"}}, {"tool": {"a"}, "skill": {"", ""}, "mode": {""}}} {
		if res := me.post(path, bad); res.status < 400 || res.status >= 500 {
			t.Errorf("%v: %d", bad, res.status)
		}
	}
	// A form with some tools leaves the others, and the agent's own rule, alone.
	if res := me.post(path, url.Values{"skill": {"files"}, "tool": {""}, "mode": {"auto"}}); res.location() != "/agents/"+agent.ID+"/access?did=saved" {
		t.Fatalf("%d %s", res.status, res.body)
	}
	if rules, err = k.db.Approvals.ListRules(t.Context(), agent.ID); err != nil || len(rules) != 3 || rules[0].Timeout != 10*time.Minute || rules[2].Skill != "files" {
		t.Errorf("%+v %v", rules, err)
	}
	if res := k.signedIn(bob).post(path, set); res.status != http.StatusNotFound {
		t.Errorf("a stranger's: %d", res.status)
	}
}

// TestBadgeIsLive: whatever page is open, its stream has the badge.
func TestBadgeIsLive(t *testing.T) {
	k := newStack(t)
	ann := k.user("Ann", false)
	agent := k.agents(ann, 1)[0]
	me := k.signedIn(ann)
	for _, path := range []string{"/approvals/badge/live", "/approvals/live", "/live"} {
		events := me.follow(t.Context(), path, "")
		if e := next(t, events); strings.Contains(e.data, `class="badge"`) {
			t.Errorf("%s: a badge at first: %s", path, e.data)
		}
		a := k.asks(agent, ann.ID, path, `{}`)
		if e := next(t, events); !strings.Contains(e.data, `<hx-partial hx-target="#badge"`) || !strings.Contains(e.data, `<span class="badge">1<`) {
			t.Errorf("%s: no badge: %s", path, e.data)
		}
		if _, err := k.desk.Decide(t.Context(), a.ID, approval.Decider{User: ann}, false, ""); err != nil {
			t.Fatal(err)
		}
	}
}
