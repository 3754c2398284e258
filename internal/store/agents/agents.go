// Package agents keeps agents, what they declare, and the instances that
// declare them. Sync compares what an instance says with what is stored
// (sync.go) and writes the difference (sync_write.go); definition.go says what
// an agent may declare.
package agents

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
)

// Table keeps agents and what instances declare of them.
type Table struct{ db *database.DB }

// New returns the tables of db.
func New(db *database.DB) *Table { return &Table{db: db} }

const agentColumns = "id, owner_id, instance_id, name, slug, active, visibility, mcp_enabled, self_tool, rate_limit, definition, fingerprint, created_at, updated_at"

// Filter picks agents; an empty field picks all.
type Filter struct {
	OwnerID    string
	InstanceID string   // declared by this instance
	IDs        []string // nil = all, empty = none
	Active     *bool
	MCPEnabled *bool
	Visibility []beeos.Visibility // nil = all
	Limit      int                // 0 = 100
	Offset     int
}

// Patch is what an owner may change; nil leaves a field as it is.
type Patch struct {
	Visibility *beeos.Visibility
	MCPEnabled *bool
	SelfTool   *bool
	RateLimit  *int
}

// Get returns an agent by id; a deleted one is not found.
func (tb *Table) Get(ctx context.Context, id string) (*beeos.Agent, error) {
	return tb.agent(ctx, tb.db, "id = $1", id)
}

// GetByName returns an owner's agent by the name that it syncs under.
func (tb *Table) GetByName(ctx context.Context, owner, name string) (*beeos.Agent, error) {
	return tb.agent(ctx, tb.db, "owner_id = $1 AND name = $2", owner, name)
}

func (tb *Table) agent(ctx context.Context, q database.Querier, where string, args ...any) (*beeos.Agent, error) {
	a, err := scanAgent(q.QueryRowContext(ctx, "SELECT "+agentColumns+" FROM agents WHERE NOT deleted AND "+where, args...))
	if database.IsAbsent(err) {
		return nil, NotFound()
	}
	if err != nil {
		return nil, fmt.Errorf("read agent: %w", err)
	}
	return a, nil
}

// List lists agents, the oldest first, and says how many there are without
// limit and offset.
func (tb *Table) List(ctx context.Context, f Filter) (list []*beeos.Agent, total int, err error) {
	where, none := f.Conditions()
	if none {
		return nil, 0, nil
	}
	limit, offset := f.Limit, max(f.Offset, 0)
	if limit <= 0 {
		limit = 100
	}
	n := len(where.Args)
	query := fmt.Sprintf("SELECT %s FROM agents%s ORDER BY created_at, id LIMIT $%d OFFSET $%d", agentColumns, where.SQL(), n+1, n+2)
	rows, err := tb.db.QueryContext(ctx, query, append(slices.Clip(where.Args), limit, offset)...)
	list, err = database.Collect(rows, err, scanAgent)
	if database.IsAbsent(err) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("list agents: %w", err)
	}
	if len(list) < limit && (len(list) > 0 || offset == 0) {
		return list, offset + len(list), nil // the last page: nothing to count
	}
	if err := tb.db.QueryRowContext(ctx, "SELECT count(*) FROM agents"+where.SQL(), where.Args...).Scan(&total); err != nil {
		return nil, 0, fmt.Errorf("count agents: %w", err)
	}
	return list, total, nil
}

func (f Filter) Conditions() (where database.Conditions, none bool) {
	where.Text("NOT deleted")
	where.AddUnlessEmpty("owner_id = ", f.OwnerID)
	if f.InstanceID != "" {
		where.Add("id IN (SELECT agent_id FROM agent_homes WHERE instance_id = ", f.InstanceID)
		where.Parts[len(where.Parts)-1] += ")"
	}
	if f.Active != nil {
		where.Add("active = ", *f.Active)
	}
	if f.MCPEnabled != nil {
		where.Add("mcp_enabled = ", *f.MCPEnabled)
	}
	if f.IDs != nil {
		where.AddList("id", anySlice(f.IDs))
	}
	if f.Visibility != nil {
		where.AddList("visibility", anySlice(f.Visibility))
	}
	return where, f.IDs != nil && len(f.IDs) == 0 || f.Visibility != nil && len(f.Visibility) == 0
}

// Update changes what the owner decides and returns the agent as it is
// then.
func (tb *Table) Update(ctx context.Context, id string, p Patch) (*beeos.Agent, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	var a *beeos.Agent
	err := tb.db.Tx(ctx, func(tx *sql.Tx) (err error) {
		if err := lockOwnerOf(ctx, tx, id); err != nil {
			return err
		}
		if a, err = tb.agent(ctx, tx, "id = $1", id); err != nil {
			return err
		}
		p.apply(a)
		text, err := encodeDefinition(a.Definition)
		if err != nil {
			return err
		}
		a.Fingerprint, a.UpdatedAt = fingerprint(a, text), database.Now()
		_, err = tx.ExecContext(ctx, "UPDATE agents SET visibility = $2, mcp_enabled = $3, self_tool = $4, rate_limit = $5, fingerprint = $6, updated_at = $7 WHERE id = $1",
			id, string(a.Visibility), a.MCPEnabled, a.SelfTool, a.RateLimit, a.Fingerprint, database.Micros(a.UpdatedAt))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("update agent: %w", err)
	}
	return a, nil
}

func (p Patch) check() error {
	if p.Visibility != nil {
		switch *p.Visibility {
		case beeos.VisiblePrivate, beeos.VisibleUnlisted, beeos.VisiblePublic, beeos.VisibleMarketplace:
		default:
			return beeos.Errorf(beeos.InvalidParam, "visibility is private, unlisted, public or marketplace, not %q", *p.Visibility)
		}
	}
	if p.RateLimit != nil && *p.RateLimit < 0 {
		return beeos.Errorf(beeos.InvalidParam, "the rate limit must be 0 (the default) or more calls per minute")
	}
	return nil
}

func (p Patch) apply(a *beeos.Agent) {
	set(&a.Visibility, p.Visibility)
	set(&a.MCPEnabled, p.MCPEnabled)
	set(&a.SelfTool, p.SelfTool)
	set(&a.RateLimit, p.RateLimit)
}

func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

// Delete takes an agent away, with its keys. Its row stays, because
// messages name it; its name is free, so a later sync makes a new agent.
func (tb *Table) Delete(ctx context.Context, id string) error {
	err := tb.db.Tx(ctx, func(tx *sql.Tx) error {
		if err := lockOwnerOf(ctx, tx, id); err != nil {
			return err
		}
		at := database.Micros(database.Now())
		res, err := tx.ExecContext(ctx, "UPDATE agents SET deleted = TRUE, active = FALSE, updated_at = $2 WHERE id = $1 AND NOT deleted", id, at)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return NotFound()
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM agent_homes WHERE agent_id = $1", id); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE api_keys SET revoked_at = $2 WHERE agent_id = $1 AND agent_id <> '' AND revoked_at = 0", id, at)
		return err
	})
	if err != nil {
		return fmt.Errorf("delete agent: %w", err)
	}
	return nil
}

// lockOwnerOf is lockOwner for whoever owns the agent.
func lockOwnerOf(ctx context.Context, tx *sql.Tx, agent string) error {
	var owner string
	err := tx.QueryRowContext(ctx, "SELECT owner_id FROM agents WHERE id = $1 AND NOT deleted", agent).Scan(&owner)
	if database.IsAbsent(err) {
		return NotFound()
	}
	if err != nil {
		return err
	}
	return lockOwner(ctx, tx, owner)
}

func scanAgent(row database.Scanner) (*beeos.Agent, error) {
	var a beeos.Agent
	var definition string
	var created, updated int64
	err := row.Scan(&a.ID, &a.OwnerID, &a.InstanceID, &a.Name, &a.Slug, &a.Active, &a.Visibility, &a.MCPEnabled, &a.SelfTool, &a.RateLimit,
		&definition, &a.Fingerprint, &created, &updated)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(definition), &a.Definition); err != nil {
		return nil, fmt.Errorf("definition of %s: %w", a.ID, err)
	}
	a.Timeout = time.Duration(a.Definition.TimeoutMS) * time.Millisecond
	a.CreatedAt, a.UpdatedAt = database.Moment(created), database.Moment(updated)
	return &a, nil
}

// fingerprint covers everything about an agent that a client can see.
func fingerprint(a *beeos.Agent, definition string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%v %s %v %v\n%s", a.Name, a.Slug, a.Active, a.Visibility, a.MCPEnabled, a.SelfTool, definition))
	return base64.RawURLEncoding.EncodeToString(sum[:15])
}

func NotFound() error {
	return beeos.Errorf(beeos.AgentNotFound, "there is no such agent; check the id, or list your agents")
}

func anySlice[T ~string](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = string(v)
	}
	return out
}

// slugify turns a name into lower-case words with hyphens, which is safe in
// URLs and tool names.
func slugify(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= maxSlug {
			break
		}
	}
	if s := strings.Trim(b.String(), "-"); s != "" {
		return s
	}
	return "agent"
}

// maxSlug leaves room for a tool's name within the 64 characters that some
// clients allow.
const maxSlug = 32
