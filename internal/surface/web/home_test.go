package web

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/store/budgets"
	"github.com/beeos/beeos/internal/store/calls"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/store/outbox"
	"github.com/beeos/beeos/internal/store/storetest"
	"github.com/beeos/beeos/internal/surface/web/page"
)

// activityFixture is charts of n calls.
func activityFixture(n int) activityData {
	s := act.Series{Range: pickRange("24h"), Since: time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC), Sums: make([]calls.SeriesSum, 96)}
	for i := range n {
		s.Sums[i].Count(calls.Outcome(i%3), time.Duration(i)*time.Second, []calls.Usage{{UsageSum: calls.UsageSum{Input: 7, Output: 3, Micros: 5}}})
	}
	return newActivity(&s, "/agents/agent_0", n%2 == 0)
}

// noteCalls writes what charts are drawn of.
func (k *stack) noteCalls(agentID string, at time.Time, sum calls.SeriesSum) {
	k.t.Helper()
	minute := at.Unix() / 60
	for _, minutes := range []int64{calls.Fine, calls.Coarse} {
		row := calls.SeriesRow{AgentID: agentID, Minutes: minutes, At: minute - minute%minutes, Slot: at.UnixNano(), SeriesSum: sum}
		if err := k.db.Calls.PutSeries(k.t.Context(), []calls.SeriesRow{row}); err != nil {
			k.t.Fatal(err)
		}
	}
}

// wait leaves a request with nobody to take it.
func (k *stack) wait(agentID, caller string) {
	k.t.Helper()
	o := &ledger.Opening{
		Channel: beeos.Channel{ID: beeos.NewChannelID(), AgentID: agentID, Owner: caller, Kind: beeos.KindInvoke, SingleShot: true}, Fresh: true,
		Message:  beeos.Message{ID: beeos.NewID(), Type: beeos.ChatMessage, Publisher: caller, Body: "hello"},
		Delivery: &ledger.Delivery{AgentID: agentID, Mode: beeos.DeliverPush, Redelivery: beeos.RedeliverAlways, LeaseUntil: time.Now().Add(time.Minute)},
	}
	o.Message.Channel = o.Channel.ID
	if _, _, err := k.ledger.BeginRequest(k.t.Context(), o); err != nil {
		k.t.Fatal(err)
	}
	if err := k.ledger.UndoClaim(k.t.Context(), []ledger.Lease{{Turn: o.Message.ID, Attempt: 1}}); err != nil {
		k.t.Fatal(err)
	}
}

// useUpBudget gives an agent a budget of which nothing is left.
func (k *stack) useUpBudget(owner beeos.User, agentID string) {
	k.t.Helper()
	ctx, now := k.t.Context(), time.Now()
	b, err := k.db.Budgets.Set(ctx, budgets.Budget{
		ID: "b1", OwnerID: owner.ID, Subject: budgets.Subject{Kind: budgets.OfAgent, ID: agentID}, Unit: budgets.Calls, Period: budgets.Day, Most: 5, CreatedAt: now,
	})
	if err != nil {
		k.t.Fatal(err)
	}
	if _, _, err := k.db.Budgets.Count(ctx, &b, now, now); err != nil {
		k.t.Fatal(err)
	}
	began, _ := b.Period.Span(now)
	if s, ok, err := k.db.Budgets.Draw(ctx, b.ID, began, now, 10); err != nil || !ok || s.Took != 5 {
		k.t.Fatalf("drew %+v, %v, %v", s, ok, err)
	}
}

// TestHomeSaysHowThingsAre: whether agents are there and calls go well, what needs the
// person, and what is happening; to each what is theirs.
func TestHomeSaysHowThingsAre(t *testing.T) {
	k := newStack(t)
	ann, bob, eve := k.user("Ann", false), k.user("Bob", false), k.user("Eve", false)
	hers, his := k.agents(ann, 3), k.agents(bob, 1)
	for _, a := range hers[:2] {
		k.online[a.ID] = true
	}
	k.online[his[0].ID] = true
	now := time.Now()
	k.noteCalls(hers[0].ID, now, calls.SeriesSum{Calls: 1200, Problems: 5, Took: [calls.TookClasses]int64{10: 1200}})
	k.noteCalls(hers[1].ID, now, calls.SeriesSum{Calls: 34, Problems: 1, Input: 500, Took: [calls.TookClasses]int64{3: 34}})
	k.noteCalls(his[0].ID, now, calls.SeriesSum{Calls: 8, Problems: 4, Took: [calls.TookClasses]int64{3: 8}})
	k.wait(hers[2].ID, "user:"+bob.ID)
	k.wait(hers[2].ID, "user:"+bob.ID)
	hook := storetest.Webhook(t, k.db, "m1", "https://example.com/")
	if _, err := k.db.ExecContext(t.Context(), `UPDATE webhooks SET owner = $1`, "user:"+ann.ID); err != nil {
		t.Fatal(err)
	}
	storetest.News(t, k.db, hook, 1)
	if _, err := k.db.ExecContext(t.Context(), `UPDATE webhook_deliveries SET status = $1`, string(outbox.Dead)); err != nil {
		t.Fatal(err)
	}

	k.useUpBudget(ann, hers[0].ID)

	for who, words := range map[string][]string{
		ann.Name: {
			"1 budget is used up, or nearly.",
			"Not healthy", "Work waits for 1 agent that is not there.", "Of 1,234 calls in the last hour, 6 went wrong (0.5 %).", "2<small> of 3", "1,234<small> 6 went wrong</small>",
			"is offline while 2 requests wait for it; the oldest was asked for just now.", "1 webhook delivery of the last day failed.", "Calls that ended in the last 24 hours: 1,234, 6 went wrong",
			`<svg class="chart" role="img"`, "data-step", "<summary>Errors, tokens and money</summary>", "The share of calls that went wrong in the last 24 hours: 0.5 %",
		},
		bob.Name: {"<summary>Errors</summary>", "Not healthy", "Of 8 calls in the last hour, 4 went wrong (50 %). No agent is missing."},
		eve.Name: {"Nothing is connected yet", "No call ended in the last 24 hours."},
	} {
		var user beeos.User
		for _, u := range []beeos.User{ann, bob, eve} {
			if u.Name == who {
				user = u
			}
		}
		body := k.signedIn(user).get("/").body
		for _, word := range words {
			if !strings.Contains(body, word) {
				t.Errorf("%s's Home lacks %q: %s", who, word, body)
			}
		}
	}
	me := k.signedIn(ann)
	for path, words := range map[string][]string{
		"/?range=1h": {"Calls that ended in the last hour: 1,234", `<a href="/?range=1h" aria-current="true">`, `hx-sse:connect="/live?range=1h"`},
		"/?range=7d": {"Calls that ended in the last 7 days: 1,234", "<summary>Errors, tokens and money</summary>", "Tokens that answers took in the last 7 days: "},
		"/agents/" + hers[1].ID + "?range=1h": {
			"Calls that ended in the last hour: 34, 1 went wrong", "The share of calls that went wrong in the last hour: 3 %", "Tokens that answers took in the last hour: 500 in, 0 out",
			`hx-sse:connect="/agents/` + hers[1].ID + `/live?range=1h"`,
		},
		"/agents/" + hers[2].ID: {"No call ended in the last 24 hours."},
	} {
		res := me.get(path)
		for _, word := range words {
			if res.status != http.StatusOK || !strings.Contains(res.body, word) {
				t.Errorf("%s (%d) lacks %q", path, res.status, word)
			}
		}
	}
	if _, err := k.site.Acts.Series(t.Context(), beeos.Caller{Kind: beeos.BySession, UserID: bob.ID}, hers[0].ID, act.Ranges[0]); err == nil {
		t.Error("Bob sees how calls to Ann's agent went")
	}
}

// TestStreamsLeaveChartsOut: a browser gets them with the first event, and again only
// when they have changed.
func TestStreamsLeaveChartsOut(t *testing.T) {
	k := newStack(t)
	ann := k.user("Ann", false)
	a := k.agents(ann, 1)[0]
	k.noteCalls(a.ID, time.Now(), calls.SeriesSum{Calls: 1, Took: [calls.TookClasses]int64{3: 1}})
	b := k.signedIn(ann)
	for _, path := range []string{"/live", "/agents/" + a.ID + "/live?range=1h"} {
		ctx, cancel := context.WithCancel(t.Context())
		events := b.follow(ctx, path, "")
		if first := next(t, events); !strings.Contains(first.data, `<svg class="chart"`) {
			t.Errorf("%s begins with %s", path, first.data)
		}
		k.site.WakeStreams()
		if second := next(t, events); strings.Contains(second.data, `<svg class="chart"`) || !strings.Contains(second.data, `hx-target="#calls"`) {
			t.Errorf("%s goes on with %s", path, second.data)
		}
		cancel()
	}
}

// TestHealthInWords: what is worst decides.
func TestHealthInWords(t *testing.T) {
	row := func(i int, online bool) page.AgentRow {
		return page.AgentRow{ID: fmt.Sprint(i), Online: online, Active: true}
	}
	work := map[string]ledger.Waiting{"0": {Requests: 1}, "1": {Requests: 1}}
	for want, d := range map[string]homeData{
		"Healthy: No agent is missing. No call ended in the last hour.":                            {Agents: []page.AgentRow{row(0, true)}},
		"Healthy: No agent is missing. Of 1 call in the last hour, none went wrong.":               {Agents: []page.AgentRow{row(2, true)}, Hour: calls.SeriesSum{Calls: 1}},
		"Healthy: No agent is missing. Of 1,100 calls in the last hour, 11 went wrong (1 %).":      {Agents: []page.AgentRow{row(2, true)}, Hour: calls.SeriesSum{Calls: 1100, Problems: 11}},
		"Mostly healthy: 1 agent is offline. No call ended in the last hour.":                      {Agents: []page.AgentRow{row(2, false), row(0, true)}},
		"Not healthy: Of 10 calls in the last hour, 1 went wrong (10 %). 2 agents are offline.":    {Agents: []page.AgentRow{row(2, false), row(3, false)}, Hour: calls.SeriesSum{Calls: 10, Problems: 1}},
		"Mostly healthy: 2 agents are offline. Of 50 calls in the last hour, 1 went wrong (2 %).":  {Agents: []page.AgentRow{row(2, false), row(3, false)}, Hour: calls.SeriesSum{Calls: 50, Problems: 1}},
		"Not healthy: Work waits for 2 agents that are not there. No call ended in the last hour.": {Agents: []page.AgentRow{row(0, false), row(1, false)}},
		"Healthy: No agent is missing. Of 2 calls in the last hour, none went wrong.":              {Agents: []page.AgentRow{{ID: "2", Builtin: true, Active: true, Stopped: true}}, Hour: calls.SeriesSum{Calls: 2}},
		"Not healthy: Work waits for 1 agent that is not there. No call ended in the last hour.":   {Agents: []page.AgentRow{{ID: "0", Builtin: true, Active: true, Stopped: true}}},
	} {
		d.Total = len(d.Agents)
		h := d.describeHealth(work)
		if got := h.Word + ": " + h.Text; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestRecentIsReadAgain: after a few seconds, and for everybody by themselves.
func TestRecentIsReadAgain(t *testing.T) {
	var r recent[int]
	n, now := 0, database.Now()
	get := func(key string) int {
		t.Helper()
		v, err := r.get(now, key, func() (int, error) { n++; return n, nil })
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if a, again, b := get("a"), get("a"), get("b"); a != 1 || again != 1 || b != 2 {
		t.Errorf("read %d, %d, %d", a, again, b)
	}
	now = now.Add(freshFor)
	if got := get("a"); got != 3 {
		t.Errorf("later it is %d", got)
	}
	now = now.Add(-time.Hour)
	if got := get("a"); got != 4 {
		t.Errorf("after the clock was set back it is %d", got)
	}
	if _, err := r.get(now, "c", func() (int, error) { return 0, fmt.Errorf("away") }); err == nil {
		t.Error("an error is lost")
	}
	for i := range 3 * maxRecent {
		get(fmt.Sprint(i))
	}
	if len(r.kept) > maxRecent {
		t.Errorf("%d are kept", len(r.kept))
	}
}
