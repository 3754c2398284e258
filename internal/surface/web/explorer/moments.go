package explorer

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/engine/sight"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

// moment is a row of what happened to a call.
type moment struct {
	At      string // UTC
	After   time.Duration
	What    string
	Details string
}

// momentsOf says what happened to a call, in order of time.
func momentsOf(c *sight.Call, names func(string) string) []moment {
	list := make([]moment, len(c.Timeline))
	for i := range c.Timeline {
		m := &c.Timeline[i]
		list[i] = moment{At: m.At.UTC().Format("2006-01-02 15:04:05.000"), After: max(0, m.At.Sub(c.Timeline[0].At))}
		list[i].What, list[i].Details = describeMoment(m, c.Attempts, names)
	}
	return list
}

// momentWords say what happened where no more is to be said than that.
var momentWords = map[sight.Kind]string{
	sight.Received: "received", sight.Stored: "stored", sight.Dispatched: "dispatched", sight.Given: "sent to its instance", sight.Started: "started",
	sight.FirstText: "first text", sight.AttemptOver: "over without a reply", sight.QuestionAsked: "question asked", sight.QuestionAnswer: "question answered",
	sight.ApprovalAsked: "approval asked", sight.ApprovalDecided: "approval decided", sight.CancelAsked: "cancel asked", sight.ReplyStored: "reply stored",
	sight.Delivered: "delivered",
}

// describeMoment says what happened, and beside it who, where or what came of it.
func describeMoment(m *sight.Moment, attempts []ledger.Attempt, names func(string) string) (what, details string) {
	what = cmp.Or(momentWords[m.Kind], string(m.Kind))
	switch m.Kind {
	case sight.Received:
		details = "by " + names(m.Who)
		if m.What != "" {
			details += " over " + m.What
		}
	case sight.Dispatched:
		details = describePlace(findAttempt(attempts, m.Attempt))
	case sight.AttemptOver:
		details = beeos.AttemptEnd(m.What).Words()
	case sight.QuestionAsked, sight.ApprovalAsked, sight.ReplyStored:
		details = safetext.Line(m.What, 200)
	case sight.QuestionAnswer, sight.CancelAsked:
		details = "by " + names(m.Who)
	case sight.ApprovalDecided:
		if details = m.What; m.Who != "" {
			details += " by " + nameDecider(m.Who, names)
		}
	case sight.Delivered:
		details = "a webhook of the caller's took the news"
	}
	if m.Attempt > 0 {
		what = "attempt " + strconv.Itoa(m.Attempt) + ": " + what
	}
	return what, details
}

func findAttempt(list []ledger.Attempt, number int) (a ledger.Attempt) {
	for _, a := range list {
		if a.Number == number {
			return a
		}
	}
	return a
}

// describePlace says who had an attempt, and on which server.
func describePlace(a ledger.Attempt) string {
	var parts []string
	if a.Resumed {
		parts = append(parts, "the same instance goes on")
	}
	if a.Instance != "" {
		parts = append(parts, "instance "+a.Instance)
	}
	if a.Node != "" {
		parts = append(parts, "server "+a.Node)
	}
	return strings.Join(parts, ", ")
}
