package web

import (
	"context"
	"fmt"
	"slices"
	"strings"

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
	Grants  []grantRow
	History bool
	Next    string // address of the older ones
}

func (s *Surface) showApprovals(r *page.Request) (page.Answer, error) {
	list, err := s.Approvals.Open(r.Context(), r.User.ID, inboxMost)
	if err != nil {
		return nil, err
	}
	d := approvalsData{Rows: s.describeApprovals(r.Context(), r.Visitor, list)}
	d.Grants, err = s.listApprovalGrants(r)
	return page.View{Page: "approvals", Title: "Approvals", Room: "approvals", Live: "/approvals/live", Here: "/approvals", Data: d}, err
}

func (s *Surface) showApprovalHistory(r *page.Request) (page.Answer, error) {
	list, err := s.Approvals.History(r.Context(), r.User.ID, r.URL.Query().Get("before"), historyPage+1)
	d := approvalsData{History: true}
	if len(list) > historyPage {
		list = list[:historyPage]
		d.Next = "/approvals/history?before=" + list[historyPage-1].ID
	}
	d.Rows = s.describeApprovals(r.Context(), r.Visitor, list)
	return page.View{Page: "approvals", Title: "Approvals", Room: "approvals", Data: d}, err
}

// describeApprovals makes cards that name agents and people, each looked up
// once, and say what the visitor may do.
func (s *Surface) describeApprovals(ctx context.Context, v *page.Visitor, list []approvals.Approval) []page.ApprovalCard {
	names, titles, list := s.nameCallers(ctx, v), s.nameAgents(ctx), s.Approvals.Conceal(ctx, list...)
	standings, err := s.Approvals.Standings(ctx, &v.User, list)
	if err != nil {
		s.Log.ErrorContext(ctx, "approvals are shown without what the visitor may do", "err", err)
		standings = make([]approval.Standing, len(list))
	}
	rows := make([]page.ApprovalCard, len(list))
	for i := range list {
		a := &list[i]
		rows[i] = page.ApprovalCard{
			ID: a.ID, Tool: safetext.Line(approval.ToolName(a), 120), Agent: titles(a.AgentID), Caller: names(a.Caller), Arguments: safetext.Pieces(approval.FormatArguments(a.Arguments)),
			At: a.CreatedAt, Until: a.ExpiresAt, Decided: a.DecidedAt, Open: a.Open(), Via: safetext.Line(a.Via, 20), Reason: safetext.Line(a.Reason, 500),
			ReadOnly: !standings[i].MayDecide, Voted: standings[i].Voted, MayLast: approval.MayLast(a),
		}
		rows[i].State, rows[i].Mood = describeDecision(a)
		if a.Need > 1 {
			rows[i].Votes = fmt.Sprintf("%d of %d said yes", a.Yes, a.Need)
		}
		switch {
		case strings.HasPrefix(a.DecidedBy, "user:"):
			rows[i].By = names(a.DecidedBy)
		case a.DecidedBy == "link":
			rows[i].By, rows[i].Via = "whoever had the link", ""
		case a.Grant != "":
			rows[i].By, rows[i].Via = "an earlier yes", ""
		default:
			rows[i].By = "nobody"
		}
	}
	return rows
}

// nameAgents returns what names agents, each looked up once.
func (s *Surface) nameAgents(ctx context.Context) func(id string) string {
	titles := map[string]string{}
	return func(id string) string {
		if titles[id] == "" {
			titles[id] = "an agent that is gone"
			if agent, err := s.Agents.Get(ctx, id); err == nil {
				titles[id] = page.AgentTitle(agent)
			}
		}
		return titles[id]
	}
}

// describeDecision says in words what became of an approval, and how good that is.
func describeDecision(a *approvals.Approval) (words, mood string) {
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

// decideApproval answers a form of the inbox, or of a conversation. Who comes
// second sees the first decision.
func (s *Surface) decideApproval(r *page.Request) (page.Answer, error) {
	yes, back, did := strings.HasSuffix(r.URL.Path, "/approve"), "/approvals", "rejected"
	if b := page.LocalPath(r.FormValue("back")); strings.HasPrefix(b, "/agents/") {
		back = b
	}
	by := approval.Decider{User: r.User, Via: "console"}
	lasts, err := readLasts(r.FormValue("for"))
	if err != nil {
		return nil, err
	}
	var a approvals.Approval
	if yes && lasts != (approvals.Lasts{}) {
		a, err = s.Approvals.ApproveFor(r.Context(), r.PathValue("id"), by, r.FormValue("reason"), lasts)
	} else {
		a, err = s.Approvals.Decide(r.Context(), r.PathValue("id"), by, yes, r.FormValue("reason"))
	}
	switch {
	case yes && a.Open():
		did = "voted"
	case yes:
		did = "approved"
	}
	return page.Redirect(back, did), err
}

// listApprovalNeeds returns what Home says of approvals.
func (s *Surface) listApprovalNeeds(ctx context.Context, v *page.Visitor) ([]need, error) {
	list, err := s.Approvals.Open(ctx, v.User.ID, inboxMost)
	rows := slices.DeleteFunc(s.describeApprovals(ctx, v, list), func(c page.ApprovalCard) bool { return c.ReadOnly || c.Voted })
	switch {
	case err != nil || len(rows) == 0:
		return nil, err
	case len(rows) > 3:
		return []need{{Text: page.Plural(len(rows), "tool call") + " wait for your approval.", Link: "/approvals", Label: "Decide"}}, nil
	}
	var needs []need
	for _, row := range rows {
		needs = append(needs, need{Text: row.Agent + " wants to call " + row.Tool + ".", Link: "/approvals#ask-" + row.ID, Label: "Decide"})
	}
	return needs, nil
}
