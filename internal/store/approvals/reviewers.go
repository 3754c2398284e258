package approvals

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/audit"
	"github.com/beeos/beeos/internal/store/database"
)

// Review says who decides about the calls that a rule is for. The zero value is the
// owner, alone.
type Review struct {
	Reviewers []string `json:"reviewers,omitempty"` // user ids
	Second    []string `json:"second,omitempty"`    // who is asked, too, when half of the time is over
	Need      int      `json:"need,omitempty"`      // how many have to say yes; 0 = one
	Only      bool     `json:"only,omitempty"`      // owner and admins do not decide, unless they are reviewers
	NotCaller bool     `json:"not_caller,omitempty"`
}

// isZero reports whether a review says nothing.
func (r *Review) isZero() bool {
	return r == nil || len(r.Reviewers) == 0 && len(r.Second) == 0 && r.Need == 0 && !r.Only && !r.NotCaller
}

// reviewColumn is the column of a review, which is empty for one that says nothing.
type reviewColumn struct{ r **Review }

func (c reviewColumn) Scan(v any) error {
	var text sql.NullString
	if err := text.Scan(v); err != nil || text.String == "" {
		return err
	}
	*c.r = &Review{}
	return json.Unmarshal([]byte(text.String), *c.r)
}

func (c reviewColumn) Value() (driver.Value, error) {
	if (*c.r).isZero() {
		return "", nil
	}
	text, err := json.Marshal(*c.r)
	return string(text), err
}

// Reviewer is somebody whom a rule names to decide about an approval.
type Reviewer struct {
	UserID string
	Since  time.Time // from when on they are asked
	Skill  string    // of the rule
	Tool   string    // likewise
}

func insertReviewers(ctx context.Context, tx *sql.Tx, a *Approval) error {
	if !a.Open() || len(a.Reviewers) == 0 {
		return nil
	}
	rows := make([][]any, len(a.Reviewers))
	for i, r := range a.Reviewers {
		rows[i] = []any{a.ID, r.UserID, database.Micros(r.Since), a.AgentID, r.Skill, r.Tool}
	}
	return database.InsertRows(ctx, tx, "approval_reviewers", "approval, user_id, since, agent_id, skill, tool", rows, "")
}

// dropReviewers takes those whom a rule names no longer off what was asked by it.
func dropReviewers(ctx context.Context, tx *sql.Tx, r *Rule) error {
	query, args := "DELETE FROM approval_reviewers WHERE agent_id = $1 AND skill = $2 AND tool = $3", []any{r.AgentID, r.Skill, r.Tool}
	if still := append(database.Args(r.Review.Reviewers), database.Args(r.Review.Second)...); len(still) > 0 {
		query += " AND user_id NOT IN (" + database.Placeholders(4, len(still)) + ")"
		args = append(args, still...)
	}
	_, err := tx.ExecContext(ctx, query, args...)
	return err
}

// What a person reviews of the agents of others: $1 is the person, $2 the present.
const (
	// What is open is little, so a planner is made to begin with that.
	reviewedOpen = `owner_id <> $1 AND id IN (SELECT w.id FROM approvals w CROSS JOIN approval_reviewers r
		WHERE w.open AND r.approval = w.id AND r.user_id = $1 AND r.since <= $2)`

	// Second reviewers have no part in what was decided before they came in.
	reviewedDecided = `owner_id <> $1 AND id IN (SELECT r.approval FROM approval_reviewers r JOIN approvals d ON d.id = r.approval
		WHERE r.user_id = $1 AND NOT d.open AND r.since <= d.decided_at AND r.since <= $2)`
)

// addNumbered adds a condition whose values are $1, $2 and so on, among themselves.
func addNumbered(c *database.Conditions, condition string, values ...any) {
	var numbers []string
	for i := range values {
		numbers = append(numbers, fmt.Sprintf("$%d", i+1), fmt.Sprintf("$%d", len(c.Args)+i+1))
	}
	c.Text(strings.NewReplacer(numbers...).Replace(condition))
	c.Args = append(c.Args, values...)
}

const countOpen = `SELECT COUNT(*) FROM approvals WHERE open AND barred <> $1
	AND (owner_id = $1 AND NOT only_reviewers OR EXISTS (SELECT 1 FROM approval_reviewers r WHERE r.approval = approvals.id AND r.user_id = $1 AND r.since <= $2))
	AND NOT EXISTS (SELECT 1 FROM approval_votes v WHERE v.approval = approvals.id AND v.user_id = $1)`

// CountOpen counts what waits for the word of a person who has not given it.
func (tb *Table) CountOpen(ctx context.Context, userID string, now time.Time) (int, error) {
	return database.GetValue[int](ctx, tb.db, "count approvals", countOpen, userID, database.Micros(now))
}

// Standing is how a person stands to an approval.
type Standing struct {
	Reviewer bool // a rule names them, and their time has come
	Voted    bool // they have said yes
}

// Standings returns how a person stands to approvals, by id. Whoever is locked out
// reviews nothing.
func (tb *Table) Standings(ctx context.Context, userID string, ids []string, now time.Time) (map[string]Standing, error) {
	type row struct {
		id string
		Standing
	}
	found := map[string]Standing{}
	if userID == "" || len(ids) == 0 {
		return found, nil
	}
	list, err := database.List(ctx, tb.db, "read reviewers", func(r *row) []any { return []any{&r.id, &r.Reviewer, &r.Voted} },
		`SELECT a.id, EXISTS (SELECT 1 FROM approval_reviewers r JOIN users u ON u.id = r.user_id AND u.disabled_at = 0
				WHERE r.approval = a.id AND r.user_id = $1 AND r.since <= CASE WHEN a.open THEN CAST($2 AS BIGINT) ELSE a.decided_at END),
			EXISTS (SELECT 1 FROM approval_votes v WHERE v.approval = a.id AND v.user_id = $1)
		FROM approvals a WHERE a.id IN (`+database.Placeholders(3, len(ids))+")", append([]any{userID, database.Micros(now)}, database.Args(ids)...)...)
	for _, r := range list {
		found[r.id] = r.Standing
	}
	return found, err
}

// takeVote takes the word of a person, and reports whether it decides: a no does, and
// the last yes that was needed.
func takeVote(ctx context.Context, tx *sql.Tx, v *Verdict) (decides bool, err error) {
	if v.UserID == "" {
		return true, nil
	}
	if v.AsReviewer {
		reviews, err := database.GetValue[bool](ctx, tx, "look for a reviewer", `SELECT EXISTS (SELECT 1 FROM approval_reviewers r
			JOIN users u ON u.id = r.user_id AND u.disabled_at = 0 WHERE r.approval = $1 AND r.user_id = $2 AND r.since <= $3)`, v.ID, v.UserID, database.Micros(v.At))
		if err != nil {
			return false, err
		}
		if !reviews {
			return false, beeos.Errorf(beeos.NotFound, "there is no such approval; check the id")
		}
	}
	if v.State != Approved {
		return true, nil
	}
	need, err := database.GetValue[int](ctx, tx, "read votes needed", "SELECT need FROM approvals WHERE id = $1", v.ID)
	if err != nil || need <= 1 {
		return err == nil, err
	}
	return countVote(ctx, tx, v)
}

// countVote counts a yes of which one is not enough, once for each person; people who
// were locked out since they voted no longer count. Whoever votes at the same time
// waits for the row, so the last of them sees all votes.
func countVote(ctx context.Context, tx *sql.Tx, v *Verdict) (decides bool, err error) {
	open, err := database.Change(ctx, tx, "lock approval", "UPDATE approvals SET yes = yes WHERE id = $1 AND open AND expires_at > $2", v.ID, database.Micros(v.At))
	if err != nil || !open {
		return false, err
	}
	fresh, err := database.Change(ctx, tx, "vote", "INSERT INTO approval_votes (approval, user_id, via, voted_at) VALUES ($1, $2, $3, $4) ON CONFLICT (approval, user_id) DO NOTHING",
		v.ID, v.UserID, v.Via, database.Micros(v.At))
	if err != nil {
		return false, err
	}
	a, err := database.Get(ctx, tx, "count votes", sql.ErrNoRows, approvalFields, `UPDATE approvals SET yes = (SELECT COUNT(*) FROM approval_votes v
		JOIN users u ON u.id = v.user_id AND u.disabled_at = 0 WHERE v.approval = approvals.id) WHERE id = $1 RETURNING `+approvalColumns, v.ID)
	if err != nil || a.Yes >= a.Need {
		return err == nil, err
	}
	if fresh {
		a.DecidedAt, a.DecidedBy, a.Via, a.Reason = v.At, v.By, v.Via, v.Reason
		row := auditOf(&a)
		row.Action = audit.ApprovalVote
		row.Detail["yes"] = fmt.Sprintf("%d of %d", a.Yes, a.Need)
		err = audit.Insert(ctx, tx, row)
	}
	return false, err
}
