package web

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/store/outbox"
	"github.com/beeos/beeos/internal/store/storetest"
)

// TestOwnerLooksIntoCalls: the list finds calls by what they are, and the page of
// one says what was said, who had it and why that took so long.
func TestOwnerLooksIntoCalls(t *testing.T) {
	k := newStack(t)
	ann, bob := k.user("Ann", false), k.user("Bob", false)
	agents := k.agents(ann, 2)
	call := func(agent, tool, text string, end func(*ledger.Opening)) string {
		t.Helper()
		o := &ledger.Opening{
			Channel: beeos.Channel{ID: beeos.NewChannelID(), AgentID: agent, Owner: "user:" + bob.ID, Kind: beeos.KindInvoke, SingleShot: true}, Fresh: true,
			Message:  beeos.Message{ID: beeos.NewID(), Type: beeos.ChatMessage, Publisher: "user:" + bob.ID, Body: text, Payload: []byte(`{"protocol":"mcp","method":"` + map[bool]string{true: "tools/call"}[tool != ""] + `","tool":"` + tool + `","arguments":{"city":"<b>Rome"}}`)},
			Delivery: &ledger.Delivery{AgentID: agent, Mode: beeos.DeliverPush, Redelivery: beeos.RedeliverAlways, LeaseUntil: time.Now().Add(time.Minute), Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01 node-1 00f067aa0ba902b7"},
			Surface:  "mcp", Tool: tool,
		}
		o.Message.Channel = o.Channel.ID
		if _, _, err := k.ledger.BeginRequest(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if end != nil {
			end(o)
		}
		return o.Message.ID
	}
	finish := func(m beeos.Message, by *ledger.Attempt) func(*ledger.Opening) {
		return func(o *ledger.Opening) {
			m.Channel, m.InReplyTo = o.Channel.ID, o.Message.ID
			if _, err := k.ledger.FinishAttempt(t.Context(), m, by); err != nil {
				t.Fatal(err)
			}
		}
	}
	good := call(agents[0].ID, "forecast", "", finish(beeos.Message{Type: beeos.AgentReply, State: beeos.StateCompleted, Body: "sunny"}, &ledger.Attempt{Instance: "inst_one"}))
	bad := call(agents[1].ID, "", "do \u202ethis", func(o *ledger.Opening) {
		if err := k.ledger.ReleaseLeases(t.Context(), []ledger.Lease{{Turn: o.Message.ID, Attempt: 1}}, ledger.Attempt{Why: beeos.InstanceGone, Instance: "inst_one"}); err != nil {
			t.Fatal(err)
		}
		if _, err := k.ledger.ClaimDeliveries(t.Context(), agents[1].ID, time.Now().Add(time.Minute), 1); err != nil {
			t.Fatal(err)
		}
		finish(beeos.Message{Type: beeos.AgentReplyError, State: beeos.StateFailed, StopReason: beeos.StopError, Body: "it broke"}, &ledger.Attempt{Number: 2, Instance: "inst_two", Given: time.Now()})(o)
	})
	open := call(agents[0].ID, "forecast", "", nil)

	w := storetest.Webhook(t, k.db, good, "https://example.com/?token=hush")
	w.Watching = false
	storetest.News(t, k.db, w, 1)
	sent, err := k.db.Webhooks.ClaimDeliveries(t.Context(), "worker", time.Now(), time.Now().Add(time.Minute), 1)
	if err != nil || len(sent) != 1 {
		t.Fatal(sent, err)
	}
	sent[0].Status, sent[0].Due, sent[0].CompletedAt = outbox.Succeeded, time.Time{}, time.Now()
	if err := k.db.Webhooks.FinishDelivery(t.Context(), sent[0]); err != nil {
		t.Fatal(err)
	}

	at := k.signedIn(ann)
	now := time.Now().UTC()
	for query, want := range map[string][]string{
		"":                      {good, bad, open},
		"outcome=problems":      {bad},
		"outcome=ok":            {good},
		"outcome=working":       {open},
		"agent=" + agents[0].ID: {good, open},
		"tool=forecast":         {good, open},
		"caller=" + url.QueryEscape("user:"+bob.ID): {good, bad, open},
		"surface=a2a":   nil,
		"slower=1h":     nil,
		"last=1h":       {good, bad, open},
		"before=" + bad: {good},
		"from=" + now.Add(-time.Hour).Format("2006-01-02T15:04"):                                         {good, bad, open},
		"from=" + url.QueryEscape(now.Add(-time.Hour).In(time.FixedZone("", 7200)).Format(time.RFC3339)): {good, bad, open},
		"from=" + now.Add(time.Hour).Format("2006-01-02T15:04"):                                          nil,
		"until=" + now.Add(-time.Hour).Format("2006-01-02T15:04:05"):                                     nil,
		"last=1h&until=" + now.Add(time.Hour).Format("2006-01-02T15:04"):                                 {good, bad, open},
		"last=1h&from=" + now.Add(time.Minute).Format("2006-01-02T15:04:05"):                             nil,
		"from=nonsense":          nil,
		"until=1200-01-01T00:00": nil,
		"before=nonsense":        nil,
		"outcome=nonsense":       nil,
		"last=nonsense":          nil,
	} {
		res := at.get("/calls?" + query)
		if res.status != http.StatusOK && !strings.Contains(query, "nonsense") && !strings.Contains(query, "1200") {
			t.Fatalf("%s: %d %s", query, res.status, res.body)
		}
		if n := strings.Count(res.body, `data-call="`); n != len(want) {
			t.Errorf("%s shows %d calls, not %d", query, n, len(want))
		}
		for _, id := range want {
			if !strings.Contains(res.body, `href="/calls/`+id) {
				t.Errorf("%s lacks %s", query, id)
			}
		}
	}
	if link := regexp.MustCompile(`href="(/calls\?[^"]*)"[^>]*>Keep these times`).FindStringSubmatch(at.get("/calls?last=1h&agent=" + agents[0].ID).body); link == nil {
		t.Error("the last hour cannot be kept")
	} else if fixed := html.UnescapeString(link[1]); strings.Contains(fixed, "last=") || !strings.Contains(fixed, "from=2") || !strings.Contains(fixed, "until=2") || !strings.Contains(fixed, agents[0].ID) {
		t.Errorf("the address that stays is %s", fixed)
	} else if res := at.get(fixed); strings.Count(res.body, `data-call="`) != 2 || strings.Contains(res.body, "Keep these times") || !strings.Contains(res.body, `type="datetime-local" step="any" value="2`) {
		t.Errorf("%s shows %s", fixed, res.body)
	}
	for id, words := range map[string][]string{
		good: {"instance inst_one", "reply stored", "delivered</td>", "a webhook of the caller&#39;s took the news", "/" + agents[0].ID + "/mcp", `&#34;params&#34;:{&#34;arguments&#34;:{&#34;city&#34;:&#34;&lt;b&gt;Rome&#34;},&#34;name&#34;:&#34;forecast&#34;}`, "sunny", "replied", "&lt;b&gt;Rome", "Bob", "forecast", "attempt 1", "0af7651916cd43dd8448eb211c80319c"},
		bad:  {"attempt 2: sent to its instance", `do \u202ethis`, "key of yours", "it broke", "U&#43;202E", "attempt 1", "its instance disconnected", "attempt 2", "inst_two", "The agent answered with an error", "curl -X POST", "2 attempts"},
		open: {"working", "There is none yet", "so far", "0af7651916cd43dd8448eb211c80319c", "/calls/" + open + "/live"},
	} {
		res := at.get("/calls/" + id)
		for _, word := range words {
			if res.status != http.StatusOK || !strings.Contains(res.body, word) {
				t.Errorf("%s: %d lacks %q", id, res.status, word)
			}
		}
	}
	if res := k.signedIn(bob).get("/calls/" + good); res.status != http.StatusNotFound {
		t.Errorf("who called an agent looks into it: %d", res.status) // it is the owner's page
	}
}
