package builtins

import (
	"context"
	"database/sql"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
)

// SkillTool is a tool of a built-in agent's skill server as a person knows it,
// and, when it is held, as the server describes it now.
type SkillTool struct {
	BuiltinID, Skill, Tool string

	Hash, Definition string // empty = nobody has accepted it yet
	HeldHash, Held   string // empty = it is as it was
	Past             string // as it was known before; empty = not otherwise
	UpdatedAt        time.Time
}

const skillToolColumns = "builtin_id, skill, tool, hash, definition, held_hash, held, past, updated_at"

// PinSkillTools notes how a skill's server describes its tools, all of them, and
// returns what is pinned. What the server shows first counts as known; a tool
// that comes later and another description are held. A tool that goes before
// anybody has accepted it leaves nothing behind.
func (tb *Table) PinSkillTools(ctx context.Context, builtinID, skill string, tools []SkillTool, at time.Time) ([]SkillTool, error) {
	return database.Tx(ctx, tb.db, "pin tools", func(tx *sql.Tx) ([]SkillTool, error) {
		first, err := beginListing(ctx, tx, builtinID, skill, at)
		if err != nil {
			return nil, err
		}
		before, err := listSkillTools(ctx, tx, builtinID, skill)
		if err != nil {
			return nil, err
		}
		known, gone := map[string]bool{}, map[string]bool{}
		for _, t := range before {
			if known[t.Tool] = true; t.Hash == "" {
				gone[t.Tool] = true
			}
		}
		var added [][]any
		for _, t := range tools {
			delete(gone, t.Tool)
			t.BuiltinID, t.Skill, t.UpdatedAt = builtinID, skill, at
			if known[t.Tool] {
				if err := database.Exec(ctx, tx, "hold tool", holdSkillTool, builtinID, skill, t.Tool, t.Hash, t.Definition, database.Micros(at)); err != nil {
					return nil, err
				}
				continue
			}
			t.HeldHash, t.Held = "", ""
			if !first {
				t.Hash, t.Definition, t.HeldHash, t.Held = "", "", t.Hash, t.Definition
			}
			added = append(added, skillToolFields(&t))
		}
		if err := database.InsertRows(ctx, tx, "skill_tools", skillToolColumns, added, ""); err != nil {
			return nil, err
		}
		for tool := range gone {
			if err := database.Exec(ctx, tx, "drop tool", dropUnacceptedTool, builtinID, skill, tool); err != nil {
				return nil, err
			}
		}
		return listSkillTools(ctx, tx, builtinID, skill)
	})
}

// A server that went back to the known description has nothing held.
const holdSkillTool = `UPDATE skill_tools SET held_hash = CASE WHEN hash = $4 THEN '' ELSE $4 END, held = CASE WHEN hash = $4 THEN '' ELSE $5 END, updated_at = $6
	WHERE builtin_id = $1 AND skill = $2 AND tool = $3 AND held_hash <> CASE WHEN hash = $4 THEN '' ELSE $4 END`

const dropUnacceptedTool = "DELETE FROM skill_tools WHERE builtin_id = $1 AND skill = $2 AND tool = $3 AND hash = ''"

// beginListing reports whether a skill's server has never shown its tools
// before. Of several who list them at once, one is first and the others wait.
func beginListing(ctx context.Context, tx *sql.Tx, builtinID, skill string, at time.Time) (first bool, err error) {
	first, err = database.Change(ctx, tx, "note the listing", "INSERT INTO skill_listings (builtin_id, skill, listed_at) VALUES ($1, $2, $3) ON CONFLICT (builtin_id, skill) DO NOTHING",
		builtinID, skill, database.Micros(at))
	if err != nil || first {
		return first, err
	}
	return false, database.Exec(ctx, tx, "note the listing", "UPDATE skill_listings SET listed_at = $3 WHERE builtin_id = $1 AND skill = $2", builtinID, skill, database.Micros(at))
}

// ListSkillTools lists the tools that are known of a built-in agent's skill;
// "" means all of its skills.
func (tb *Table) ListSkillTools(ctx context.Context, builtinID, skill string) ([]SkillTool, error) {
	return listSkillTools(ctx, tb.db, builtinID, skill)
}

func listSkillTools(ctx context.Context, q database.Querier, builtinID, skill string) ([]SkillTool, error) {
	where := database.Conditions{}
	where.Add("builtin_id = ?", builtinID)
	where.AddUnlessEmpty("skill = ?", skill)
	return database.List(ctx, q, "list tools", skillToolFields, "SELECT "+skillToolColumns+" FROM skill_tools"+where.SQL()+" ORDER BY skill, tool", where.Args...)
}

// CountHeldSkillTools returns how many tools of an owner's built-in agents are
// held back, by agent.
func (tb *Table) CountHeldSkillTools(ctx context.Context, owner string) (map[string]int, error) {
	type count struct {
		id string
		n  int
	}
	list, err := database.List(ctx, tb.db, "count held tools", func(c *count) []any { return []any{&c.id, &c.n} }, `SELECT t.builtin_id, count(*)
		FROM skill_tools t JOIN builtin_agents b ON b.id = t.builtin_id WHERE b.owner_id = $1 AND t.held_hash <> '' GROUP BY t.builtin_id`, owner)
	held := map[string]int{}
	for _, c := range list {
		held[c.id] = c.n
	}
	return held, err
}

// AcceptSkillTool makes the held description the known one, if it still is the
// one with that hash: nobody accepts what they have not seen.
func (tb *Table) AcceptSkillTool(ctx context.Context, builtinID, skill, tool, hash string, at time.Time) error {
	changed := beeos.Errorf(beeos.Conflict, "the tool has changed again, or nothing of it is held; look at it once more")
	return database.ChangeOne(ctx, tb.db, "accept tool", changed, `UPDATE skill_tools SET past = CASE WHEN definition = '' THEN past ELSE definition END, hash = held_hash, definition = held, held_hash = '', held = '', updated_at = $5
		WHERE builtin_id = $1 AND skill = $2 AND tool = $3 AND held_hash = $4 AND held_hash <> ''`, builtinID, skill, tool, hash, database.Micros(at))
}

func skillToolFields(t *SkillTool) []any {
	return []any{&t.BuiltinID, &t.Skill, &t.Tool, &t.Hash, &t.Definition, &t.HeldHash, &t.Held, &t.Past, database.Time(&t.UpdatedAt)}
}

// PutSkillToken keeps what a skill was given for one resource by one issuer,
// sealed.
func (tb *Table) PutSkillToken(ctx context.Context, builtinID, skill, resource, issuer string, sealed []byte, at time.Time) error {
	return database.Exec(ctx, tb.db, "keep token", `INSERT INTO skill_tokens (builtin_id, skill, resource, issuer, sealed, updated_at) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (builtin_id, skill, resource, issuer) DO UPDATE SET sealed = excluded.sealed, updated_at = excluded.updated_at`,
		builtinID, skill, resource, issuer, sealed, database.Micros(at))
}

// GetSkillToken returns what PutSkillToken kept, or nil; "" as issuer means the
// one that was heard of last.
func (tb *Table) GetSkillToken(ctx context.Context, builtinID, skill, resource, issuer string) ([]byte, error) {
	where := database.Conditions{}
	where.Add("builtin_id = ?", builtinID)
	where.Add("skill = ?", skill)
	where.Add("resource = ?", resource)
	where.AddUnlessEmpty("issuer = ?", issuer)
	return database.GetValue[[]byte](ctx, tb.db, "read token", "SELECT sealed FROM skill_tokens"+where.SQL()+" ORDER BY updated_at DESC LIMIT 1", where.Args...)
}

// ForgetSkillTokens drops all that a skill was given.
func (tb *Table) ForgetSkillTokens(ctx context.Context, builtinID, skill string) error {
	return database.Exec(ctx, tb.db, "forget tokens", "DELETE FROM skill_tokens WHERE builtin_id = $1 AND skill = $2", builtinID, skill)
}

// ForgetSkill drops all that is kept about a skill that an agent no longer
// has, the owner's rules included: another server under its name must not
// inherit them.
func (tb *Table) ForgetSkill(ctx context.Context, builtinID, skill string) error {
	return tb.db.Tx(ctx, "forget skill", func(tx *sql.Tx) error {
		for _, table := range []string{"skill_consents", "skill_tokens", "skill_tools", "skill_listings"} {
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE builtin_id = $1 AND skill = $2", builtinID, skill); err != nil {
				return err
			}
		}
		return database.Exec(ctx, tx, "forget rules", forgetSkillRules, builtinID, skill)
	})
}

const forgetSkillRules = "DELETE FROM approval_rules WHERE skill = $2 AND agent_id IN (SELECT agent_id FROM agent_homes WHERE instance_id = $1)"

// ForgetSkillRules drops what the owner decided about the tools of a skill.
func (tb *Table) ForgetSkillRules(ctx context.Context, builtinID, skill string) error {
	return database.Exec(ctx, tb.db, "forget the rules of a skill", forgetSkillRules, builtinID, skill)
}

// SkillConsent is a person on the way to an authorization server.
type SkillConsent struct {
	BuiltinID, Skill string
	Sealed           []byte
}

// PutSkillConsent keeps a consent until its state comes back.
func (tb *Table) PutSkillConsent(ctx context.Context, state string, c SkillConsent, expires time.Time) error {
	return database.Insert(ctx, tb.db, "keep consent", "skill_consents", "hash, builtin_id, skill, sealed, expires_at",
		database.TokenHash(state), c.BuiltinID, c.Skill, c.Sealed, database.Micros(expires))
}

// TakeSkillConsent returns the consent of a state, once.
func (tb *Table) TakeSkillConsent(ctx context.Context, state string, now time.Time) (SkillConsent, error) {
	unknown := beeos.Errorf(beeos.InvalidParam, "this answer belongs to no authorization that is under way; start it again in the console")
	return database.Tx(ctx, tb.db, "take consent", func(tx *sql.Tx) (SkillConsent, error) {
		return database.Get(ctx, tx, "delete it", unknown, func(c *SkillConsent) []any { return []any{&c.BuiltinID, &c.Skill, &c.Sealed} },
			"DELETE FROM skill_consents WHERE hash = $1 AND expires_at > $2 RETURNING builtin_id, skill, sealed", database.TokenHash(state), database.Micros(now))
	})
}
