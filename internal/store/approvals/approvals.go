// Package approvals keeps the tool calls that people decide about, their
// decisions, and the rules that say which calls need one.
package approvals

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/audit"
	"github.com/beeos/beeos/internal/store/database"
)

// Table keeps the tool calls that people decide about, and the rules for them.
type Table struct{ db *database.DB }

// New returns the tables of db.
func New(db *database.DB) *Table { return &Table{db: db} }

// State is what became of a tool call that a person was asked about.
type State string

const (
	Pending   State = "pending"
	Approved  State = "approved"
	Rejected  State = "rejected"
	Expired   State = "expired"   // nobody decided in time, which is a no
	Withdrawn State = "withdrawn" // the call ended, or the rules changed
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
	State         State
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
func (a *Approval) Open() bool { return a.State == Pending }

const approvalColumns = "id, owner_id, agent_id, caller, channel, turn, skill, tool, arguments, hash, policy_version, " +
	"state, reason, decided_by, via, decided_at, spent, used_by, used_at, created_at, expires_at"

const (
	approvalSelect   = "SELECT " + approvalColumns + " FROM approvals "
	approvalQuestion = "turn = $1 AND skill = $2 AND tool = $3 AND hash = $4 AND policy_version = $5"
)

// Ask returns the row of a question: the one that its turn has asked
// already and not used up, or a new one. The request that used a row up gets
// that row again: it may not have heard the answer.
func (tb *Table) Ask(ctx context.Context, a Approval, request string) (row Approval, fresh bool, err error) {
	question := []any{a.Turn, a.Skill, a.Tool, a.Hash, a.PolicyVersion}
	err = tb.db.Tx(ctx, func(tx *sql.Tx) error {
		if row, err = scanApproval(tx.QueryRowContext(ctx, approvalSelect+"WHERE "+approvalQuestion+" AND spent AND used_by = $6", append(question[:5:5], request)...)); !database.IsAbsent(err) {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE approvals SET spent = TRUE WHERE "+approvalQuestion+" AND NOT spent AND state = 'approved' AND expires_at <= $6",
			append(question[:5:5], database.Micros(a.CreatedAt))...)
		if err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, "INSERT INTO approvals ("+approvalColumns+", open) VALUES ("+database.Placeholders(1, 22)+") ON CONFLICT (turn, skill, tool, hash, policy_version) WHERE NOT spent DO NOTHING",
			a.ID, a.OwnerID, a.AgentID, a.Caller, a.Channel, a.Turn, a.Skill, a.Tool, string(a.Arguments), a.Hash, a.PolicyVersion,
			string(Pending), "", "", "", int64(0), false, "", int64(0), database.Micros(a.CreatedAt), database.Micros(a.ExpiresAt), true)
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

// Get returns one.
func (tb *Table) Get(ctx context.Context, id string) (Approval, error) {
	a, err := scanApproval(tb.db.QueryRowContext(ctx, approvalSelect+"WHERE id = $1", id))
	if database.IsAbsent(err) {
		return a, database.NotFound("approval")
	}
	if err != nil {
		return a, fmt.Errorf("read approval: %w", err)
	}
	return a, nil
}

// Filter selects approvals; what is empty does not count.
type Filter struct {
	OwnerID string
	Open    *bool
	Before  string // id: only older ones
	Limit   int
}

// List lists the newest first.
func (tb *Table) List(ctx context.Context, f Filter) ([]Approval, error) {
	if f.Open != nil {
		return tb.listByState(ctx, f, *f.Open)
	}
	open, err := tb.listByState(ctx, f, true)
	if err != nil {
		return nil, err
	}
	decided, err := tb.listByState(ctx, f, false)
	if err != nil {
		return nil, err
	}
	all := append(open, decided...)
	slices.SortFunc(all, func(a, b Approval) int { return cmp.Compare(b.ID, a.ID) })
	return all[:min(len(all), f.Limit)], nil
}

func (tb *Table) listByState(ctx context.Context, f Filter, open bool) ([]Approval, error) {
	var c database.Conditions
	c.AddUnlessEmpty("owner_id = ", f.OwnerID)
	c.AddUnlessEmpty("id < ", f.Before)
	if open {
		c.Text("open")
	} else {
		c.Text("NOT open")
	}
	c.Args = append(c.Args, f.Limit)
	rows, err := tb.db.QueryContext(ctx, approvalSelect+c.SQL()+fmt.Sprintf(" ORDER BY id DESC LIMIT $%d", len(c.Args)), c.Args...)
	list, err := database.Collect(rows, err, scanApproval)
	if err != nil {
		return nil, fmt.Errorf("list approvals: %w", err)
	}
	return list, nil
}

// ListByTurns lists what was asked for these turns, the oldest first.
func (tb *Table) ListByTurns(ctx context.Context, turns []string) ([]Approval, error) {
	if len(turns) == 0 {
		return nil, nil
	}
	args := make([]any, len(turns))
	for i, id := range turns {
		args[i] = id
	}
	rows, err := tb.db.QueryContext(ctx, approvalSelect+"WHERE turn IN ("+database.Placeholders(1, len(turns))+") ORDER BY id", args...)
	list, err := database.Collect(rows, err, scanApproval)
	if err != nil {
		return nil, fmt.Errorf("list approvals of turns: %w", err)
	}
	return list, nil
}

// CountOpen counts what waits for somebody.
func (tb *Table) CountOpen(ctx context.Context, ownerID string) (n int, err error) {
	if err = tb.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM approvals WHERE owner_id = $1 AND open", ownerID).Scan(&n); err != nil {
		return 0, fmt.Errorf("count approvals: %w", err)
	}
	return n, nil
}

// TurnAwaits reports whether a person is being asked for a turn.
func (tb *Table) TurnAwaits(ctx context.Context, turn string, now time.Time) (bool, error) {
	var n int
	err := tb.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM approvals WHERE turn = $1 AND open AND expires_at > $2", turn, database.Micros(now)).Scan(&n)
	if err != nil {
		return false, fmt.Errorf("look for an approval: %w", err)
	}
	return n > 0, nil
}

// ListSettled returns those of the ids that have been decided.
func (tb *Table) ListSettled(ctx context.Context, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = id
	}
	return database.ReadTexts(ctx, tb.db, "SELECT id FROM approvals WHERE NOT open AND id IN ("+database.Placeholders(1, len(ids))+")", args...)
}

func scanApproval(row database.Scanner) (a Approval, err error) {
	var arguments string
	var decided, used, created, expires int64
	err = row.Scan(&a.ID, &a.OwnerID, &a.AgentID, &a.Caller, &a.Channel, &a.Turn, &a.Skill, &a.Tool, &arguments, &a.Hash, &a.PolicyVersion,
		&a.State, &a.Reason, &a.DecidedBy, &a.Via, &decided, &a.Spent, &a.UsedBy, &used, &created, &expires)
	a.Arguments = json.RawMessage(arguments)
	a.DecidedAt, a.UsedAt, a.CreatedAt, a.ExpiresAt = database.Moment(decided), database.Moment(used), database.Moment(created), database.Moment(expires)
	return a, err
}

// auditOf is the line of the audit trail about a decision.
func auditOf(a *Approval) audit.Row {
	return audit.Row{
		ID: beeos.NewID(), OwnerID: a.OwnerID, At: a.DecidedAt, Actor: a.DecidedBy, Action: "approval." + string(a.State), Subject: a.ID,
		Detail: map[string]string{
			"agent": a.AgentID, "skill": a.Skill, "tool": a.Tool, "caller": a.Caller, "via": a.Via, "reason": a.Reason,
			"arguments_sha256": fmt.Sprintf("%x", a.Hash),
		},
	}
}
