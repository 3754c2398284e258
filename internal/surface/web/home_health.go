package web

import (
	"context"
	"fmt"
	"time"

	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/store/webhooks"
	"github.com/beeos/beeos/internal/surface/web/chart"
	"github.com/beeos/beeos/internal/surface/web/page"
)

// healthData says in a sentence whether all is well.
type healthData struct {
	Word, Mood string
	Text       string
}

// From these shares of calls that go wrong on, things are not quite well, or not at all.
const (
	fairShare = .02
	badShare  = .1
)

// describeHealth says whether agents are there, and how calls went in the last hour;
// what is worse comes first.
func (d *homeData) describeHealth(waiting map[string]ledger.Waiting) healthData {
	if d.Total == 0 {
		return healthData{Word: "Nothing is connected yet", Text: "Run an agent, and it shows up here."}
	}
	here, bad := d.describePresence(waiting)
	went, worse := d.describeHour()
	text := here + " " + went
	if worse > bad {
		text, bad = went+" "+here, worse
	}
	return [...]healthData{{"Healthy", "good", text}, {"Mostly healthy", "busy", text}, {"Not healthy", "bad", text}}[bad]
}

// describePresence says which agents are missing, and how bad that is: 0, 1 or 2.
func (d *homeData) describePresence(waiting map[string]ledger.Waiting) (words string, bad int) {
	away, stuck := 0, 0
	for i := range d.Agents {
		a := &d.Agents[i]
		if isAway(a) {
			away++
		}
		if isStuck(a, waiting) {
			stuck++
		}
	}
	switch {
	case stuck > 0:
		return "Work waits for " + oneOrMany(stuck, "agent that is not there.", "agents that are not there."), 2
	case away > 0:
		return oneOrMany(away, "agent is offline.", "agents are offline."), 1
	}
	return "No agent is missing.", 0
}

// describeHour says how calls went in the last hour, and how bad that is: 0, 1 or 2.
func (d *homeData) describeHour() (words string, bad int) {
	calls := oneOrMany(int(d.Hour.Calls), "call", "calls") + " in the last hour"
	switch {
	case d.Hour.Calls == 0:
		return "No call ended in the last hour.", 0
	case d.Hour.Problems == 0:
		return "Of " + calls + ", none went wrong.", 0
	}
	share := shareOfProblems(&d.Hour)
	words = fmt.Sprintf("Of %s, %s went wrong (%s).", calls, page.Thousands(d.Hour.Problems), chart.Share.Format(share))
	switch {
	case share >= badShare:
		return words, 2
	case share >= fairShare:
		return words, 1
	}
	return words, 0
}

// isAway reports whether an agent should be there and is not. Built-in ones connect by
// themselves, or were stopped.
func isAway(a *page.AgentRow) bool { return !a.Online && a.Active && !a.Builtin }

// isStuck reports whether work waits for an agent that does not come by itself.
func isStuck(a *page.AgentRow, waiting map[string]ledger.Waiting) bool {
	return waiting[a.ID].Requests > 0 && (isAway(a) || a.Stopped)
}

// oneOrMany counts things, the way that their number wants it.
func oneOrMany(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return page.Thousands(int64(n)) + " " + many
}

// listWaiting returns what waits for agents of the visitor's, by agent.
func (s *Surface) listWaiting(ctx context.Context, v *page.Visitor) (map[string]ledger.Waiting, error) {
	list, err := s.Acts.Backlogs(ctx, v.Caller())
	waiting := map[string]ledger.Waiting{}
	for _, w := range list {
		waiting[w.AgentID] = w
	}
	return waiting, err
}

// listAbsent returns the agents that are not there: first those for which work waits.
func (s *Surface) listAbsent(agents []page.AgentRow, waiting map[string]ledger.Waiting) (list []need) {
	var idle []need
	for i := range agents {
		a := &agents[i]
		switch {
		case isStuck(a, waiting):
			w, state := waiting[a.ID], "offline"
			if a.Stopped {
				state = "stopped"
			}
			text := fmt.Sprintf("%s is %s while %s for it; the oldest was asked for %s.", a.Title, state, oneOrMany(w.Requests, "request waits", "requests wait"), page.Ago(s.Now(), w.Oldest))
			list = append(list, need{Text: text, Link: "/agents/" + a.ID + "/health", Label: "Look"})
		case isAway(a):
			idle = append(idle, need{Text: a.Title + " is offline: no process of it is connected.", Link: "/agents/" + a.ID, Label: "Open"})
		}
	}
	if len(idle) > 3 {
		idle = []need{{Text: page.Plural(len(idle), "agent") + " are offline: no process of them is connected.", Link: "/agents", Label: "Look"}}
	}
	return append(list, idle...)
}

// maxUnsent is how many failed webhook deliveries Home counts.
const maxUnsent = 100

// countUnsent counts the webhook deliveries of the last day that were not taken.
func (s *Surface) countUnsent(ctx context.Context, v *page.Visitor) (int, error) {
	return s.unsent.get(s.Now(), v.User.ID, func() (n int, err error) {
		list, err := s.Acts.WebhookDeliveries(ctx, v.Caller(), webhooks.SentFilter{Problems: true, Limit: maxUnsent})
		for i := range list {
			if s.Now().Sub(list[i].CreatedAt) < 24*time.Hour {
				n++
			}
		}
		return n, err
	})
}
