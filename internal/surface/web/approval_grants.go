package web

import (
	"strconv"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/approval"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

// grantRow is a yes for more than one call.
type grantRow struct {
	ID, Tool, Agent, Caller, What, By string
	Until                             time.Time
}

func (s *Surface) listApprovalGrants(r *page.Request) ([]grantRow, error) {
	list, err := s.Acts.ApprovalGrants(r.Context(), r.Caller())
	names, titles := s.nameCallers(r.Context(), r.Visitor), s.nameAgents(r.Context())
	rows := make([]grantRow, len(list))
	for i, g := range list {
		rows[i] = grantRow{
			ID: g.ID, Tool: safetext.Line(approval.ToolName(&approvals.Approval{Skill: g.Skill, Tool: g.Tool}), 120),
			Agent: titles(g.AgentID), Caller: names(g.Caller), What: "the same arguments", By: names("user:" + g.GivenBy), Until: g.ExpiresAt,
		}
		if g.Channel != "" {
			rows[i].What = "any arguments, in one conversation"
		}
	}
	return rows, err
}

func (s *Surface) revokeApprovalGrant(r *page.Request) (page.Answer, error) {
	return page.Redirect("/approvals", "grant-gone"), s.Acts.RevokeApprovalGrant(r.Context(), r.Caller(), r.PathValue("grant"))
}

// readLasts reads for how much more than the call a yes is: minutes, or the
// conversation.
func readLasts(given string) (approvals.Lasts, error) {
	switch given {
	case "":
		return approvals.Lasts{}, nil
	case "conversation":
		return approvals.Lasts{Conversation: true}, nil
	}
	minutes, err := strconv.Atoi(given)
	if err != nil || minutes < 1 || minutes > int(approval.MaxLasts/time.Minute) {
		return approvals.Lasts{}, beeos.Errorf(beeos.InvalidParam, "a yes is for this call, for some minutes, or for this conversation")
	}
	return approvals.Lasts{For: time.Duration(minutes) * time.Minute}, nil
}
