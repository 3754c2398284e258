package approvals

import (
	"context"
	"database/sql"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/audit"
	"github.com/beeos/beeos/internal/store/database"
)

// Lasts is for how much more than one call a yes is. The zero value is for no more.
type Lasts struct {
	For          time.Duration // for how long
	Conversation bool          // whatever the arguments, but in the same conversation alone
}

// Grant is a yes for more than one call: of the same tool by the same caller, under
// the same rule, with the same arguments or in the same conversation.
type Grant struct {
	ID            string
	OwnerID       string // the agent's owner
	AgentID       string
	Caller        string // a principal
	Channel       string // the conversation that it is for, with any arguments; "" = these arguments, anywhere
	Skill         string
	Tool          string
	Hash          []byte // SHA-256 of the arguments
	PolicyVersion string
	Approval      string // the one that it was given with
	GivenBy       string // a user
	CreatedAt     time.Time
	ExpiresAt     time.Time
}

const grantColumns = "id, owner_id, agent_id, caller, channel, skill, tool, hash, policy_version, approval, given_by, created_at, expires_at"

func grantFields(g *Grant) []any {
	return []any{
		&g.ID, &g.OwnerID, &g.AgentID, &g.Caller, &g.Channel, &g.Skill, &g.Tool, &g.Hash, &g.PolicyVersion, &g.Approval, &g.GivenBy,
		database.Time(&g.CreatedAt), database.Time(&g.ExpiresAt),
	}
}

// insertGrant keeps what a yes is for beyond its own call.
func insertGrant(ctx context.Context, tx *sql.Tx, a *Approval, v *Verdict) error {
	g := Grant{ID: "apg_" + beeos.NewID(), ExpiresAt: v.At.Add(v.Lasts.For)}
	if v.Lasts.Conversation {
		g.Channel = a.Channel
	}
	err := database.Insert(ctx, tx, "insert approval grant", "approval_grants", grantColumns+", ended_at, ended_by",
		g.ID, a.OwnerID, a.AgentID, a.Caller, g.Channel, a.Skill, a.Tool, a.Hash, a.PolicyVersion, a.ID, v.UserID, database.Micros(v.At), database.Micros(g.ExpiresAt), 0, "")
	if err != nil {
		return err
	}
	row := auditOf(a)
	row.Action, row.Subject = audit.ApprovalGrant, g.ID
	row.Detail["approval"], row.Detail["until"], row.Detail["conversation"] = a.ID, g.ExpiresAt.UTC().Format(time.RFC3339), g.Channel
	return audit.Insert(ctx, tx, row)
}

const findGrant = `SELECT g.id FROM approval_grants g JOIN users u ON u.id = g.given_by AND u.disabled_at = 0
	WHERE g.agent_id = $1 AND g.skill = $2 AND g.tool = $3 AND g.ended_at = 0 AND g.caller = $4 AND g.policy_version = $5 AND g.expires_at > $6
		AND (g.channel = '' AND g.hash = $7 OR g.channel <> '' AND g.channel = $8)
	ORDER BY g.id LIMIT 1`

// answerByGrant approves a new question to which somebody has said yes already. A grant
// ends with the account of who gave it.
func answerByGrant(ctx context.Context, tx *sql.Tx, a *Approval) error {
	a.State = Pending
	found, err := database.ListTexts(ctx, tx, "look for an approval grant", findGrant,
		a.AgentID, a.Skill, a.Tool, a.Caller, a.PolicyVersion, database.Micros(a.CreatedAt), a.Hash, a.Channel)
	if err != nil || len(found) == 0 {
		return err
	}
	a.State, a.Grant, a.DecidedBy, a.Via, a.DecidedAt = Approved, found[0], "policy", "grant", a.CreatedAt
	a.Reason = "approved before, by " + found[0]
	return nil
}

// GrantFilter selects grants that count; what is empty does not.
type GrantFilter struct {
	PersonID string // of agents that are theirs, or given by them
	AgentID  string
	OwnerID  string
	ID       string
}

// grantsOfPerson are those about agents of a person and those that they gave, each by an
// index of its own.
const grantsOfPerson = `id IN (SELECT id FROM approval_grants WHERE owner_id = $1 AND ended_at = 0 AND expires_at > $2
	UNION SELECT id FROM approval_grants WHERE given_by = $1 AND ended_at = 0 AND expires_at > $2)`

// ListGrants lists the grants that count, the newest first.
func (tb *Table) ListGrants(ctx context.Context, f GrantFilter, now time.Time) ([]Grant, error) {
	var c database.Conditions
	c.Text("ended_at = 0")
	c.Add("expires_at > ?", database.Micros(now))
	c.AddUnlessEmpty("id = ?", f.ID)
	c.AddUnlessEmpty("agent_id = ?", f.AgentID)
	c.AddUnlessEmpty("owner_id = ?", f.OwnerID)
	if f.PersonID != "" {
		addNumbered(&c, grantsOfPerson, f.PersonID, database.Micros(now))
	}
	return database.List(ctx, tb.db, "list approval grants", grantFields, "SELECT "+grantColumns+" FROM approval_grants"+c.SQL()+" ORDER BY id DESC", c.Args...)
}

// EndGrant ends a grant, and writes that down in the audit trail. False: it has ended.
func (tb *Table) EndGrant(ctx context.Context, g Grant, by, why string, now time.Time) (ended bool, err error) {
	return database.Tx(ctx, tb.db, "end approval grant", func(tx *sql.Tx) (bool, error) {
		ended, err := database.Change(ctx, tx, "end", "UPDATE approval_grants SET ended_at = $2, ended_by = $3 WHERE id = $1 AND ended_at = 0", g.ID, database.Micros(now), by)
		if err != nil || !ended {
			return false, err
		}
		return true, audit.Insert(ctx, tx, audit.Row{
			ID: beeos.NewID(), OwnerID: g.OwnerID, At: now, Actor: by, Action: audit.ApprovalRevoke, Subject: g.ID,
			Detail: map[string]string{"agent": g.AgentID, "skill": g.Skill, "tool": g.Tool, "caller": g.Caller, "reason": why},
		})
	})
}
