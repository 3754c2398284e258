package app_test

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/access/signin"
	"github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/audit"
	keystore "github.com/beeos/beeos/internal/store/keys"
	"github.com/beeos/beeos/internal/store/people"
	"github.com/beeos/beeos/test/apptest"
)

// owner is somebody with agents at a running server, by all ways in.
type owner struct {
	t      *testing.T
	app    *apptest.App
	api    *client.Client
	db     *store.Store
	user   beeos.User
	cookie string
}

func newOwner(t *testing.T) *owner {
	t.Helper()
	cfg := apptest.Config(t)
	o := &owner{t: t, app: apptest.Start(t, cfg)}
	o.api = client.New(o.app.REST, o.app.UserKey)
	var err error
	if o.user, err = accept(t, cfg, o.app.Setup); err != nil {
		t.Fatal(err)
	}
	if o.db, err = store.Open(t.Context(), "sqlite:"+filepath.Join(cfg.Data, "beeos.db")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.db.Close() })
	o.cookie, err = (&signin.People{Table: o.db.People, Audit: o.db.Audit}).BeginSession(t.Context(), o.user, people.Login{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// rest sends a request with the owner's key.
func (o *owner) rest(method, path, body string) {
	o.t.Helper()
	o.send(method, o.app.REST+path, body, http.Header{
		"Authorization": {"Bearer " + o.app.UserKey}, "Content-Type": {"application/json"}, "Idempotency-Key": {beeos.NewID()},
	})
}

// form posts a form of the console.
func (o *owner) form(path string, values url.Values) {
	o.t.Helper()
	o.send("POST", o.app.Web+path, values.Encode(), http.Header{
		"Cookie": {"__Host-beeos=" + o.cookie}, "Content-Type": {"application/x-www-form-urlencoded"},
	})
}

func (o *owner) send(method, address, body string, header http.Header) {
	o.t.Helper()
	req, err := http.NewRequestWithContext(o.t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		o.t.Fatal(err)
	}
	req.Header = header
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		o.t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode >= 400 {
		text, _ := io.ReadAll(res.Body) //nolint:errcheck // what there is of it will do
		o.t.Fatalf("%s %s: %d %s", method, address, res.StatusCode, text)
	}
}

// line is what two doors must agree on.
type line struct{ Actor, Action, Subject string }

// written returns what an act adds to the owner's trail. Programs write there,
// too, when they connect.
func (o *owner) written(do func()) (lines []line) {
	o.t.Helper()
	before := o.trail()
	do()
	after := o.trail()
	for _, r := range after[:len(after)-len(before)] {
		if !strings.HasPrefix(r.Actor, "instance:") {
			lines = append(lines, line{r.Actor, r.Action, r.Subject})
		}
	}
	return lines
}

func (o *owner) trail() []audit.Row {
	o.t.Helper()
	rows, err := o.db.Audit.List(o.t.Context(), o.user.ID, 1000)
	if err != nil {
		o.t.Fatal(err)
	}
	return rows
}

// deploy makes a built-in agent and returns its instance and its agent.
func (o *owner) deploy(name string) (instance, agent string) {
	o.t.Helper()
	d, err := o.api.Deploy(o.t.Context(), client.Deployment{Name: name}, false)
	if err != nil {
		o.t.Fatal(err)
	}
	return d.ID, o.agent(name)
}

func (o *owner) agent(name string) string {
	o.t.Helper()
	a, err := o.db.Agents.GetByName(o.t.Context(), o.user.ID, name)
	if err != nil {
		o.t.Fatal(err)
	}
	return a.ID
}

// newest returns the key that was made last.
func (o *owner) newest() string {
	o.t.Helper()
	keys, err := o.db.Keys.List(o.t.Context(), keystore.Filter{Owner: o.user.ID})
	if err != nil || len(keys) == 0 {
		o.t.Fatal(keys, err)
	}
	return keys[len(keys)-1].ID
}

// TestEveryDoorWritesOneLine: whichever way an owner does something, the audit
// trail gets one row, with the same words and the id of what it was done to.
func TestEveryDoorWritesOneLine(t *testing.T) {
	o := newOwner(t)
	restInstance, restAgent := o.deploy("by-rest")
	webInstance, webAgent := o.deploy("by-console")
	_, gone := o.deploy("by-instance")
	goneInstance := o.instanceOf(gone)
	conversation := func() string {
		c, err := o.api.CreateConversation(t.Context(), o.app.AgentID, "x")
		if err != nil {
			t.Fatal(err)
		}
		return c.ID
	}
	one, two, named := conversation(), conversation(), conversation()
	agents, keys := "/api/v1/agents/", "/api/v1/api-keys"
	for _, c := range []struct {
		door, action string
		do           func()
		subject      func() string
	}{
		{"rest", "agent.create", func() { o.rest("POST", "/api/v1/instances", `{"name":"new"}`) }, func() string { return o.agent("new") }},
		{"console", "agent.create", func() { o.form("/agents", url.Values{"name": {"newer"}, "prompt": {"x"}}) }, func() string { return o.agent("newer") }},
		{"rest", "agent.update", func() { o.rest("PATCH", agents+restAgent, `{"visibility":"public"}`) }, id(restAgent)},
		{"console", "agent.update", func() { o.form("/agents/"+webAgent+"/access", url.Values{"visibility": {"public"}}) }, id(webAgent)},
		{"rest", "agent.update", func() { o.rest("POST", "/api/v1/instances", `{"name":"by-rest","systemPrompt":"Be kind."}`) }, id(restAgent)},
		{"console", "agent.update", func() { o.form("/agents/"+webAgent+"/builtin", url.Values{"prompt": {"Be kind."}}) }, id(webAgent)},
		{"rest", "agent.stop", func() { o.rest("POST", "/api/v1/instances/"+restInstance+"/stop", "") }, id(restAgent)},
		{"console", "agent.stop", func() { o.form("/agents/"+webAgent+"/stopped", url.Values{"stopped": {"true"}}) }, id(webAgent)},
		{"rest", "agent.start", func() { o.rest("POST", "/api/v1/instances/"+restInstance+"/start", "") }, id(restAgent)},
		{"console", "agent.start", func() { o.form("/agents/"+webAgent+"/stopped", url.Values{"stopped": {"false"}}) }, id(webAgent)},
		{"rest", "approval.policy", func() {
			o.rest("PATCH", agents+restAgent+"/approval-policy", `{"auto_approve":false,"timeout_seconds":120,"tools":[{"tool":"save","auto_approve":true}]}`)
		}, id(restAgent)},
		{"console", "approval.policy", func() {
			o.form("/agents/"+webAgent+"/approvals", url.Values{"all": {"ask"}, "minutes": {"2"}, "skill": {""}, "tool": {"save"}, "mode": {"auto"}})
		}, id(webAgent)},
		{"rest", "key.create", func() { o.rest("POST", keys, `{"name":"k"}`) }, o.newest},
		{"rest", "key.update", func() { o.rest("PATCH", keys+"/"+o.newest(), `{"rate_limit_per_minute":5}`) }, o.newest},
		{"rest", "key.revoke", func() { o.rest("DELETE", keys+"/"+o.newest(), "") }, o.newest},
		{"console", "key.create", func() { o.form("/keys", url.Values{"name": {"k"}}) }, o.newest},
		{"console", "key.update", func() { o.form("/keys/"+o.newest()+"/limit", url.Values{"rate": {"5"}}) }, o.newest},
		{"console", "key.revoke", func() { o.form("/keys/"+o.newest()+"/revoke", nil) }, o.newest},
		{"rest", "key.create", func() { o.rest("POST", agents+restAgent+"/keys", `{"name":"k"}`) }, o.newest},
		{"console", "key.create", func() { o.form("/agents/"+webAgent+"/keys", url.Values{"name": {"k"}}) }, o.newest},
		{"console", "key.update", func() { o.form("/agents/"+webAgent+"/keys/"+o.newest()+"/limit", url.Values{"rate": {"5"}}) }, o.newest},
		{"rest", "conversation.rename", func() { o.rest("PATCH", agents+o.app.AgentID+"/conversations/"+named, `{"title":"y"}`) }, id(named)},
		{"console", "conversation.rename", func() {
			o.form("/agents/"+o.app.AgentID+"/chat/"+named+"/title", url.Values{"title": {"z"}})
		}, id(named)},
		{"rest", "conversation.delete", func() { o.rest("DELETE", agents+o.app.AgentID+"/conversations/"+one, "") }, id(one)},
		{"console", "conversation.delete", func() { o.form("/agents/"+o.app.AgentID+"/chat/"+two+"/delete", nil) }, id(two)},
		{"rest", "agent.delete", func() { o.rest("DELETE", agents+restAgent, "") }, id(restAgent)},
		{"console", "agent.delete", func() { o.form("/agents/"+webAgent+"/delete", nil) }, id(webAgent)},
		{"rest, by its instance", "agent.delete", func() { o.rest("DELETE", "/api/v1/instances/"+goneInstance, "") }, id(gone)},
		{"rest", "join_token.create", func() { o.rest("POST", "/api/v1/join-tokens", `{}`) }, id(o.user.ID)},
	} {
		got := o.written(c.do)
		if diff := cmp.Diff([]line{{"user:" + o.user.ID, c.action, c.subject()}}, got); diff != "" {
			t.Errorf("%s, %s: %s", c.door, c.action, diff)
		}
	}
	for _, instance := range []string{restInstance, webInstance, goneInstance} { // deleted is deleted, by every door
		if _, err := o.db.Builtins.Get(t.Context(), "", instance); beeos.CodeOf(err) != beeos.NotFound {
			t.Errorf("a deleted built-in agent is still kept: %v", err)
		}
		if i, err := o.db.Instances.Get(t.Context(), instance); err != nil || i.RevokedAt.IsZero() {
			t.Errorf("a deleted built-in agent may still connect: %+v %v", i, err)
		}
	}
}

func id(id string) func() string { return func() string { return id } }

func (o *owner) instanceOf(agent string) string {
	o.t.Helper()
	a, err := o.db.Agents.Get(o.t.Context(), agent)
	if err != nil {
		o.t.Fatal(err)
	}
	return a.InstanceID
}

// TestOperatorIsWritten: what is done to the database itself is in the same
// trail in the same words, and says that it was no user who did it.
func TestOperatorIsWritten(t *testing.T) {
	cfg := apptest.Config(t)
	ctx := t.Context()
	k, _, err := app.IssueKey(ctx, cfg, "ann@example.com", beeos.Key{Name: "first"})
	if err != nil {
		t.Fatal(err)
	}
	dir, err := app.OpenDirectory(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := dir.SignOut(ctx, "ann@example.com"); err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(ctx, "sqlite:"+filepath.Join(cfg.Data, "beeos.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Audit.List(ctx, k.OwnerID, 10)
	if err != nil {
		t.Fatal(err)
	}
	got := []line{}
	for _, r := range rows {
		got = append(got, line{r.Actor, r.Action, r.Subject})
	}
	want := []line{{"operator", "user.sign_out_everywhere", k.OwnerID}, {"operator", "key.create", k.ID}, {"operator", "user.create", k.OwnerID}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestDeletedBuiltinStaysGone: a built-in agent that is deleted over REST stops,
// and does not come back with the next start.
func TestDeletedBuiltinStaysGone(t *testing.T) {
	cfg := apptest.Config(t)
	first := apptest.Start(t, cfg)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cl := client.New(first.REST, first.UserKey)
	if _, err := cl.Deploy(ctx, client.Deployment{Name: "clerk"}, false); err != nil {
		t.Fatal(err)
	}
	online := func(cl *client.Client) (id string, is bool) {
		list, err := cl.Agents(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range list {
			if a.Name == "clerk" {
				return a.ID, a.Online
			}
		}
		return "", false
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	agent, is := online(cl)
	for ; !is; agent, is = online(cl) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("it does not connect")
		}
	}
	if err := cl.DeleteAgent(ctx, agent); err != nil {
		t.Fatal(err)
	}
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	second := apptest.Start(t, cfg)
	cl = client.New(second.REST, second.UserKey)
	if d, err := cl.Deploy(ctx, client.Deployment{Name: "clerk"}, true); err != nil || d.Outcome != "created" {
		t.Errorf("after a restart there is still something to change: %+v, %v", d, err)
	}
	if id, _ := online(cl); id != "" {
		t.Error("the deleted agent came back")
	}
}
