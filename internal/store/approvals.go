package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/beeos/beeos"
)

// ApprovalState is what became of a tool call that a person was asked about.
type ApprovalState string

const (
	ApprovalPending   ApprovalState = "pending"
	ApprovalApproved  ApprovalState = "approved"
	ApprovalRejected  ApprovalState = "rejected"
	ApprovalExpired   ApprovalState = "expired"   // nobody decided in time, which is a no
	ApprovalWithdrawn ApprovalState = "withdrawn" // the call ended, or the rules changed
)

// Approval is one tool call that waits, or waited, for a person.
type Approval struct {
	ID            string
	OwnerID       string // who decides: the agent's owner
	AgentID       string
	Caller        string // a principal
	Channel       string
	Turn          string
	Skill         string // "" = the agent's own
	Tool          string
	Arguments     json.RawMessage // as the agent sent them, without space between tokens
	Hash          []byte          // SHA-256 of Arguments
	PolicyVersion string
	State         ApprovalState
	Reason        string
	DecidedBy     string // a principal, "link" or "system"
	Via           string
	DecidedAt     time.Time
	Spent         bool   // it was used, or is too old to be
	UsedBy        string // the agent's request that it was used for
	UsedAt        time.Time
	CreatedAt     time.Time
	ExpiresAt     time.Time // pending: the last moment to decide; approved: to use it
}

// Open reports whether nobody has decided yet.
func (a *Approval) Open() bool { return a.State == ApprovalPending }

const approvalColumns = "id, owner_id, agent_id, caller, channel, turn, skill, tool, arguments, hash, policy_version, " +
	"state, reason, decided_by, via, decided_at, spent, used_by, used_at, created_at, expires_at"

const (
	approvalSelect   = "SELECT " + approvalColumns + " FROM approvals "
	approvalQuestion = "turn = $1 AND skill = $2 AND tool = $3 AND hash = $4 AND policy_version = $5"
)

// AskApproval returns the row of a question: the one that its turn has asked
// already and not used up, or a new one. The request that used a row up gets
// that row again: it may not have heard the answer.
func (db *DB) AskApproval(ctx context.Context, a Approval, request string) (row Approval, fresh bool, err error) {
	question := []any{a.Turn, a.Skill, a.Tool, a.Hash, a.PolicyVersion}
	err = db.Tx(ctx, func(tx *sql.Tx) error {
		if row, err = scanApproval(tx.QueryRowContext(ctx, approvalSelect+"WHERE "+approvalQuestion+" AND spent AND used_by = $6", append(question[:5:5], request)...)); !Absent(err) {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE approvals SET spent = TRUE WHERE "+approvalQuestion+" AND NOT spent AND state = 'approved' AND expires_at <= $6",
			append(question[:5:5], micros(a.CreatedAt))...)
		if err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, "INSERT INTO approvals ("+approvalColumns+", open) VALUES ("+placeholders(1, 22)+") ON CONFLICT (turn, skill, tool, hash, policy_version) WHERE NOT spent DO NOTHING",
			a.ID, a.OwnerID, a.AgentID, a.Caller, a.Channel, a.Turn, a.Skill, a.Tool, string(a.Arguments), a.Hash, a.PolicyVersion,
			string(ApprovalPending), "", "", "", int64(0), false, "", int64(0), micros(a.CreatedAt), micros(a.ExpiresAt), true)
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		if err != nil {
			return err
		}
		fresh = n == 1
		row, err = scanApproval(tx.QueryRowContext(ctx, approvalSelect+"WHERE "+approvalQuestion+" AND NOT spent", question...))
		return err
	})
	if err != nil {
		return row, false, fmt.Errorf("ask for approval: %w", err)
	}
	return row, fresh, nil
}

// Approval returns one.
func (db *DB) Approval(ctx context.Context, id string) (Approval, error) {
	a, err := scanApproval(db.QueryRowContext(ctx, approvalSelect+"WHERE id = $1", id))
	if Absent(err) {
		return a, notFound("approval")
	}
	if err != nil {
		return a, fmt.Errorf("read approval: %w", err)
	}
	return a, nil
}

// ApprovalFilter selects approvals; what is empty does not count.
type ApprovalFilter struct {
	OwnerID string
	Open    *bool
	Before  string // id: only older ones
	Limit   int
}

// Approvals lists the newest first.
func (db *DB) Approvals(ctx context.Context, f ApprovalFilter) ([]Approval, error) {
	if f.Open != nil {
		return db.approvals(ctx, f, *f.Open)
	}
	open, err := db.approvals(ctx, f, true)
	if err != nil {
		return nil, err
	}
	decided, err := db.approvals(ctx, f, false)
	if err != nil {
		return nil, err
	}
	all := append(open, decided...)
	slices.SortFunc(all, func(a, b Approval) int { return cmp.Compare(b.ID, a.ID) })
	return all[:min(len(all), f.Limit)], nil
}

func (db *DB) approvals(ctx context.Context, f ApprovalFilter, open bool) ([]Approval, error) {
	var c conditions
	c.addUnlessEmpty("owner_id = ", f.OwnerID)
	c.addUnlessEmpty("id < ", f.Before)
	if open {
		c.text("open")
	} else {
		c.text("NOT open")
	}
	c.args = append(c.args, f.Limit)
	rows, err := db.QueryContext(ctx, approvalSelect+c.sql()+fmt.Sprintf(" ORDER BY id DESC LIMIT $%d", len(c.args)), c.args...)
	list, err := collect(rows, err, scanApproval)
	if err != nil {
		return nil, fmt.Errorf("list approvals: %w", err)
	}
	return list, nil
}

// TurnApprovals lists what was asked for these turns, the oldest first.
func (db *DB) TurnApprovals(ctx context.Context, turns []string) ([]Approval, error) {
	if len(turns) == 0 {
		return nil, nil
	}
	args := make([]any, len(turns))
	for i, id := range turns {
		args[i] = id
	}
	rows, err := db.QueryContext(ctx, approvalSelect+"WHERE turn IN ("+placeholders(1, len(turns))+") ORDER BY id", args...)
	list, err := collect(rows, err, scanApproval)
	if err != nil {
		return nil, fmt.Errorf("list approvals of turns: %w", err)
	}
	return list, nil
}

// OpenApprovals counts what waits for somebody.
func (db *DB) OpenApprovals(ctx context.Context, ownerID string) (n int, err error) {
	if err = db.QueryRowContext(ctx, "SELECT COUNT(*) FROM approvals WHERE owner_id = $1 AND open", ownerID).Scan(&n); err != nil {
		return 0, fmt.Errorf("count approvals: %w", err)
	}
	return n, nil
}

// TurnAwaitsApproval reports whether a person is being asked for a turn.
func (db *DB) TurnAwaitsApproval(ctx context.Context, turn string, now time.Time) (bool, error) {
	var n int
	err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM approvals WHERE turn = $1 AND open AND expires_at > $2", turn, micros(now)).Scan(&n)
	if err != nil {
		return false, fmt.Errorf("look for an approval: %w", err)
	}
	return n > 0, nil
}

// SettledApprovals returns those of the ids that have been decided.
func (db *DB) SettledApprovals(ctx context.Context, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = id
	}
	return texts(ctx, db, "SELECT id FROM approvals WHERE NOT open AND id IN ("+placeholders(1, len(ids))+")", args...)
}

func scanApproval(row scanner) (a Approval, err error) {
	var arguments string
	var decided, used, created, expires int64
	err = row.Scan(&a.ID, &a.OwnerID, &a.AgentID, &a.Caller, &a.Channel, &a.Turn, &a.Skill, &a.Tool, &arguments, &a.Hash, &a.PolicyVersion,
		&a.State, &a.Reason, &a.DecidedBy, &a.Via, &decided, &a.Spent, &a.UsedBy, &used, &created, &expires)
	a.Arguments = json.RawMessage(arguments)
	a.DecidedAt, a.UsedAt, a.CreatedAt, a.ExpiresAt = moment(decided), moment(used), moment(created), moment(expires)
	return a, err
}

// auditOf is the line of the audit trail about a decision.
func auditOf(a *Approval) AuditRow {
	return AuditRow{
		ID: beeos.NewID(), OwnerID: a.OwnerID, At: a.DecidedAt, Actor: a.DecidedBy, Action: "approval." + string(a.State), Subject: a.ID,
		Detail: map[string]string{
			"agent": a.AgentID, "skill": a.Skill, "tool": a.Tool, "caller": a.Caller, "via": a.Via, "reason": a.Reason,
			"arguments_sha256": fmt.Sprintf("%x", a.Hash),
		},
	}
}
