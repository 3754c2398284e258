package web

import (
	"encoding/csv"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/internal/store/audit"
)

// TestAuditNamesFiltersAndExports: the trail has names where it has ids, shows
// what fits a filter and nothing of others, and the export has the same lines.
func TestAuditNamesFiltersAndExports(t *testing.T) {
	k := newStack(t)
	ann, bob := k.user("Ann", true), k.user("Bob", false)
	mine, his := k.agents(ann, 1)[0], k.agents(bob, 1)[0]
	day := time.Date(2027, 1, 31, 23, 59, 0, 0, time.UTC)
	for _, row := range []audit.Row{
		{OwnerID: ann.ID, At: day, Actor: "user:" + ann.ID, Action: "agent.update", Subject: mine.ID, Detail: map[string]string{"title": "=1+1"}},
		{OwnerID: ann.ID, At: day.AddDate(0, 0, 1), Actor: "operator", Action: "agent.delete", Subject: "agent_gone", Detail: map[string]string{"name": "old one"}},
		{OwnerID: ann.ID, At: day.AddDate(0, 0, 2), Actor: "client:c1", Action: "grant.reuse", Subject: "grant_1", Detail: map[string]string{"client": "Desk app"}},
		{OwnerID: bob.ID, At: day, Actor: "user:" + bob.ID, Action: "agent.stop", Subject: his.ID},
	} {
		if err := k.db.Audit.Add(t.Context(), row); err != nil {
			t.Fatal(err)
		}
	}
	me, him := k.signedIn(ann), k.signedIn(bob)
	body := me.get("/audit").body
	for _, want := range []string{`title="` + mine.ID + `">Agent 0<`, `">you<`, `">old one<`, `title="agent_gone"`, `title="client:c1">Desk app<`, `title="grant_1">Desk app<`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page has no %s: %s", want, body)
		}
	}
	all := []string{"agent.update", "agent.delete", "agent.stop", "grant.reuse"}
	for _, c := range []struct {
		who   *browser
		query url.Values
		want  string
	}{
		{me, url.Values{}, "agent.update agent.delete grant.reuse"},
		{me, url.Values{"action": {"agent.up"}}, "agent.update"},
		{me, url.Values{"who": {"me"}}, "agent.update"},
		{me, url.Values{"who": {"operator"}}, "agent.delete"},
		{me, url.Values{"agent": {"agent 0"}}, "agent.update"},
		{me, url.Values{"agent": {"agent_gone"}}, "agent.delete"},
		{me, url.Values{"to": {"2027-01-31"}}, "agent.update"},
		{me, url.Values{"from": {"2027-02-01"}}, "agent.delete grant.reuse"},
		{me, url.Values{"of": {"everyone"}, "who": {bob.Email}}, "agent.stop"},
		{me, url.Values{"of": {"everyone"}, "who": {"bob"}}, "agent.stop"},
		{him, url.Values{"who": {"Bob"}}, "agent.stop"},
		{him, url.Values{"of": {"everyone"}}, "agent.stop"},
		{him, url.Values{"agent": {mine.ID}}, ""},
	} {
		page := c.who.get("/audit?" + c.query.Encode())
		file := c.who.get("/audit/export?" + c.query.Encode())
		lines, err := csv.NewReader(strings.NewReader(file.body)).ReadAll()
		if page.status != http.StatusOK || err != nil || file.header.Get("Content-Type") != "text/csv; charset=utf-8" || !strings.Contains(file.header.Get("Content-Disposition"), "attachment") {
			t.Fatalf("%v: %d, %v, %v", c.query, page.status, err, file.header)
		}
		for _, action := range all {
			shown := strings.Contains(page.body, "<code>"+action+"</code>")
			if want := strings.Contains(c.want, action); shown != want || strings.Contains(file.body, ","+action+",") != want {
				t.Errorf("%v: %s on the page: %v; export: %s", c.query, action, shown, file.body)
			}
		}
		if len(lines) == 0 || lines[0][0] != "at" || strings.Contains(file.body, ",=1") {
			t.Errorf("%v: %s", c.query, file.body)
		}
	}
	for _, query := range []string{"from=yesterday", "who=nobody@example.com", "agent=nothing"} {
		if res := me.get("/audit?" + query); res.status != http.StatusBadRequest || !strings.Contains(res.body, `role="alert"`) || strings.Contains(res.body, "<code>agent.") {
			t.Errorf("%s: %d %s", query, res.status, res.body)
		}
		if res := me.get("/audit/export?" + query); res.status != http.StatusBadRequest {
			t.Errorf("export of %s: %d", query, res.status)
		}
	}
	for _, who := range []string{ann.Email, "Ann"} {
		if res := him.get("/audit?who=" + url.QueryEscape(who)); res.status != http.StatusBadRequest {
			t.Errorf("who is no admin learns who is here: %d", res.status)
		}
	}
}
