package web

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

// approveData is the page behind a link with which somebody may decide.
type approveData struct {
	Token      string
	Row        page.ApprovalCard
	Head, Text string // once it is decided
}

// approvePage shows what is asked. Looking decides nothing: mail programs look
// at every link.
func (s *Site) approvePage(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	token := r.URL.Query().Get("token")
	_, a, err := s.Approvals.FindByLink(r.Context(), token)
	if err != nil {
		return err
	}
	return s.showApprove(w, r, v, http.StatusOK, token, &a)
}

func (s *Site) showApprove(w http.ResponseWriter, r *http.Request, v *page.Visitor, status int, token string, a *approvals.Approval) error {
	d := approveData{Token: token}
	switch a.State {
	case approvals.Pending:
		d.Row = s.approvalRows(r.Context(), &page.Visitor{User: beeos.User{ID: a.OwnerID}}, []approvals.Approval{*a})[0]
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
		d.Text = "Decided by " + s.decider(r.Context(), a) + " on " + a.DecidedAt.UTC().Format("2 Jan 2006 at 15:04:05 UTC") + ". " + d.Text
	}
	return s.ShowPage(w, r, v, status, "approve", page.View{Title: "Approval", Here: "/approvals", Data: d})
}

// decider says who decided, to whoever has a link: by name, as a person who was
// sent one knows who else was.
func (s *Site) decider(ctx context.Context, a *approvals.Approval) string {
	switch id, person := strings.CutPrefix(a.DecidedBy, "user:"); {
	case a.DecidedBy == "link":
		return "whoever had the link"
	case !person:
		return "somebody"
	default:
		u, err := s.DB.People.GetUser(ctx, id)
		if err != nil {
			return "somebody"
		}
		return safetext.Line(cmp.Or(u.Name, "somebody"), 80)
	}
}

// approveByLink takes the decision. Who is signed in decides by name.
func (s *Site) approveByLink(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	token, choice := r.FormValue("token"), r.FormValue("decision")
	by, a, err := s.Approvals.FindByLink(r.Context(), token)
	if err != nil {
		return err
	}
	if choice != "approve" && choice != "reject" {
		return beeos.Errorf(beeos.InvalidParam, "choose Approve or Reject")
	}
	if v.User.ID == a.OwnerID {
		by.User = v.User
	}
	a, err = s.Approvals.Decide(r.Context(), a.ID, by, choice == "approve", r.FormValue("reason"))
	switch {
	case beeos.CodeOf(err) == beeos.Conflict:
		return s.showApprove(w, r, v, http.StatusConflict, token, &a)
	case err != nil:
		return err
	}
	return s.showApprove(w, r, v, http.StatusOK, token, &a)
}
