package web

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/approval"
	"github.com/beeos/beeos/internal/store"
)

const (
	inboxMost   = 100
	historyPage = 50
)

// approvalRow is a tool call that waits, or waited, for a person.
type approvalRow struct {
	ID, Tool, Agent, Caller string
	Arguments               []piece
	At, Until, Decided      time.Time
	Open                    bool
	State, Mood             string
	By, Via, Reason         string
	Back                    string // the page to come back to; empty = the inbox
}

type approvalsData struct {
	Rows    []approvalRow
	History bool
	Next    string // address of the older ones
}

func (s *Site) approvals(w http.ResponseWriter, r *http.Request, v *visit) error {
	return s.showInbox(w, r, v, http.StatusOK, "")
}

func (s *Site) showInbox(w http.ResponseWriter, r *http.Request, v *visit, status int, problem string) error {
	d, err := s.inbox(r.Context(), v)
	if err != nil {
		return err
	}
	return s.show(w, r, v, status, "approvals", page{Title: "Approvals", Room: "approvals", Live: "/approvals/live", Here: "/approvals", Problem: problem, Data: d})
}

func (s *Site) approvalsLive(w http.ResponseWriter, r *http.Request, v *visit) error {
	return s.stream(w, r, v, func(ctx context.Context) ([]byte, error) {
		d, err := s.inbox(ctx, v)
		if err != nil {
			return nil, err
		}
		return s.part("approvals", "live", d)
	})
}

func (s *Site) inbox(ctx context.Context, v *visit) (d approvalsData, err error) {
	list, err := s.Desk.Open(ctx, v.User.ID, inboxMost)
	if err != nil {
		return d, err
	}
	d.Rows = s.approvalRows(ctx, v, list)
	return d, nil
}

func (s *Site) approvalHistory(w http.ResponseWriter, r *http.Request, v *visit) error {
	list, err := s.Desk.History(r.Context(), v.User.ID, r.URL.Query().Get("before"), historyPage+1)
	if err != nil {
		return err
	}
	d := approvalsData{History: true}
	if len(list) > historyPage {
		list = list[:historyPage]
		d.Next = "/approvals/history?before=" + list[historyPage-1].ID
	}
	d.Rows = s.approvalRows(r.Context(), v, list)
	return s.show(w, r, v, http.StatusOK, "approvals", page{Title: "Approvals", Room: "approvals", Data: d})
}

// approvalRows names agents and people, each looked up once.
func (s *Site) approvalRows(ctx context.Context, v *visit, list []store.Approval) []approvalRow {
	names, titles := s.callers(ctx, v), map[string]string{}
	rows := make([]approvalRow, len(list))
	for i := range list {
		a := &list[i]
		if titles[a.AgentID] == "" {
			titles[a.AgentID] = "an agent that is gone"
			if agent, err := s.DB.Agent(ctx, a.AgentID); err == nil {
				titles[a.AgentID] = title(agent)
			}
		}
		rows[i] = approvalRow{
			ID: a.ID, Tool: clean(approval.Name(a), 120), Agent: titles[a.AgentID], Caller: names(a.Caller), Arguments: pieces(approval.Shown(a.Arguments)),
			At: a.CreatedAt, Until: a.ExpiresAt, Decided: a.DecidedAt, Open: a.Open(), Via: clean(a.Via, 20), Reason: clean(a.Reason, 500),
		}
		rows[i].State, rows[i].Mood = decision(a)
		switch {
		case strings.HasPrefix(a.DecidedBy, "user:"):
			rows[i].By = names(a.DecidedBy)
		case a.DecidedBy == "link":
			rows[i].By, rows[i].Via = "whoever had the link", ""
		default:
			rows[i].By = "nobody"
		}
	}
	return rows
}

// decision says in words what became of an approval, and how good that is.
func decision(a *store.Approval) (words, mood string) {
	switch {
	case a.Open():
		return "waiting", "busy"
	case a.State == store.ApprovalApproved && a.UsedAt.IsZero():
		return "approved, not used", "good"
	case a.State == store.ApprovalApproved:
		return "approved", "good"
	case a.State == store.ApprovalWithdrawn:
		return "withdrawn", ""
	}
	return string(a.State), "bad"
}

// decideApproval answers a form of the inbox, or of a conversation. Who comes second sees the first
// decision.
func (s *Site) decideApproval(w http.ResponseWriter, r *http.Request, v *visit) error {
	yes, back := strings.HasSuffix(r.URL.Path, "/approve"), "/approvals"
	if b := local(r.FormValue("back")); strings.HasPrefix(b, "/agents/") {
		back = b
	}
	_, err := s.Desk.Decide(r.Context(), r.PathValue("id"), approval.Decider{User: v.User, Via: "console"}, yes, r.FormValue("reason"))
	switch {
	case err == nil && quiet(r):
		w.WriteHeader(http.StatusNoContent)
		return nil
	case beeos.CodeOf(err) == beeos.Conflict && !quiet(r):
		return s.showInbox(w, r, v, http.StatusConflict, sentence(beeos.Public(err).Message))
	case err != nil:
		return err
	case yes:
		return s.done(w, r, back, "approved")
	}
	return s.done(w, r, back, "rejected")
}

// approvalNeeds is what Home says of approvals.
func (s *Site) approvalNeeds(ctx context.Context, v *visit) ([]need, error) {
	list, err := s.Desk.Open(ctx, v.User.ID, inboxMost)
	switch {
	case err != nil || len(list) == 0:
		return nil, err
	case len(list) > 3:
		return []need{{Text: plural(len(list), "tool call") + " wait for your approval.", Link: "/approvals", Label: "Decide"}}, nil
	}
	var needs []need
	for _, row := range s.approvalRows(ctx, v, list) {
		needs = append(needs, need{Text: row.Agent + " wants to call " + row.Tool + ".", Link: "/approvals#ask-" + row.ID, Label: "Decide"})
	}
	return needs, nil
}

// waiting is the number on the badge. A page without it is still a page, so
// an error only leaves it out.
func (s *Site) waiting(ctx context.Context, v *visit) int {
	if v.User.ID == "" {
		return 0
	}
	n, err := s.DB.OpenApprovals(ctx, v.User.ID)
	if err != nil && ctx.Err() == nil {
		s.Log.WarnContext(ctx, "a page has no badge", "err", err)
	}
	return n
}

// withBadge puts the badge into what a stream sends.
func (s *Site) withBadge(v *visit, render func(context.Context) ([]byte, error)) func(context.Context) ([]byte, error) {
	return func(ctx context.Context) ([]byte, error) {
		badge, err := s.part("approvals", "badge-live", s.waiting(ctx, v))
		if err != nil {
			return nil, err
		}
		body, err := render(ctx)
		return append(badge, body...), err
	}
}

// badgeLive is the stream of pages that have none of their own.
func (s *Site) badgeLive(w http.ResponseWriter, r *http.Request, v *visit) error {
	return s.stream(w, r, v, func(context.Context) ([]byte, error) { return nil, nil })
}
