package app_test

import (
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/access/signin"
	"github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/people"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/hands"
	"github.com/beeos/beeos/test/pgtest"
)

// newSplitOwner is an owner whose surfaces and whose built-in agents are in two
// processes, over one database.
func newSplitOwner(t *testing.T) (o *owner, worker *apptest.App) {
	t.Helper()
	cfg := apptest.Config(t)
	cfg.DatabaseURL, cfg.ClusterAddr = pgtest.URL(t), "127.0.0.1:0"
	cfg.Only = []string{"web", "mcp", "a2a", "rest", "agents"}
	o = &owner{t: t, app: apptest.StartWith(t, cfg, app.Options{})}
	var err error
	if o.user, err = accept(t, cfg, o.app.Setup); err != nil {
		t.Fatal(err)
	}
	if o.db, err = store.Open(t.Context(), cfg.DatabaseURL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.db.Close() })
	if o.cookie, err = (&signin.People{Table: o.db.People, Audit: o.db.Audit}).BeginSession(t.Context(), o.user, people.Login{}); err != nil {
		t.Fatal(err)
	}
	if _, o.app.UserKey, err = app.IssueKey(t.Context(), cfg, o.user.Email, beeos.Key{Kind: beeos.UserKey, Name: "test"}); err != nil {
		t.Fatal(err)
	}
	o.api = client.New(o.app.REST, o.app.UserKey)

	other := apptest.Config(t)
	other.DatabaseURL, other.ClusterAddr, other.Only = cfg.DatabaseURL, cfg.ClusterAddr, []string{"worker"}
	other.Agents.PublicURL, other.Web.PublicURL, other.MCP.PublicURL, other.REST.PublicURL = o.app.Agents, o.app.Web, o.app.MCP, o.app.REST
	other.LLM.Provider = "scripted"
	allowed := `{"commands": {"bookkeeper": ["true"]}}`
	if err := os.WriteFile(filepath.Join(other.Data, "skills.json"), []byte(allowed), 0o600); err != nil {
		t.Fatal(err)
	}
	return o, apptest.StartWith(t, other, app.Options{})
}

// page returns a page of the console, or where it leads.
func (o *owner) page(method, address string) (text, location string) {
	o.t.Helper()
	req, err := http.NewRequestWithContext(o.t.Context(), method, address, http.NoBody)
	if err != nil {
		o.t.Fatal(err)
	}
	if strings.HasPrefix(address, o.app.Web) {
		req.Header.Set("Cookie", "__Host-beeos="+o.cookie)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		o.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode >= 400 {
		o.t.Fatalf("%s %s: %s %v %s", method, address, res.Status, err, body)
	}
	return string(body), res.Header.Get("Location")
}

// awaitMesh waits until the two processes have met.
func (o *owner) awaitMesh() {
	o.t.Helper()
	for end := time.Now().Add(20 * time.Second); ; {
		_, err := o.api.Deploy(o.t.Context(), client.Deployment{Name: "nobody"}, true)
		if err == nil {
			return
		}
		if beeos.CodeOf(err) != beeos.AgentServiceUnavailable || time.Now().After(end) {
			o.t.Fatal(err)
		}
	}
}

// TestBuiltinsAreManagedFromEveryProcess: the process that an owner talks to
// need not be the one that runs built-in agents.
func TestBuiltinsAreManagedFromEveryProcess(t *testing.T) {
	o, worker := newSplitOwner(t)
	drive := hands.NewDrive(t)
	o.awaitMesh()

	d := drive.Deployment("clerk")
	for _, want := range []string{"created", "unchanged"} {
		if got, err := o.api.Deploy(t.Context(), d, false); err != nil || got.Outcome != want {
			t.Fatalf("%+v, %v, want %s", got, err, want)
		}
	}
	d.Prompt = "You file invoices, and nothing else."
	made, err := o.api.Deploy(t.Context(), d, false)
	if err != nil || made.Outcome != "changed" {
		t.Fatalf("%+v, %v", made, err)
	}
	if _, err := o.api.Deploy(t.Context(), client.Deployment{Name: "rogue", Servers: map[string]json.RawMessage{"x": json.RawMessage(`{"command":"rm"}`)}}, false); beeos.CodeOf(err) != beeos.Forbidden {
		t.Errorf("a command that nobody allowed: %v", err)
	}

	agent := o.agent("clerk")
	skills := o.app.Web + "/agents/" + agent + "/skills"
	if page, _ := o.page("GET", skills); !strings.Contains(page, hands.SaveCSV) || !strings.Contains(page, "bookkeeper") {
		t.Errorf("the console shows neither the skill's tools nor the worker's commands:\n%s", page)
	}
	if page, _ := o.page("GET", o.app.Web+"/agents/"+agent+"/settings"); !strings.Contains(page, d.Prompt) {
		t.Error("the console does not show the definition")
	}
	o.form("/agents/"+agent+"/skills", url.Values{"name": {"mine"}, "url": {drive.URL}})
	page, _ := o.page("POST", skills+"/mine/authorize")
	link := regexp.MustCompile(regexp.QuoteMeta(drive.Issuer.URL) + `[^"]*`).FindString(page)
	if link == "" {
		t.Fatalf("no way to the authorization server:\n%s", page)
	}
	_, back := o.page("GET", html.UnescapeString(link))
	if _, next := o.page("GET", back); !strings.Contains(next, "/skills") {
		t.Errorf("the consent led to %q", next)
	}
	o.form("/agents/"+agent+"/skills/mine/forget", nil)
	o.form("/agents/"+agent+"/skills/mine/remove", nil)

	for _, act := range []string{"stop", "start", "restart"} {
		if err := o.api.RunInstance(t.Context(), made.ID, act); err != nil {
			t.Errorf("%s: %v", act, err)
		}
	}
	if err := worker.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := o.api.Deploy(t.Context(), client.Deployment{Name: "second"}, false); beeos.CodeOf(err) != beeos.AgentServiceUnavailable || !strings.Contains(err.Error(), "--only worker") {
		t.Errorf("with no worker: %v", err)
	}
	if page, _ := o.page("GET", skills); !strings.Contains(page, "No process that runs built-in agents answers") {
		t.Errorf("with no worker the console shows:\n%s", page)
	}
	if err := o.api.RunInstance(t.Context(), made.ID, "stop"); err != nil {
		t.Errorf("stop with no worker: %v", err)
	}
	if err := o.api.DestroyInstance(t.Context(), made.ID); err != nil {
		t.Errorf("delete: %v", err)
	}
	if _, err := o.db.Builtins.Get(t.Context(), o.user.ID, made.ID); beeos.CodeOf(err) != beeos.NotFound {
		t.Errorf("a deleted agent: %v", err)
	}
}
