package approvals

import (
	"context"
	"database/sql"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
)

// Mode says whether a person is asked.
type Mode string

const (
	ModeUnset Mode = "" // as if there were no rule
	ModeAuto  Mode = "auto"
	ModeAsk   Mode = "ask"
)

// Rule is what the owner of an agent decided about a tool, about all
// tools of a skill (no Tool), or about the agent (neither).
type Rule struct {
	AgentID   string
	Skill     string
	Tool      string
	Mode      Mode
	Timeout   time.Duration // the agent's rule alone; 0 = unset
	Review    *Review       // who decides; nil = the owner, or, to SetRules, whoever does already
	Version   string        // another one with every change
	UpdatedBy string
	UpdatedAt time.Time
}

// ListRules returns all rules of an agent, in a stable order.
func (tb *Table) ListRules(ctx context.Context, agentID string) ([]Rule, error) {
	// The table has microseconds, and a time.Duration nanoseconds.
	return database.List(ctx, tb.db, "read approval rules", func(r *Rule) []any {
		return []any{&r.AgentID, &r.Skill, &r.Tool, &r.Mode, &r.Timeout, &r.Version, &r.UpdatedBy, database.Time(&r.UpdatedAt), reviewColumn{&r.Review}}
	}, "SELECT agent_id, skill, tool, mode, timeout * 1000, version, updated_by, updated_at, review FROM approval_rules WHERE agent_id = $1 ORDER BY skill, tool", agentID)
}

// SetRules changes rules of one agent, all or none; one that says
// nothing is removed. Rules that stay the same keep their version. Whom a rule
// names no longer is no reviewer of what was asked by it, either.
func (tb *Table) SetRules(ctx context.Context, rules []Rule) error {
	return tb.db.Tx(ctx, "set approval rules", func(tx *sql.Tx) error {
		for i := range rules {
			if err := setRule(ctx, tx, &rules[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func setRule(ctx context.Context, tx *sql.Tx, r *Rule) error {
	change, differs := "", ""
	if r.Review != nil {
		change, differs = ", review = excluded.review", " OR approval_rules.review <> excluded.review"
		if err := dropReviewers(ctx, tx, r); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO approval_rules (agent_id, skill, tool, mode, timeout, version, updated_by, updated_at, review) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (agent_id, skill, tool) DO UPDATE SET mode = excluded.mode, timeout = excluded.timeout,
			version = excluded.version, updated_by = excluded.updated_by, updated_at = excluded.updated_at`+change+`
		WHERE approval_rules.mode <> excluded.mode OR approval_rules.timeout <> excluded.timeout`+differs,
		r.AgentID, r.Skill, r.Tool, r.Mode, r.Timeout.Microseconds(), beeos.NewID(), r.UpdatedBy, database.Micros(r.UpdatedAt), reviewColumn{&r.Review})
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "DELETE FROM approval_rules WHERE agent_id = $1 AND skill = $2 AND tool = $3 AND mode = '' AND timeout = 0 AND review = ''", r.AgentID, r.Skill, r.Tool)
	return err
}

// ListSeenTools returns which tools of an agent's were asked about, and by which
// skill: pairs of skill and tool.
func (tb *Table) ListSeenTools(ctx context.Context, agentID, ownerID string, limit int) ([][2]string, error) {
	const some = "SELECT skill, tool FROM (SELECT skill, tool FROM approvals WHERE owner_id = $1 AND agent_id = $2 AND "
	const last = " ORDER BY id DESC LIMIT $3) AS "
	return database.List(ctx, tb.db, "list tools", func(pair *[2]string) []any { return []any{&pair[0], &pair[1]} },
		some+"open"+last+"waiting UNION "+some+"NOT open"+last+"decided ORDER BY 1, 2", ownerID, agentID, limit)
}
