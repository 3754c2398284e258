package builtins

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
)

// SkillTool is a tool of a built-in agent's skill server as a person knows it,
// and, when it is held, as the server describes it now.
type SkillTool struct {
	BuiltinID, Skill, Tool string

	Hash, Definition string
	HeldHash, Held   string // empty = it is as it was
	UpdatedAt        time.Time
}

const skillToolColumns = "builtin_id, skill, tool, hash, definition, held_hash, held, updated_at"

// PinSkillTool notes how a server describes a tool and returns what is pinned.
// The first description is the one that counts; another one is held.
func (tb *Table) PinSkillTool(ctx context.Context, t SkillTool) (SkillTool, error) {
	var pinned SkillTool
	err := tb.db.Tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO skill_tools ("+skillToolColumns+") VALUES ($1, $2, $3, $4, $5, '', '', $6) ON CONFLICT (builtin_id, skill, tool) DO NOTHING",
			t.BuiltinID, t.Skill, t.Tool, t.Hash, t.Definition, database.Micros(t.UpdatedAt))
		if err != nil {
			return err
		}
		// A server that went back to the known description has nothing held.
		_, err = tx.ExecContext(ctx, `UPDATE skill_tools SET held_hash = CASE WHEN hash = $4 THEN '' ELSE $4 END, held = CASE WHEN hash = $4 THEN '' ELSE $5 END, updated_at = $6
			WHERE builtin_id = $1 AND skill = $2 AND tool = $3 AND held_hash <> CASE WHEN hash = $4 THEN '' ELSE $4 END`,
			t.BuiltinID, t.Skill, t.Tool, t.Hash, t.Definition, database.Micros(t.UpdatedAt))
		if err != nil {
			return err
		}
		pinned, err = scanSkillTool(tx.QueryRowContext(ctx, "SELECT "+skillToolColumns+" FROM skill_tools WHERE builtin_id = $1 AND skill = $2 AND tool = $3", t.BuiltinID, t.Skill, t.Tool))
		return err
	})
	if err != nil {
		return pinned, fmt.Errorf("pin tool: %w", err)
	}
	return pinned, nil
}

// ListSkillTools lists the tools that are known of a built-in agent's skill;
// "" means all of its skills.
func (tb *Table) ListSkillTools(ctx context.Context, builtinID, skill string) ([]SkillTool, error) {
	where := database.Conditions{}
	where.Add("builtin_id = ", builtinID)
	where.AddUnlessEmpty("skill = ", skill)
	rows, err := tb.db.QueryContext(ctx, "SELECT "+skillToolColumns+" FROM skill_tools"+where.SQL()+" ORDER BY skill, tool", where.Args...)
	list, err := database.Collect(rows, err, scanSkillTool)
	if err != nil {
		return nil, fmt.Errorf("list tools: %w", err)
	}
	return list, nil
}

// CountHeldSkillTools returns how many tools of an owner's built-in agents are
// held back, by agent.
func (tb *Table) CountHeldSkillTools(ctx context.Context, owner string) (map[string]int, error) {
	type count struct {
		id string
		n  int
	}
	rows, err := tb.db.QueryContext(ctx, `SELECT t.builtin_id, count(*) FROM skill_tools t JOIN builtin_agents b ON b.id = t.builtin_id
		WHERE b.owner_id = $1 AND t.held_hash <> '' GROUP BY t.builtin_id`, owner)
	list, err := database.Collect(rows, err, func(row database.Scanner) (c count, err error) {
		err = row.Scan(&c.id, &c.n)
		return c, err
	})
	if err != nil {
		return nil, fmt.Errorf("count held tools: %w", err)
	}
	held := map[string]int{}
	for _, c := range list {
		held[c.id] = c.n
	}
	return held, nil
}

// AcceptSkillTool makes the held description the known one, if it still is the
// one with that hash: nobody accepts what they have not seen.
func (tb *Table) AcceptSkillTool(ctx context.Context, builtinID, skill, tool, hash string, at time.Time) error {
	res, err := tb.db.Write(ctx, `UPDATE skill_tools SET hash = held_hash, definition = held, held_hash = '', held = '', updated_at = $5
		WHERE builtin_id = $1 AND skill = $2 AND tool = $3 AND held_hash = $4 AND held_hash <> ''`, builtinID, skill, tool, hash, database.Micros(at))
	if err != nil {
		return fmt.Errorf("accept tool: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return beeos.Errorf(beeos.Conflict, "the tool has changed again, or nothing of it is held; look at it once more")
	}
	return nil
}

func scanSkillTool(row database.Scanner) (t SkillTool, err error) {
	var updated int64
	err = row.Scan(&t.BuiltinID, &t.Skill, &t.Tool, &t.Hash, &t.Definition, &t.HeldHash, &t.Held, &updated)
	t.UpdatedAt = database.Moment(updated)
	return t, err
}

// PutSkillToken keeps what a skill was given for one resource by one issuer,
// sealed.
func (tb *Table) PutSkillToken(ctx context.Context, builtinID, skill, resource, issuer string, sealed []byte, at time.Time) error {
	_, err := tb.db.Write(ctx, `INSERT INTO skill_tokens (builtin_id, skill, resource, issuer, sealed, updated_at) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (builtin_id, skill, resource, issuer) DO UPDATE SET sealed = excluded.sealed, updated_at = excluded.updated_at`,
		builtinID, skill, resource, issuer, sealed, database.Micros(at))
	if err != nil {
		return fmt.Errorf("keep token: %w", err)
	}
	return nil
}

// GetSkillToken returns what PutSkillToken kept, or nil; "" as issuer means the
// one that was heard of last.
func (tb *Table) GetSkillToken(ctx context.Context, builtinID, skill, resource, issuer string) ([]byte, error) {
	where := database.Conditions{}
	where.Add("builtin_id = ", builtinID)
	where.Add("skill = ", skill)
	where.Add("resource = ", resource)
	where.AddUnlessEmpty("issuer = ", issuer)
	var sealed []byte
	err := tb.db.QueryRowContext(ctx, "SELECT sealed FROM skill_tokens"+where.SQL()+" ORDER BY updated_at DESC LIMIT 1", where.Args...).Scan(&sealed)
	if err != nil && !database.IsAbsent(err) {
		return nil, fmt.Errorf("read token: %w", err)
	}
	return sealed, nil
}

// ForgetSkillTokens drops all that a skill was given.
func (tb *Table) ForgetSkillTokens(ctx context.Context, builtinID, skill string) error {
	if _, err := tb.db.Write(ctx, "DELETE FROM skill_tokens WHERE builtin_id = $1 AND skill = $2", builtinID, skill); err != nil {
		return fmt.Errorf("forget tokens: %w", err)
	}
	return nil
}

// ForgetSkill drops all that is kept about a skill that an agent no longer
// has, the owner's rules included: another server under its name must not
// inherit them.
func (tb *Table) ForgetSkill(ctx context.Context, builtinID, skill string) error {
	err := tb.db.Tx(ctx, func(tx *sql.Tx) error {
		for _, table := range []string{"skill_consents", "skill_tokens", "skill_tools"} {
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE builtin_id = $1 AND skill = $2", builtinID, skill); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, forgetSkillRules, builtinID, skill)
		return err
	})
	if err != nil {
		return fmt.Errorf("forget skill: %w", err)
	}
	return nil
}

const forgetSkillRules = "DELETE FROM approval_rules WHERE skill = $2 AND agent_id IN (SELECT agent_id FROM agent_homes WHERE instance_id = $1)"

// ForgetSkillRules drops what the owner decided about the tools of a skill.
func (tb *Table) ForgetSkillRules(ctx context.Context, builtinID, skill string) error {
	if _, err := tb.db.Write(ctx, forgetSkillRules, builtinID, skill); err != nil {
		return fmt.Errorf("forget the rules of a skill: %w", err)
	}
	return nil
}

// SkillConsent is a person on the way to an authorization server.
type SkillConsent struct {
	BuiltinID, Skill string
	Sealed           []byte
}

// PutSkillConsent keeps a consent until its state comes back.
func (tb *Table) PutSkillConsent(ctx context.Context, state string, c SkillConsent, expires time.Time) error {
	_, err := tb.db.Write(ctx, "INSERT INTO skill_consents (hash, builtin_id, skill, sealed, expires_at) VALUES ($1, $2, $3, $4, $5)",
		database.TokenHash(state), c.BuiltinID, c.Skill, c.Sealed, database.Micros(expires))
	if err != nil {
		return fmt.Errorf("keep consent: %w", err)
	}
	return nil
}

// TakeSkillConsent returns the consent of a state, once.
func (tb *Table) TakeSkillConsent(ctx context.Context, state string, now time.Time) (c SkillConsent, err error) {
	err = tb.db.Tx(ctx, func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, "DELETE FROM skill_consents WHERE hash = $1 AND expires_at > $2 RETURNING builtin_id, skill, sealed",
			database.TokenHash(state), database.Micros(now)).Scan(&c.BuiltinID, &c.Skill, &c.Sealed)
	})
	if database.IsAbsent(err) {
		return c, beeos.Errorf(beeos.InvalidParam, "this answer belongs to no authorization that is under way; start it again in the console")
	}
	if err != nil {
		return c, fmt.Errorf("take consent: %w", err)
	}
	return c, nil
}
