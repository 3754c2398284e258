package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/store/audit"
	keystore "github.com/beeos/beeos/internal/store/keys"
	"github.com/beeos/beeos/internal/store/outbox"
	"github.com/beeos/beeos/internal/store/storetest"
	"github.com/beeos/beeos/internal/store/webhooks"
)

// TestTasks: a person sees what they asked for over any surface, answers what is
// asked about it and cancels it; nobody else does.
func TestTasks(t *testing.T) {
	k := newStack(t)
	ann, bob := k.user("Ann", false), k.user("Bob", false)
	a := k.agents(bob, 1)[0]
	public := beeos.VisiblePublic
	if _, err := k.db.Agents.Update(t.Context(), a.ID, agents.Patch{Visibility: &public}); err != nil {
		t.Fatal(err)
	}
	a, err := k.db.Agents.Get(t.Context(), a.ID)
	if err != nil {
		t.Fatal(err)
	}
	p, me := k.puppet(a), k.signedIn(ann)
	if body := me.get("/tasks").body; !strings.Contains(body, "Nothing is under way") {
		t.Errorf("no tasks: %s", body)
	}
	sent, err := k.calls.Send(t.Context(), invoke.Request{Caller: beeos.Caller{Kind: beeos.ByUserKey, UserID: ann.ID, CredentialID: "k"}, Agent: a, Surface: "rest", Kind: beeos.KindTask, Body: "file <this>"})
	if err != nil {
		t.Fatal(err)
	}
	f, path := p.turn(), "/tasks/"+sent.ID
	if body := me.get("/tasks").body; !strings.Contains(body, `data-task="`+sent.ID+`"`) || !strings.Contains(body, "file &lt;this&gt;") || !strings.Contains(body, "under way") {
		t.Errorf("the list: %s", body)
	}
	for _, other := range []string{path, path + "/live"} {
		if res := k.signedIn(bob).get(other); res.status != http.StatusNotFound {
			t.Errorf("%s of somebody else: %d", other, res.status)
		}
	}
	if res := k.signedIn(bob).post(path+"/cancel", nil); res.status != http.StatusNotFound {
		t.Errorf("somebody else cancels it: %d", res.status)
	}
	p.reply(f, beeos.Message{Type: beeos.AgentInputRequired, Body: "Under which letter?"})
	body := me.get(path).body
	if !strings.Contains(body, "Under which letter?") || !strings.Contains(body, `action="`+path+`/answer"`) || strings.Contains(body, "/calls/"+sent.ID) {
		t.Fatalf("what it asks: %s", body)
	}
	question := form(body, "question")
	question.Set("f.message", "F")
	if res := me.post(path+"/answer", question); res.location() != path {
		t.Errorf("answering: %d %s", res.status, res.body)
	}
	said, err := k.ledger.RequestMessages(t.Context(), f.ChannelID, sent.ID, 0, 10)
	if err != nil || said[len(said)-1].Type != beeos.Continue || said[len(said)-1].Body != "F" {
		t.Errorf("the agent was told %+v, %v", said, err)
	}
	if res := me.post(path+"/answer", question); res.status != http.StatusConflict {
		t.Errorf("answered twice: %d", res.status)
	}
	if res := me.post(path+"/cancel", nil); res.location() != path+"?did=task-canceled" {
		t.Errorf("canceling: %d", res.status)
	}
	p.reply(f, beeos.Message{Type: beeos.AgentReplyError, State: beeos.StateCancelled, StopReason: beeos.StopUser, Body: "stopped"})
	if body := me.get(path).body; !strings.Contains(body, "canceled") || strings.Contains(body, `/cancel"`) {
		t.Errorf("canceled: %s", body)
	}
	if body := me.get("/tasks?state=ended").body; !strings.Contains(body, `data-task="`+sent.ID+`"`) {
		t.Errorf("what has ended: %s", body)
	}
	for from, want := range map[string]string{path + "/answer": path, path + "/cancel": path} {
		if res := me.get(from); res.location() != want {
			t.Errorf("%s leads to %q", from, res.location())
		}
	}
	if res := me.get("/tasks?before=x"); res.status != http.StatusNotFound {
		t.Errorf("a page that is none: %d", res.status)
	}
}

// TestWebhookDeliveries: whoever made a task, with a key of an agent or as
// themselves, sees what its webhooks were told, and can have it told again, which
// is written down.
func TestWebhookDeliveries(t *testing.T) {
	k := newStack(t)
	ann, bob := k.user("Ann", false), k.user("Bob", false)
	me, him := k.signedIn(ann), k.signedIn(bob)
	a := k.agents(ann, 1)[0]
	if res := me.post("/agents/"+a.ID+"/keys", url.Values{"name": {"n8n"}}); res.status != http.StatusOK {
		t.Fatal(res.status)
	}
	keys, err := k.db.Keys.List(t.Context(), keystore.Filter{Owner: ann.ID, Kind: beeos.AgentKey})
	if err != nil || len(keys) != 1 {
		t.Fatal(keys, err)
	}
	ids := map[string]string{}
	for owner, turn := range map[string]string{"user:" + ann.ID: "one", "key:" + keys[0].ID: "two", "user:" + bob.ID: "three"} {
		w := webhooks.Webhook{ID: "wh_" + beeos.NewID(), Turn: turn, Channel: "ch", Owner: owner, Renderer: "openapi", URL: "https://" + turn + ".example/in?key=hush", Status: beeos.TaskQueued, Watching: true}
		if w, err = k.db.Webhooks.Put(t.Context(), w, 10, func(*webhooks.Webhook) ([]byte, error) { return []byte("sealed"), nil }); err != nil {
			t.Fatal(err)
		}
		_, news := storetest.News(t, k.db, w, 1)
		ids[turn] = news[0]
	}
	body := me.get("/webhooks").body
	if !strings.Contains(body, `href="/tasks/one"`) || strings.Contains(body, `href="/tasks/two"`) { // what a key began is not on the pages of tasks
		t.Errorf("the links: %s", body)
	}
	if !strings.Contains(body, "https://one.example/in") || !strings.Contains(body, "https://two.example/in") || strings.Contains(body, "three") || strings.Contains(body, "hush") || strings.Contains(body, ">Redeliver<") {
		t.Errorf("the list: %s", body)
	}
	if body := me.get("/webhooks?only=problems").body; !strings.Contains(body, "Everything was delivered") {
		t.Errorf("no problems: %s", body)
	}
	claimed, err := k.db.Webhooks.ClaimDeliveries(t.Context(), "worker", k.site.Now(), k.site.Now(), 10)
	if err != nil || len(claimed) != 3 {
		t.Fatal(claimed, err)
	}
	for _, d := range claimed {
		d.Status, d.Attempts, d.Error, d.Response = outbox.Dead, 8, "the receiver answered 500 <oops>", 500
		if err := k.db.Webhooks.FinishDelivery(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	if body := me.get("/webhooks?only=problems").body; !strings.Contains(body, "given up") || !strings.Contains(body, "500 &lt;oops&gt;") || !strings.Contains(body, ">Redeliver<") {
		t.Errorf("what was given up: %s", body)
	}
	again := "/webhooks/" + ids["two"] + "/redeliver"
	for _, path := range []string{again, "/webhooks/whd_none/redeliver"} {
		if res := him.post(path, nil); res.status != http.StatusNotFound {
			t.Errorf("%s by somebody else: %d", path, res.status)
		}
	}
	if res := me.post(again, nil); res.location() != "/webhooks?did=redelivered" {
		t.Errorf("sending it again: %d %s", res.status, res.body)
	}
	if res := me.post(again, nil); res.status != http.StatusConflict || !strings.Contains(res.body, "on its way already") {
		t.Errorf("twice: %d", res.status)
	}
	rows, err := k.db.Audit.Find(t.Context(), audit.Filter{Action: "webhook.redeliver"}, 10)
	if err != nil || len(rows) != 1 || rows[0].Actor != "user:"+ann.ID || rows[0].Detail["delivery"] != ids["two"] {
		t.Errorf("written down: %+v, %v", rows, err)
	}
}

// TestSystemPage: admins see what it runs on; nobody else does.
func TestSystemPage(t *testing.T) {
	k := newStack(t)
	ann, bob := k.user("Ann", true), k.user("Bob", false)
	if res := k.signedIn(bob).get("/system"); res.status != http.StatusForbidden {
		t.Errorf("somebody who is no admin: %d", res.status)
	}
	if _, err := k.site.Acts.System(t.Context(), beeos.Caller{Kind: beeos.BySession, UserID: bob.ID}); beeos.CodeOf(err) != beeos.Forbidden {
		t.Errorf("the act itself: %v", err)
	}
	if body := k.signedIn(ann).get("/system").body; !strings.Contains(body, beeos.Version) || !strings.Contains(body, "SQLite 3.") || !strings.Contains(body, "for it alone") {
		t.Errorf("the page: %s", body)
	}
}
