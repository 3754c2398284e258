package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/outward/llm"
	"github.com/beeos/beeos/internal/wire/outbound"
)

// withRuntime lets the console make built-in agents. Nothing runs them: they
// stay on their way.
func (k *stack) withRuntime(model llm.Model, commands map[string][]string) {
	k.t.Helper()
	rt, err := builtin.New(k.t.Context(), builtin.Options{
		Agents: k.db.Agents, Builtins: k.db.Builtins, Cluster: k.db.Cluster, Model: model, Gateway: "http://127.0.0.1:1", Folder: k.t.TempDir(), HTTP: outbound.Transport(outbound.Options{AllowPrivate: true}), Plain: true, Console: k.web, Commands: commands,
	})
	if err != nil {
		k.t.Fatal(err)
	}
	k.site.Acts.Builtins = rt
}

// make creates a built-in agent with the form and returns it.
func (b *browser) make(u beeos.User, name string) *beeos.Agent {
	t := b.k.t
	t.Helper()
	if res := b.post("/agents", url.Values{"name": {name}, "prompt": {"Be brief."}}); res.status != http.StatusSeeOther {
		t.Fatalf("%d %s", res.status, res.body)
	}
	a, err := b.k.db.Agents.GetByName(t.Context(), u.ID, name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// audited returns what somebody did, the newest first.
func (k *stack) audited(owner string) (list []string) {
	k.t.Helper()
	rows, err := k.db.Audit.List(k.t.Context(), owner, 100)
	if err != nil {
		k.t.Fatal(err)
	}
	for _, r := range rows {
		list = append(list, r.Action)
	}
	return list
}

func TestNewAgent(t *testing.T) {
	k := newStack(t)
	ann := k.user("Ann", false)
	me := k.signedIn(ann)
	k.withRuntime(nil, nil)
	if page := me.get("/agents/new").body; !strings.Contains(page, "<code>LLM_MODEL</code>") {
		t.Error("nothing says that there is no model")
	}
	good := url.Values{"name": {"clerk"}, "description": {"Files <things>."}, "prompt": {"Be\r\nbrief."}, "model": {"gpt-x"}, "url": {"https://mcp.files.example/mcp"}}
	for name, change := range map[string]url.Values{
		"no name": {"name": {" "}}, "no prompt": {"prompt": {""}}, "a long prompt": {"prompt": {strings.Repeat("x", 9000)}},
		"no address": {"url": {"javascript:alert(1)"}}, "a bad skill name": {"skill": {"Files!"}}, "a name with marks": {"name": {"cl\u202eerk"}},
	} {
		form := url.Values{}
		for key, values := range good {
			form[key] = values
		}
		for key, values := range change {
			form[key] = values
		}
		res := me.post("/agents", form)
		if res.status < 400 || res.status >= 500 || !strings.Contains(res.body, `role="alert"`) || !strings.Contains(res.body, "Files &lt;things&gt;.") {
			t.Errorf("%s: %d, and what was filled in must still be there", name, res.status)
		}
	}
	res := me.post("/agents", good)
	a, err := k.db.Agents.GetByName(t.Context(), ann.ID, "clerk")
	if err != nil || res.location() != "/agents/"+a.ID+"/skills?did=created" {
		t.Fatalf("%d %s, %v", res.status, res.location(), err)
	}
	d, err := k.site.Acts.Builtins.Definition(t.Context(), ann.ID, a.InstanceID)
	if err != nil || d.Prompt != "Be\nbrief." || d.Model != "gpt-x" || len(d.Servers) != 1 || d.Servers[0].Name != "files" || d.Servers[0].AutoApprove {
		t.Errorf("%+v, %v", d, err)
	}
	if page := me.get("/agents/" + a.ID + "/settings").body; !strings.Contains(page, "connecting…") || !strings.Contains(page, "Be\nbrief.</textarea>") {
		t.Errorf("its page: %s", page)
	}
	if page := me.get("/agents").body; !strings.Contains(page, "built in") || !strings.Contains(page, `href="/agents/new"`) {
		t.Error("the list does not say that it is built in")
	}
	if home := me.get("/").body; strings.Contains(home, "clerk is offline") {
		t.Error("Home asks for a process of an agent that needs none")
	}
	if res := me.post("/agents", good); res.status != http.StatusConflict {
		t.Errorf("the same name again: %d", res.status)
	}
}

func TestBuiltinIsChangedStoppedAndDeleted(t *testing.T) {
	k := newStack(t)
	ann := k.user("Ann", false)
	k.withRuntime(llm.Script(func(llm.Request) []llm.Delta { return llm.Say("hi") }), nil)
	me := k.signedIn(ann)
	a := me.make(ann, "clerk")
	path := "/agents/" + a.ID
	if page := me.get(path + "/settings").body; strings.Contains(page, "LLM_MODEL") || !strings.Contains(page, `name="tokens"`) {
		t.Error("the page is about a model that is missing, or has no limits")
	}
	for _, bad := range []url.Values{{"prompt": {""}}, {"prompt": {"x"}, "turns": {"0"}}, {"prompt": {"x"}, "wall": {"90"}}, {"prompt": {"x"}, "calls": {"many"}}} {
		if res := me.post(path+"/builtin", bad); res.status < 400 || res.status >= 500 {
			t.Errorf("%v: %d", bad, res.status)
		}
	}
	if res := me.post(path+"/builtin", url.Values{"prompt": {"Two."}, "turns": {"3"}, "wall": {"2"}}); res.location() != path+"/settings?did=agent-changed" {
		t.Fatalf("%d %s", res.status, res.body)
	}
	d, err := k.site.Acts.Builtins.Definition(t.Context(), ann.ID, a.InstanceID)
	if err != nil || d.Prompt != "Two." || d.Limits.Turns != 3 || d.Limits.Wall.Minutes() != 2 || d.Limits.Calls == 0 {
		t.Errorf("%+v, %v", d, err)
	}
	if res := me.post(path+"/stopped", url.Values{"stopped": {"true"}}); res.location() != path+"/settings?did=agent-stopped" {
		t.Errorf("%d", res.status)
	}
	if page := me.get(path + "/settings").body; !strings.Contains(page, `class="dot">stopped`) || !strings.Contains(page, ">Start</button>") {
		t.Error("the page does not say that it is stopped")
	}
	if res := me.post(path+"/stopped", url.Values{"stopped": {"false"}}); res.location() != path+"/settings?did=agent-started" {
		t.Errorf("%d", res.status)
	}
	if res := me.get(path + "/delete"); res.status != http.StatusOK || !strings.Contains(res.body, "cannot be undone") {
		t.Errorf("%d", res.status)
	}
	if _, err := k.db.Agents.Get(t.Context(), a.ID); err != nil {
		t.Fatal("to look has deleted it")
	}
	if res := me.post(path+"/delete", nil); res.location() != "/agents?did=agent-deleted" {
		t.Errorf("%d %s", res.status, res.body)
	}
	if _, err := k.db.Agents.Get(t.Context(), a.ID); beeos.CodeOf(err) != beeos.AgentNotFound {
		t.Errorf("it is still there: %v", err)
	}
	want := "agent.delete agent.start agent.stop agent.update agent.create"
	if got := strings.Join(k.audited(ann.ID), " "); !strings.HasPrefix(got, want) {
		t.Errorf("audited: %s", got)
	}
	me.make(ann, "clerk") // its name is free
}

// TestBuiltinRoutesAreMine: each route of an agent is closed to others, and
// each form to other sites.
func TestBuiltinRoutesAreMine(t *testing.T) {
	k := newStack(t)
	ann, bob := k.user("Ann", false), k.user("Bob", false)
	k.withRuntime(nil, nil)
	me, him := k.signedIn(ann), k.signedIn(bob)
	a := me.make(ann, "clerk")
	program := k.agents(ann, 1)
	cross := http.Header{"Sec-Fetch-Site": {"cross-site"}, "Origin": {"https://evil.example"}}
	for _, action := range []string{"builtin", "stopped", "delete", "skills", "skills/files/remove", "skills/files/authorize", "skills/files/forget", "skills/files/accept", "approvals"} {
		path := "/agents/" + a.ID + "/" + action
		if res := him.post(path, url.Values{"prompt": {"mine"}, "stopped": {"true"}}); res.status != http.StatusNotFound {
			t.Errorf("a stranger's %s: %d", action, res.status)
		}
		if res := me.do(http.MethodPost, path, url.Values{"prompt": {"mine"}, "stopped": {"true"}}, cross); res.status != http.StatusForbidden {
			t.Errorf("another site's %s: %d", action, res.status)
		}
		if res := k.browser().post(path, nil); res.status != http.StatusSeeOther || !strings.HasPrefix(res.location(), "/signin") {
			t.Errorf("nobody's %s: %d", action, res.status)
		}
		for _, p := range program {
			if p.ID != a.ID && action != "approvals" && action != "delete" {
				if res := me.post("/agents/"+p.ID+"/"+action, url.Values{"prompt": {"mine"}}); res.status != http.StatusNotFound {
					t.Errorf("%s of a program: %d", action, res.status)
				}
			}
		}
	}
	for _, page := range []string{"", "/access", "/settings", "/status/live", "/skills", "/skills/live", "/delete"} {
		if res := him.get("/agents/" + a.ID + page); res.status != http.StatusNotFound {
			t.Errorf("a stranger sees %q: %d", page, res.status)
		}
	}
	b, err := k.db.Builtins.Get(t.Context(), ann.ID, a.InstanceID)
	if err != nil || b.Stopped {
		t.Errorf("somebody did something: %+v %v", b, err)
	}
}

// TestProgramsAreDeletedLikeBuiltins: the page asks first, a stranger gets
// neither, and afterwards the agent is gone.
func TestProgramsAreDeletedLikeBuiltins(t *testing.T) {
	k := newStack(t)
	ann, bob := k.user("Ann", false), k.user("Bob", false)
	me, him := k.signedIn(ann), k.signedIn(bob)
	a := k.agents(ann, 1)[0]
	path := "/agents/" + a.ID
	if res := me.get(path + "/settings"); !strings.Contains(res.body, path+"/delete") {
		t.Error("the agent's page has no way to delete it")
	}
	if res := me.get(path + "/delete"); res.status != http.StatusOK || !strings.Contains(res.body, "goes on running") {
		t.Errorf("the page that asks: %d", res.status)
	}
	if res := him.post(path+"/delete", nil); res.status != http.StatusNotFound {
		t.Errorf("a stranger's delete: %d", res.status)
	}
	if res := me.post(path+"/delete", nil); res.location() != "/agents?did=agent-deleted" {
		t.Errorf("delete: %d, to %s", res.status, res.location())
	}
	if _, err := k.db.Agents.Get(t.Context(), a.ID); beeos.CodeOf(err) != beeos.AgentNotFound {
		t.Errorf("the agent is still there: %v", err)
	}
}
