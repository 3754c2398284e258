package web

import (
	"cmp"
	"context"
	"strings"
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

// nameCallers names principals: the visitor, other people, and keys. Each name
// is looked up once per page.
func (s *Surface) nameCallers(ctx context.Context, v *page.Visitor) func(principal string) string {
	known := map[string]string{"user:" + v.User.ID: "you"}
	var keys map[string]string
	return func(principal string) string {
		if name, ok := known[principal]; ok {
			return name
		}
		name := "somebody"
		kind, id, _ := strings.Cut(principal, ":")
		switch kind {
		case "user":
			if u, err := s.Users.GetUser(ctx, id); err == nil {
				name = safetext.Line(u.Name, 40)
			}
		case "key":
			if keys == nil {
				keys = s.loadKeyNames(ctx, v)
			}
			name = "an agent key"
			if n := keys[id]; n != "" {
				name = "key " + n
			}
		}
		known[principal] = name
		return name
	}
}

// loadKeyNames returns the names of the visitor's keys; a page without them is
// still a page, so an error only leaves them out.
func (s *Surface) loadKeyNames(ctx context.Context, v *page.Visitor) map[string]string {
	names := map[string]string{}
	keys, err := s.Acts.Keys(ctx, v.Caller(), "", "")
	if err != nil {
		s.Log.WarnContext(ctx, "calls are shown without the names of keys", "err", err)
	}
	for _, k := range keys {
		names[k.ID] = safetext.Line(k.Name, 40)
	}
	return names
}
