package web

import (
	"context"
	"net/http"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/approval"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

const (
	inboxMost   = 100
	historyPage = 50
)

type approvalsData struct {
	Rows    []page.ApprovalCard
	History bool
	Next    string // address of the older ones
}

func (s *Site) approvals(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	return s.showInbox(w, r, v, http.StatusOK, "")
}

func (s *Site) showInbox(w http.ResponseWriter, r *http.Request, v *page.Visitor, status int, problem string) error {
	d, err := s.inbox(r.Context(), v)
	if err != nil {
		return err
	}
	return s.ShowPage(w, r, v, status, "approvals", page.View{Title: "Approvals", Room: "approvals", Live: "/approvals/live", Here: "/approvals", Problem: problem, Data: d})
}

func (s *Site) approvalsLive(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	return s.StreamPage(w, r, v, func(ctx context.Context) ([]byte, error) {
		d, err := s.inbox(ctx, v)
		if err != nil {
			return nil, err
		}
		return s.RenderPart("approvals", "live", d)
	})
}

func (s *Site) inbox(ctx context.Context, v *page.Visitor) (d approvalsData, err error) {
	list, err := s.Approvals.Open(ctx, v.User.ID, inboxMost)
	if err != nil {
		return d, err
	}
	d.Rows = s.approvalRows(ctx, v, list)
	return d, nil
}

func (s *Site) approvalHistory(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	list, err := s.Approvals.History(r.Context(), v.User.ID, r.URL.Query().Get("before"), historyPage+1)
	if err != nil {
		return err
	}
	d := approvalsData{History: true}
	if len(list) > historyPage {
		list = list[:historyPage]
		d.Next = "/approvals/history?before=" + list[historyPage-1].ID
	}
	d.Rows = s.approvalRows(r.Context(), v, list)
	return s.ShowPage(w, r, v, http.StatusOK, "approvals", page.View{Title: "Approvals", Room: "approvals", Data: d})
}

// approvalRows names agents and people, each looked up once.
func (s *Site) approvalRows(ctx context.Context, v *page.Visitor, list []approvals.Approval) []page.ApprovalCard {
	names, titles := s.callers(ctx, v), map[string]string{}
	rows := make([]page.ApprovalCard, len(list))
	for i := range list {
		a := &list[i]
		if titles[a.AgentID] == "" {
			titles[a.AgentID] = "an agent that is gone"
			if agent, err := s.DB.Agents.Get(ctx, a.AgentID); err == nil {
				titles[a.AgentID] = page.AgentTitle(agent)
			}
		}
		rows[i] = page.ApprovalCard{
			ID: a.ID, Tool: safetext.Line(approval.ToolName(a), 120), Agent: titles[a.AgentID], Caller: names(a.Caller), Arguments: safetext.Pieces(approval.FormatArguments(a.Arguments)),
			At: a.CreatedAt, Until: a.ExpiresAt, Decided: a.DecidedAt, Open: a.Open(), Via: safetext.Line(a.Via, 20), Reason: safetext.Line(a.Reason, 500),
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
func decision(a *approvals.Approval) (words, mood string) {
	switch {
	case a.Open():
		return "waiting", "busy"
	case a.State == approvals.Approved && a.UsedAt.IsZero():
		return "approved, not used", "good"
	case a.State == approvals.Approved:
		return "approved", "good"
	case a.State == approvals.Withdrawn:
		return "withdrawn", ""
	}
	return string(a.State), "bad"
}

// decideApproval answers a form of the inbox, or of a conversation. Who comes second sees the first
// decision.
func (s *Site) decideApproval(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	yes, back := strings.HasSuffix(r.URL.Path, "/approve"), "/approvals"
	if b := page.LocalPath(r.FormValue("back")); strings.HasPrefix(b, "/agents/") {
		back = b
	}
	_, err := s.Approvals.Decide(r.Context(), r.PathValue("id"), approval.Decider{User: v.User, Via: "console"}, yes, r.FormValue("reason"))
	switch {
	case err == nil && page.IsScripted(r):
		w.WriteHeader(http.StatusNoContent)
		return nil
	case beeos.CodeOf(err) == beeos.Conflict && !page.IsScripted(r):
		return s.showInbox(w, r, v, http.StatusConflict, page.Sentence(beeos.Public(err).Message))
	case err != nil:
		return err
	case yes:
		return page.Redirect(w, r, back, "approved")
	}
	return page.Redirect(w, r, back, "rejected")
}

// approvalNeeds is what Home says of approvals.
func (s *Site) approvalNeeds(ctx context.Context, v *page.Visitor) ([]need, error) {
	list, err := s.Approvals.Open(ctx, v.User.ID, inboxMost)
	switch {
	case err != nil || len(list) == 0:
		return nil, err
	case len(list) > 3:
		return []need{{Text: page.Plural(len(list), "tool call") + " wait for your approval.", Link: "/approvals", Label: "Decide"}}, nil
	}
	var needs []need
	for _, row := range s.approvalRows(ctx, v, list) {
		needs = append(needs, need{Text: row.Agent + " wants to call " + row.Tool + ".", Link: "/approvals#ask-" + row.ID, Label: "Decide"})
	}
	return needs, nil
}
