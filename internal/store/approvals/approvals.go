// Package approvals keeps the tool calls that people decide about, their
// decisions (decisions.go), who decides (reviewers.go), the yeses that are for more
// than one call (grants.go), and the rules that say which calls need one and whose
// (rules.go).
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
	OwnerID       string // the agent's owner, who decides unless a rule names others
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
	DecidedBy     string // a principal, "link", "policy" or "system"
	Via           string
	DecidedAt     time.Time
	Spent         bool   // it was used, or is too old to be
	UsedBy        string // the agent's request that it was used for
	UsedAt        time.Time
	CreatedAt     time.Time
	ExpiresAt     time.Time // pending: the last moment to decide; approved: to use it

	Need          int        // how many people have to say yes
	Yes           int        // how many have; counted where one is not enough
	OnlyReviewers bool       // owner and admins do not decide, unless they are reviewers
	Barred        string     // the user whom the call is made for, where the rule keeps them out; "" = nobody
	Grant         string     // what answered it; "" = a person, or nobody
	Reviewers     []Reviewer // whom to ask; only of what is to be stored
}

// Open reports whether nobody has decided yet.
func (a *Approval) Open() bool { return a.State == Pending }

const approvalColumns = "id, owner_id, agent_id, caller, channel, turn, skill, tool, arguments, hash, policy_version, " +
	"state, reason, decided_by, via, decided_at, spent, used_by, used_at, created_at, expires_at, need, yes, only_reviewers, barred, grant_id"

const (
	approvalSelect   = "SELECT " + approvalColumns + " FROM approvals "
	approvalQuestion = "turn = $1 AND skill = $2 AND tool = $3 AND hash = $4 AND policy_version = $5"
)

// Ask returns the row of a question: the one that its turn has asked
// already and not used up, or a new one. The request that used a row up gets
// that row again: it may not have heard the answer. A new row is approved already
// where somebody has said yes to more than one call.
func (tb *Table) Ask(ctx context.Context, a Approval, request string) (row Approval, fresh bool, err error) {
	question := []any{a.Turn, a.Skill, a.Tool, a.Hash, a.PolicyVersion}
	err = tb.db.Tx(ctx, "ask for approval", func(tx *sql.Tx) error {
		row, err = getApproval(ctx, tx, sql.ErrNoRows, approvalQuestion+" AND spent AND used_by = $6", append(question[:5:5], request)...)
		if !database.IsAbsent(err) {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE approvals SET spent = TRUE WHERE "+approvalQuestion+" AND NOT spent AND state = 'approved' AND expires_at <= $6",
			append(question[:5:5], database.Micros(a.CreatedAt))...)
		if err != nil {
			return err
		}
		a := a // Tx may run this again
		if err = answerByGrant(ctx, tx, &a); err != nil {
			return err
		}
		fresh, err = database.Change(ctx, tx, "insert question", "INSERT INTO approvals ("+approvalColumns+", open) VALUES ("+database.Placeholders(1, 27)+") ON CONFLICT (turn, skill, tool, hash, policy_version) WHERE NOT spent DO NOTHING",
			a.ID, a.OwnerID, a.AgentID, a.Caller, a.Channel, a.Turn, a.Skill, a.Tool, string(a.Arguments), a.Hash, a.PolicyVersion,
			a.State, a.Reason, a.DecidedBy, a.Via, database.Micros(a.DecidedAt), false, "", 0, database.Micros(a.CreatedAt), database.Micros(a.ExpiresAt),
			max(a.Need, 1), 0, a.OnlyReviewers, a.Barred, a.Grant, a.Open())
		if err == nil && fresh {
			err = insertReviewers(ctx, tx, &a)
		}
		if err == nil && fresh && a.Grant != "" {
			err = audit.Insert(ctx, tx, auditOf(&a))
		}
		if err != nil {
			return err
		}
		row, err = getApproval(ctx, tx, sql.ErrNoRows, approvalQuestion+" AND NOT spent", question...)
		return err
	})
	return row, fresh && err == nil, err
}

// Get returns one.
func (tb *Table) Get(ctx context.Context, id string) (Approval, error) {
	return getApproval(ctx, tb.db, database.NotFound("approval"), "id = $1", id)
}

func getApproval(ctx context.Context, q database.Querier, none error, where string, args ...any) (Approval, error) {
	return database.Get(ctx, q, "read approval", none, approvalFields, approvalSelect+"WHERE "+where, args...)
}

// Filter selects approvals; what is empty does not count.
type Filter struct {
	OwnerID  string
	PersonID string    // of agents that are theirs, or that they review
	At       time.Time // when PersonID looks: second reviewers come in later
	Open     *bool
	Before   string // id: only older ones
	Limit    int
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
	return newest(f.Limit, open, decided), err
}

// newest merges lists, the newest first.
func newest(limit int, lists ...[]Approval) []Approval {
	all := slices.Concat(lists...)
	slices.SortFunc(all, func(a, b Approval) int { return cmp.Compare(b.ID, a.ID) })
	return all[:min(len(all), limit)]
}

// listByState reads what is open, and what is not, each off an index of its own.
func (tb *Table) listByState(ctx context.Context, f Filter, open bool) ([]Approval, error) {
	var c database.Conditions
	c.AddUnlessEmpty("owner_id = ?", f.OwnerID)
	c.AddUnlessEmpty("id < ?", f.Before)
	state, reviewed := "NOT open", reviewedDecided
	if open {
		state, reviewed = "open", reviewedOpen
	}
	c.Text(state)
	if f.PersonID == "" {
		return tb.listWhere(ctx, c, f.Limit)
	}
	theirs := database.Conditions{Parts: slices.Clone(c.Parts), Args: slices.Clone(c.Args)}
	theirs.Add("owner_id = ?", f.PersonID)
	own, err := tb.listWhere(ctx, theirs, f.Limit)
	if err != nil {
		return nil, err
	}
	addNumbered(&c, reviewed, f.PersonID, database.Micros(f.At))
	others, err := tb.listWhere(ctx, c, f.Limit)
	return newest(f.Limit, own, others), err
}

func (tb *Table) listWhere(ctx context.Context, c database.Conditions, limit int) ([]Approval, error) {
	args := append(slices.Clone(c.Args), limit)
	return database.List(ctx, tb.db, "list approvals", approvalFields, approvalSelect+c.SQL()+fmt.Sprintf(" ORDER BY id DESC LIMIT $%d", len(args)), args...)
}

// CountWaiting tells how many calls wait for a person, and since when the first does.
func (tb *Table) CountWaiting(ctx context.Context) (waiting int, since time.Time, err error) {
	err = tb.db.QueryRowContext(ctx, "SELECT COUNT(*), COALESCE(MIN(created_at), 0) FROM approvals WHERE open").Scan(&waiting, database.Time(&since))
	if err != nil {
		err = fmt.Errorf("count open approvals: %w", err)
	}
	return waiting, since, err
}

// ListByTurns lists what was asked for these turns, the oldest first.
func (tb *Table) ListByTurns(ctx context.Context, turns []string) ([]Approval, error) {
	if len(turns) == 0 {
		return nil, nil
	}
	return database.List(ctx, tb.db, "list approvals of turns", approvalFields,
		approvalSelect+"WHERE turn IN ("+database.Placeholders(1, len(turns))+") ORDER BY id", database.Args(turns)...)
}

// TurnAwaits reports whether a person is being asked for a turn.
func (tb *Table) TurnAwaits(ctx context.Context, turn string, now time.Time) (bool, error) {
	return database.GetValue[bool](ctx, tb.db, "look for an approval", "SELECT EXISTS (SELECT 1 FROM approvals WHERE turn = $1 AND open AND expires_at > $2)", turn, database.Micros(now))
}

// ListSettled returns those of the ids that have been decided.
func (tb *Table) ListSettled(ctx context.Context, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return database.ListTexts(ctx, tb.db, "list settled approvals", "SELECT id FROM approvals WHERE NOT open AND id IN ("+database.Placeholders(1, len(ids))+")", database.Args(ids)...)
}

func approvalFields(a *Approval) []any {
	return []any{
		&a.ID, &a.OwnerID, &a.AgentID, &a.Caller, &a.Channel, &a.Turn, &a.Skill, &a.Tool, (*[]byte)(&a.Arguments), &a.Hash, &a.PolicyVersion,
		&a.State, &a.Reason, &a.DecidedBy, &a.Via, database.Time(&a.DecidedAt), &a.Spent, &a.UsedBy, database.Time(&a.UsedAt),
		database.Time(&a.CreatedAt), database.Time(&a.ExpiresAt), &a.Need, &a.Yes, &a.OnlyReviewers, &a.Barred, &a.Grant,
	}
}

// auditOf is the line of the audit trail about a decision.
func auditOf(a *Approval) audit.Row {
	row := audit.Row{
		ID: beeos.NewID(), OwnerID: a.OwnerID, At: a.DecidedAt, Actor: a.DecidedBy, Action: "approval." + string(a.State), Subject: a.ID,
		Detail: map[string]string{
			"agent": a.AgentID, "skill": a.Skill, "tool": a.Tool, "caller": a.Caller, "via": a.Via, "reason": a.Reason,
			"arguments_sha256": fmt.Sprintf("%x", a.Hash),
		},
	}
	if a.Grant != "" {
		row.Detail["approval_grant"] = a.Grant
	}
	return row
}
