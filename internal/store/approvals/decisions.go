package approvals

import (
	"bytes"
	"context"
	"database/sql"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/audit"
	"github.com/beeos/beeos/internal/store/database"
)

// Verdict is what somebody decides about an approval.
type Verdict struct {
	ID     string
	State  State
	By     string
	Via    string
	Reason string
	At     time.Time

	UserID     string // the person who decides, also by a link; "" = nobody
	AsReviewer bool   // it counts only while they are a reviewer
	Lasts      Lasts  // of a yes: for more than this call
}

// The first verdict counts. One that comes too late is none, unless it says
// just that. What is approved may be used for as long as the decision could
// have taken; what is withdrawn may be asked again.
const decideApproval = `UPDATE approvals SET open = FALSE, state = CAST($2 AS TEXT), decided_by = $3, via = $4, reason = $5, decided_at = CAST($6 AS BIGINT),
		spent = CAST($2 AS TEXT) = 'withdrawn',
		expires_at = CASE WHEN CAST($2 AS TEXT) = 'approved' THEN CAST($6 AS BIGINT) + expires_at - created_at ELSE expires_at END
	WHERE id = $1 AND open AND (CAST($2 AS TEXT) = 'withdrawn' OR (CAST($2 AS TEXT) = 'expired') = (expires_at <= CAST($6 AS BIGINT)))
	RETURNING ` + approvalColumns

// Decide settles an approval and writes it down in the audit trail, in
// one transaction. Of several who decide at once one wins; the others get the
// row as it is. A yes that others have to join is counted, and leaves it open.
func (tb *Table) Decide(ctx context.Context, v Verdict) (a Approval, won bool, err error) {
	err = tb.db.Tx(ctx, "decide approval", func(tx *sql.Tx) error {
		decides, err := takeVote(ctx, tx, &v)
		if err != nil {
			return err
		}
		won = false
		if decides {
			a, err = database.Get(ctx, tx, "settle", sql.ErrNoRows, approvalFields, decideApproval, v.ID, v.State, v.By, v.Via, v.Reason, database.Micros(v.At))
			if won = err == nil; won {
				return finishDecision(ctx, tx, &a, &v)
			}
			if !database.IsAbsent(err) {
				return err
			}
		}
		a, err = getApproval(ctx, tx, database.NotFound("approval"), "id = $1", v.ID)
		return err
	})
	return a, won && err == nil, err
}

// finishDecision writes down what was decided, and gives what goes beyond it.
func finishDecision(ctx context.Context, tx *sql.Tx, a *Approval, v *Verdict) error {
	row := auditOf(a)
	if v.UserID != "" && v.By != "user:"+v.UserID {
		row.Detail["link_of"] = v.UserID
	}
	if err := audit.Insert(ctx, tx, row); err != nil || a.State != Approved || v.Lasts.For == 0 {
		return err
	}
	return insertGrant(ctx, tx, a, v)
}

// Use uses an approval up, for exactly these arguments and under the
// rules by which it was given. The same request may do so twice.
func (tb *Table) Use(ctx context.Context, id string, hash []byte, policyVersion, request string, now time.Time) error {
	used, err := database.Change(ctx, tb.db, "use approval", `UPDATE approvals SET spent = TRUE, used_by = $2, used_at = $3
		WHERE id = $1 AND state = 'approved' AND NOT spent AND hash = $4 AND policy_version = $5 AND expires_at > $3`,
		id, request, database.Micros(now), hash, policyVersion)
	if err != nil || used {
		return err
	}
	a, err := tb.Get(ctx, id)
	if err != nil {
		return err
	}
	refuse := func(why string) error {
		return beeos.Errorf(beeos.Forbidden, "this approval is no good here: %s; ask for another one", why)
	}
	switch {
	case !bytes.Equal(a.Hash, hash):
		return refuse("it was given for other arguments")
	case a.State != Approved:
		return refuse("it is " + string(a.State))
	case a.PolicyVersion != policyVersion:
		return refuse("the rules have changed since it was asked for")
	case a.Spent && a.UsedBy != "" && a.UsedBy == request:
		return nil
	case a.Spent:
		return refuse("it was used already")
	}
	return refuse("it is too old")
}

// BudgetTurn begins the turn of an approval that is about a budget instead: its
// id follows.
const BudgetTurn = "budget:"

// ListLapsed returns open approvals that are past their time, and those
// whose turn has ended.
func (tb *Table) ListLapsed(ctx context.Context, now time.Time) (late, left []string, err error) {
	late, err = database.ListTexts(ctx, tb.db, "list late approvals", "SELECT id FROM approvals WHERE open AND expires_at <= $1", database.Micros(now))
	if err != nil {
		return nil, nil, err
	}
	left, err = database.ListTexts(ctx, tb.db, "list approvals of ended turns",
		"SELECT id FROM approvals WHERE open AND turn NOT LIKE '"+BudgetTurn+"%' AND NOT EXISTS (SELECT 1 FROM deliveries WHERE deliveries.turn = approvals.turn)")
	return late, left, err
}

// Forget deletes what was decided before then, and grants that ended before.
func (tb *Table) Forget(ctx context.Context, before time.Time) error {
	if err := database.Exec(ctx, tb.db, "forget approval grants", "DELETE FROM approval_grants WHERE expires_at < $1", database.Micros(before)); err != nil {
		return err
	}
	return database.Exec(ctx, tb.db, "forget approvals", "DELETE FROM approvals WHERE NOT open AND created_at < $1", database.Micros(before))
}
