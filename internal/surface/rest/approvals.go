package rest

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/approval"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/surface/rest/route"
)

// approvalView is a tool call that waits, or waited, for a person.
type approvalView struct {
	ID            string          `json:"id"`
	AgentID       string          `json:"agent_id"`
	Conversation  string          `json:"conversation_id"`
	MessageID     string          `json:"message_id"`
	Caller        string          `json:"caller"`
	CallerName    string          `json:"caller_name"`
	Skill         string          `json:"skill,omitempty"`
	Tool          string          `json:"tool"`
	Arguments     json.RawMessage `json:"arguments"`
	Hash          string          `json:"arguments_sha256,omitempty"` // of none that hold secrets
	PolicyVersion string          `json:"policy_version"`
	Status        approvals.State `json:"status"`
	RequestedAt   time.Time       `json:"requested_at"`
	ExpiresAt     time.Time       `json:"expires_at"`
	DecidedAt     time.Time       `json:"decided_at,omitzero"`
	DecidedBy     string          `json:"decided_by,omitempty"`
	DeciderName   string          `json:"decided_by_name,omitempty"` // if it was a person
	Via           string          `json:"via,omitempty"`
	Reason        string          `json:"reason,omitempty"`
	UsedAt        time.Time       `json:"used_at,omitzero"`
	Needed        int             `json:"votes_needed"`
	Yes           int             `json:"yes_votes"` // counted where one is not enough
	OnlyReviewers bool            `json:"only_reviewers,omitempty"`
	Grant         string          `json:"approval_grant_id,omitempty"` // the earlier yes that answered
}

// viewApprovals returns what shows approvals with the names of people.
func (s *Surface) viewApprovals(r *route.Request) func(*approvals.Approval) approvalView {
	names := s.opt.Acts.NamePrincipals(r.Context(), r.Caller)
	return func(a *approvals.Approval) approvalView {
		v := viewApproval(a)
		if v.CallerName = names(a.Caller); strings.HasPrefix(a.DecidedBy, "user:") {
			v.DeciderName = names(a.DecidedBy)
		}
		return v
	}
}

func viewApproval(a *approvals.Approval) approvalView {
	return approvalView{
		ID: a.ID, AgentID: a.AgentID, Conversation: a.Channel, MessageID: a.Turn, Caller: a.Caller, Skill: a.Skill, Tool: a.Tool,
		Arguments: a.Arguments, Hash: hex.EncodeToString(a.Hash), PolicyVersion: a.PolicyVersion, Status: a.State,
		RequestedAt: a.CreatedAt, ExpiresAt: a.ExpiresAt, DecidedAt: a.DecidedAt, DecidedBy: a.DecidedBy, Via: a.Via, Reason: a.Reason, UsedAt: a.UsedAt,
		Needed: a.Need, Yes: a.Yes, OnlyReviewers: a.OnlyReviewers, Grant: a.Grant,
	}
}

type approvalList struct {
	Success   bool           `json:"success"`
	Data      []approvalView `json:"data"`
	HasMore   bool           `json:"has_more"`
	NextSince string         `json:"next_since,omitempty"` // an id, for since
}

// listApprovals lists what waits for the caller, or with status what was
// decided, or all; newest first.
func (s *Surface) listApprovals(r *route.Request) (any, error) {
	p, err := r.ReadPage(200)
	if err != nil {
		return nil, err
	}
	f := approvals.Filter{PersonID: r.Caller.UserID, At: s.opt.Now(), Before: p.Before, Limit: p.AtMost()}
	status := cmp.Or(r.URL.Query().Get("status"), "pending")
	open := status == "pending"
	switch status {
	case "pending", "decided":
		f.Open = &open
	case "all":
	default:
		return nil, beeos.Errorf(beeos.InvalidParam, "status must be pending, decided or all")
	}
	rows, err := s.opt.DB.Approvals.List(r.Context(), f)
	if err != nil {
		return nil, err
	}
	rows = s.opt.Approvals.Conceal(r.Context(), rows...)
	list := approvalList{Success: true}
	list.Data, list.NextSince = route.CutPage(p, rows, s.viewApprovals(r), func(a *approvals.Approval) string { return a.ID })
	list.HasMore = list.NextSince != ""
	if open {
		list.Data = slices.DeleteFunc(list.Data, func(v approvalView) bool { return !v.ExpiresAt.After(s.opt.Now()) }) // about to be swept
	}
	return route.Whole(http.StatusOK, list), nil
}

// findDecider returns the caller as somebody who decides.
func (s *Surface) findDecider(r *route.Request) (approval.Decider, error) {
	u, err := s.opt.DB.People.GetUser(r.Context(), r.Caller.UserID)
	return approval.Decider{User: u, Via: "rest"}, err
}

func (s *Surface) pathApproval(r *route.Request) (*approvals.Approval, error) {
	by, err := s.findDecider(r)
	if err != nil {
		return nil, err
	}
	a, err := s.opt.Approvals.Find(r.Context(), r.PathValue("id"), by)
	return &a, err
}

func (s *Surface) getApproval(r *route.Request, a *approvals.Approval) (any, error) {
	return s.viewApprovals(r)(&s.opt.Approvals.Conceal(r.Context(), *a)[0]), nil
}

// For how much a yes is, as requests say it.
const (
	forCall          = "call"
	forSameArguments = "same_arguments"
	forConversation  = "conversation"
)

// approveCall approves. An optional body has a reason, which the agent is told, and for
// how much more than this call the yes is.
func (s *Surface) approveCall(r *route.Request) (any, error) {
	var reason, span string
	var minutes int64
	if err := r.ReadOptional(route.SettingLimit, route.Strict, route.Shape{"reason": &reason, "for": &span, "minutes": &minutes}); err != nil {
		return nil, err
	}
	by, err := s.findDecider(r)
	if err != nil {
		return nil, err
	}
	lasts := approvals.Lasts{For: time.Duration(min(minutes, int64(approval.MaxLasts/time.Minute)+1)) * time.Minute, Conversation: span == forConversation}
	switch cmp.Or(span, forCall) {
	case forCall:
		if minutes != 0 {
			return nil, beeos.Errorf(beeos.InvalidParam, "minutes go with for, which is %s or %s", forSameArguments, forConversation)
		}
		a, err := s.opt.Approvals.Decide(r.Context(), r.PathValue("id"), by, true, reason)
		return s.viewDecided(r, a, err)
	case forSameArguments, forConversation:
		a, err := s.opt.Approvals.ApproveFor(r.Context(), r.PathValue("id"), by, reason, lasts)
		return s.viewDecided(r, a, err)
	}
	return nil, beeos.Errorf(beeos.InvalidParam, "for must be %s, %s or %s", forCall, forSameArguments, forConversation)
}

// rejectCall rejects. An optional body has a reason, which the agent is told.
func (s *Surface) rejectCall(r *route.Request) (any, error) {
	var reason string
	if err := r.ReadOptional(route.SettingLimit, route.Strict, route.Shape{"reason": &reason}); err != nil {
		return nil, err
	}
	by, err := s.findDecider(r)
	if err != nil {
		return nil, err
	}
	a, err := s.opt.Approvals.Decide(r.Context(), r.PathValue("id"), by, false, reason)
	return s.viewDecided(r, a, err)
}

func (s *Surface) viewDecided(r *route.Request, a approvals.Approval, err error) (any, error) {
	return s.viewApprovals(r)(&s.opt.Approvals.Conceal(r.Context(), a)[0]), err
}

type approvalLinkView struct {
	URL       string    `json:"url"`
	ExpiresAt time.Time `json:"expires_at"`
}

// linkApproval makes an address at which whoever has it may decide, once.
func (s *Surface) linkApproval(r *route.Request, a *approvals.Approval) (any, error) {
	r.ForbidCaching()
	url, err := s.opt.Acts.LinkApproval(r.Context(), r.Caller, a)
	return route.Created(approvalLinkView{url, a.ExpiresAt}), err
}
