package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

// linkData is the page behind a link with which somebody may decide.
type linkData struct {
	Token      string
	Row        page.ApprovalCard
	Head, Text string // once it is decided
}

// openApprovalLink shows what is asked. Looking decides nothing: mail programs
// look at every link.
func (s *Surface) openApprovalLink(r *page.Request) (page.Answer, error) {
	_, a, err := s.Approvals.FindByLink(r.Context(), r.URL.Query().Get("token"))
	if err != nil {
		return nil, err
	}
	return s.viewApprovalLink(r, http.StatusOK, &a), nil
}

func (s *Surface) viewApprovalLink(r *page.Request, status int, a *approvals.Approval) page.View {
	d := linkData{Token: r.FormValue("token")}
	switch a.State {
	case approvals.Pending:
		d.Row = s.describeApprovals(r.Context(), &page.Visitor{User: beeos.User{ID: a.OwnerID}}, []approvals.Approval{*a})[0]
		if d.Row.Caller == "you" { // who reads this may be anybody
			d.Row.Caller = "the agent's owner"
		}
	case approvals.Approved:
		d.Head, d.Text = "Approved", "The agent goes on. You can close this page."
	case approvals.Rejected:
		d.Head, d.Text = "Rejected", "The agent was told. You can close this page."
	case approvals.Expired:
		d.Head, d.Text = "Too late", "Nobody decided in time, so it was rejected."
	default:
		d.Head, d.Text = "Nothing to decide", "The call has ended, or the rules have changed."
	}
	byPerson := a.State == approvals.Approved || a.State == approvals.Rejected
	if byPerson && (status == http.StatusConflict || r.Method == http.MethodGet) { // not just now
		d.Text = "Decided by " + s.nameDecider(r.Context(), a) + " on " + a.DecidedAt.UTC().Format("2 Jan 2006 at 15:04:05 UTC") + ". " + d.Text
	}
	return page.View{Page: "approval_link", Status: status, Title: "Approval", Here: "/approvals", Data: d}
}

// nameDecider says who decided, to whoever has a link: by name, as a person who
// was sent one knows who else was.
func (s *Surface) nameDecider(ctx context.Context, a *approvals.Approval) string {
	switch id, person := strings.CutPrefix(a.DecidedBy, "user:"); {
	case a.DecidedBy == "link":
		return "whoever had the link"
	case !person:
		return "somebody"
	default:
		u, err := s.Users.GetUser(ctx, id)
		if err != nil {
			return "somebody"
		}
		return safetext.Line(cmp.Or(u.Name, "somebody"), 80)
	}
}

// decideByLink takes the decision. Who is signed in decides by name.
func (s *Surface) decideByLink(r *page.Request) (page.Answer, error) {
	choice := r.FormValue("decision")
	by, a, err := s.Approvals.FindByLink(r.Context(), r.FormValue("token"))
	if err != nil {
		return nil, err
	}
	if choice != "approve" && choice != "reject" {
		return nil, beeos.Errorf(beeos.InvalidParam, "choose Approve or Reject")
	}
	if by.IsFor(r.User.ID) {
		by.User = r.User
	}
	a, err = s.Approvals.Decide(r.Context(), a.ID, by, choice == "approve", r.FormValue("reason"))
	switch {
	case beeos.CodeOf(err) == beeos.Conflict:
		return s.viewApprovalLink(r, http.StatusConflict, &a), nil
	case err == nil && a.Open():
		d := linkData{Head: "Counted", Text: fmt.Sprintf("%d of %d people have said yes. The call waits for the others. You can close this page.", a.Yes, a.Need)}
		return page.View{Page: "approval_link", Title: "Approval", Here: "/approvals", Data: d}, nil
	}
	return s.viewApprovalLink(r, http.StatusOK, &a), err
}
