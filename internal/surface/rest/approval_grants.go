package rest

import (
	"time"

	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/surface/rest/route"
)

// approvalGrantView is a yes for more than one call.
type approvalGrantView struct {
	ID           string    `json:"id"`
	AgentID      string    `json:"agent_id"`
	Caller       string    `json:"caller"`
	CallerName   string    `json:"caller_name"`
	Skill        string    `json:"skill,omitempty"`
	Tool         string    `json:"tool"`
	For          string    `json:"for"`
	Conversation string    `json:"conversation_id,omitempty"` // the one that it is for
	ApprovalID   string    `json:"approval_id"`
	GivenBy      string    `json:"given_by"`
	GiverName    string    `json:"given_by_name"`
	CreatedAt    time.Time `json:"created_at"`
	ExpiresAt    time.Time `json:"expires_at"`
}

func (s *Surface) listApprovalGrants(r *route.Request) (any, error) {
	list, err := s.opt.Acts.ApprovalGrants(r.Context(), r.Caller)
	names := s.opt.Acts.NamePrincipals(r.Context(), r.Caller)
	return route.Views(list, func(g *approvals.Grant) approvalGrantView {
		v := approvalGrantView{
			ID: g.ID, AgentID: g.AgentID, Caller: g.Caller, CallerName: names(g.Caller), Skill: g.Skill, Tool: g.Tool, For: forSameArguments, Conversation: g.Channel,
			ApprovalID: g.Approval, GivenBy: "user:" + g.GivenBy, GiverName: names("user:" + g.GivenBy), CreatedAt: g.CreatedAt, ExpiresAt: g.ExpiresAt,
		}
		if g.Channel != "" {
			v.For = forConversation
		}
		return v
	}), err
}

func (s *Surface) revokeApprovalGrant(r *route.Request) (any, error) {
	return route.NoContent, s.opt.Acts.RevokeApprovalGrant(r.Context(), r.Caller, r.PathValue("approvalGrantId"))
}
