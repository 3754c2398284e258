package web

import (
	"cmp"
	"context"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

// callRow is one of the last calls.
type callRow struct {
	ID      string
	At      time.Time
	Surface string
	Caller  string
	AgentID string
	Agent   string
	What    string
	Outcome string // in words
	Mood    string // good, bad or busy: what colour it has
	Took    time.Duration
}

// lastCalls reads the newest calls to these agents, all of which are the
// visitor's own.
func (s *Surface) lastCalls(ctx context.Context, v *page.Visitor, agents []page.AgentRow, limit int) ([]callRow, error) {
	ids, titles := make([]string, 0, len(agents)), map[string]string{}
	for _, a := range agents {
		ids = append(ids, a.ID)
		titles[a.ID] = a.Title
	}
	recent, err := s.Ledger.RecentCalls(ctx, ids, limit)
	if err != nil {
		return nil, err
	}
	names := s.nameCallers(ctx, v)
	rows := make([]callRow, len(recent))
	for i, c := range recent {
		rows[i] = callRow{
			ID: c.Turn, At: c.At, Surface: c.Protocol, Caller: names(c.Caller), AgentID: c.AgentID, Agent: titles[c.AgentID],
			What: safetext.Line(cmp.Or(c.Tool, c.Method, "message"), 60), Took: c.Took,
		}
		rows[i].Outcome, rows[i].Mood = describeOutcome(c.Outcome, c.Reason)
	}
	return rows, nil
}

func describeOutcome(t beeos.MessageType, reason string) (words, mood string) {
	switch {
	case t == "":
		return "working", "busy"
	case reason == beeos.StopUser: // whatever the agent made of it
		return "stopped", "good"
	case t == beeos.AgentReply:
		return "ok", "good"
	case t == beeos.AgentRefuse:
		return "refused", "bad"
	case t == beeos.AgentBusy:
		return "busy", "bad"
	case reason == beeos.StopTimeout:
		return "timed out", "bad"
	case reason == beeos.StopAgentLost:
		return "agent lost", "bad"
	}
	return "failed", "bad"
}

// nameCallers names principals: the visitor, other people, and keys.
func (s *Surface) nameCallers(ctx context.Context, v *page.Visitor) func(principal string) string {
	names := s.Acts.NamePrincipals(ctx, v.Caller())
	return func(principal string) string {
		if principal == "user:"+v.User.ID {
			return "you"
		}
		return safetext.Line(names(principal), 44)
	}
}
