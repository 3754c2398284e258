package rest

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/approval"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// approvalView is a tool call that waits, or waited, for a person.
type approvalView struct {
	ID            string          `json:"id"`
	AgentID       string          `json:"agent_id"`
	Conversation  string          `json:"conversation_id"`
	MessageID     string          `json:"message_id"`
	Caller        string          `json:"caller"`
	Skill         string          `json:"skill,omitempty"`
	Tool          string          `json:"tool"`
	Arguments     json.RawMessage `json:"arguments"`
	Hash          string          `json:"arguments_sha256"`
	PolicyVersion string          `json:"policy_version"`
	Status        approvals.State `json:"status"`
	RequestedAt   time.Time       `json:"requested_at"`
	ExpiresAt     time.Time       `json:"expires_at"`
	DecidedAt     time.Time       `json:"decided_at,omitzero"`
	DecidedBy     string          `json:"decided_by,omitempty"`
	Via           string          `json:"via,omitempty"`
	Reason        string          `json:"reason,omitempty"`
	UsedAt        time.Time       `json:"used_at,omitzero"`
}

func viewApproval(a *approvals.Approval) approvalView {
	return approvalView{
		ID: a.ID, AgentID: a.AgentID, Conversation: a.Channel, MessageID: a.Turn, Caller: a.Caller, Skill: a.Skill, Tool: a.Tool,
		Arguments: a.Arguments, Hash: hex.EncodeToString(a.Hash), PolicyVersion: a.PolicyVersion, Status: a.State,
		RequestedAt: a.CreatedAt, ExpiresAt: a.ExpiresAt, DecidedAt: a.DecidedAt, DecidedBy: a.DecidedBy, Via: a.Via, Reason: a.Reason, UsedAt: a.UsedAt,
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
func (s *Surface) listApprovals(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	limit, err := query(r, "limit", 50, 1, 200)
	if err != nil {
		return err
	}
	f := approvals.Filter{OwnerID: c.UserID, Before: r.URL.Query().Get("since"), Limit: int(limit) + 1} // one more tells whether there are more
	if f.Before != "" && beeos.IDTime(f.Before).IsZero() {
		return beeos.Errorf(beeos.InvalidParam, "since must be the next_since of the page before")
	}
	open := true
	switch r.URL.Query().Get("status") {
	case "", "pending":
		f.Open = &open
	case "decided":
		open = false
		f.Open = &open
	case "all":
	default:
		return beeos.Errorf(beeos.InvalidParam, "status must be pending, decided or all")
	}
	rows, err := s.DB.Approvals.List(r.Context(), f)
	if err != nil {
		return err
	}
	list := approvalList{Success: true, Data: []approvalView{}, HasMore: len(rows) > int(limit)}
	for _, a := range rows[:min(len(rows), int(limit))] {
		if open && f.Open != nil && !a.ExpiresAt.After(s.now()) {
			continue // about to be swept
		}
		list.Data = append(list.Data, viewApproval(&a))
	}
	if list.HasMore {
		list.NextSince = rows[limit-1].ID
	}
	httpd.WriteJSON(w, http.StatusOK, list)
	return nil
}

// decider is the caller as somebody who decides.
func (s *Surface) decider(ctx context.Context, c beeos.Caller) (approval.Decider, error) {
	u, err := s.DB.People.GetUser(ctx, c.UserID)
	return approval.Decider{User: u, Via: "rest"}, err
}

func (s *Surface) getApproval(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	a, err := s.approval(r, c)
	if err != nil {
		return err
	}
	httpd.WriteData(w, http.StatusOK, viewApproval(&a))
	return nil
}

func (s *Surface) approval(r *http.Request, c beeos.Caller) (approvals.Approval, error) {
	by, err := s.decider(r.Context(), c)
	if err != nil {
		return approvals.Approval{}, err
	}
	return s.Desk.Find(r.Context(), r.PathValue("id"), by)
}

func (s *Surface) approve(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	return s.decide(w, r, c, true)
}

func (s *Surface) reject(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	return s.decide(w, r, c, false)
}

// decide takes an optional body with a reason, which the agent is told.
func (s *Surface) decide(w http.ResponseWriter, r *http.Request, c beeos.Caller, yes bool) error {
	var reason string
	if r.ContentLength != 0 {
		if err := read(w, r, settingLimit, true, shape{"reason": &reason}); err != nil {
			return err
		}
	}
	by, err := s.decider(r.Context(), c)
	if err != nil {
		return err
	}
	a, err := s.Desk.Decide(r.Context(), r.PathValue("id"), by, yes, reason)
	if err != nil {
		return err
	}
	httpd.WriteData(w, http.StatusOK, viewApproval(&a))
	return nil
}

type approvalLinkView struct {
	URL       string    `json:"url"`
	ExpiresAt time.Time `json:"expires_at"`
}

// linkApproval makes an address at which whoever has it may decide, once.
func (s *Surface) linkApproval(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	a, err := s.approval(r, c)
	if err != nil {
		return err
	}
	url, err := s.Acts.LinkApproval(r.Context(), c, &a)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	httpd.WriteData(w, http.StatusCreated, approvalLinkView{URL: url, ExpiresAt: a.ExpiresAt})
	return nil
}
