// Package agents keeps agents, what they declare, and the instances that
// declare them. Sync compares what an instance says with what is stored
// (sync.go) and writes the difference (sync_write.go); definition.go says what
// an agent may declare, and past_schemas.go what it named secret before.
package agents

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
)

// Table keeps agents and what instances declare of them.
type Table struct{ db *database.DB }

// New returns the tables of db.
func New(db *database.DB) *Table { return &Table{db: db} }

const agentColumns = "id, owner_id, instance_id, name, slug, active, visibility, mcp_enabled, self_tool, rate_limit, title, hand_over, when_left, metadata_only, definition, fingerprint, created_at, updated_at"

// Filter picks agents; an empty field picks all.
type Filter struct {
	OwnerID    string
	OfferedTo  string             // owned by this person, or in the marketplace
	InstanceID string             // declared by this instance
	IDs        []string           // nil = all, empty = none
	Visibility []beeos.Visibility // one of these; nil = any
	After      string             // younger than this one
	Active     *bool
	MCPEnabled *bool
	Limit      int // 0 = 100
	Offset     int
}

// Patch is what an owner may change; nil leaves a field as it is.
type Patch struct {
	Visibility   *beeos.Visibility
	MCPEnabled   *bool
	SelfTool     *bool
	RateLimit    *int
	Title        *string
	HandOver     *bool
	WhenLeft     *beeos.WhenLeft
	MetadataOnly *bool
}

// Get returns an agent by id; a deleted one is not found.
func (tb *Table) Get(ctx context.Context, id string) (*beeos.Agent, error) {
	return useTitle(getAgent(ctx, tb.db, "id = $1", id))
}

// GetByName returns an owner's agent by the name that it syncs under.
func (tb *Table) GetByName(ctx context.Context, owner, name string) (*beeos.Agent, error) {
	return useTitle(getAgent(ctx, tb.db, "owner_id = $1 AND name = $2", owner, name))
}

// useTitle shows an agent under the name that its owner gave it. Sync does not:
// it compares what an agent says with what it said before.
func useTitle(a *beeos.Agent, err error) (*beeos.Agent, error) {
	if err == nil && a.Title != "" {
		a.Definition.DisplayName = a.Title
	}
	return a, err
}

func getAgent(ctx context.Context, q database.Querier, where string, args ...any) (*beeos.Agent, error) {
	return database.Get(ctx, q, "read agent", NotFound(), agentFields, "SELECT "+agentColumns+" FROM agents WHERE NOT deleted AND "+where, args...)
}

// ListNames returns the names of agents, also of deleted ones, by their ids.
func (tb *Table) ListNames(ctx context.Context, ids []string) (map[string]string, error) {
	type named struct{ id, name string }
	where := database.Conditions{}
	where.AddList("id", database.Args(ids))
	rows, err := database.List(ctx, tb.db, "list names of agents", func(n *named) []any { return []any{&n.id, &n.name} },
		"SELECT id, name FROM agents "+where.SQL(), where.Args...)
	names := make(map[string]string, len(rows))
	for _, n := range rows {
		names[n.id] = n.name
	}
	return names, err
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
	list, err = database.List(ctx, tb.db, "list agents", agentFields, query, append(slices.Clip(where.Args), limit, offset)...)
	if database.IsAbsent(err) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	for _, a := range list {
		useTitle(a, nil) //nolint:errcheck // there is none
	}
	if len(list) < limit && (len(list) > 0 || offset == 0) {
		return list, offset + len(list), nil // the last page: nothing to count
	}
	total, err = database.GetValue[int](ctx, tb.db, "count agents", "SELECT count(*) FROM agents"+where.SQL(), where.Args...)
	return list, total, err
}

// Conditions are those that the filter stands for; none says that nothing meets them.
func (f Filter) Conditions() (where database.Conditions, none bool) {
	where.Text("NOT deleted")
	where.AddUnlessEmpty("owner_id = ?", f.OwnerID)
	where.AddUnlessEmpty("(owner_id = ? OR visibility = '"+string(beeos.VisibleMarketplace)+"')", f.OfferedTo)
	where.AddUnlessEmpty("id IN (SELECT agent_id FROM agent_homes WHERE instance_id = ?)", f.InstanceID)
	if f.Visibility != nil {
		where.AddList("visibility", database.Args(f.Visibility))
	}
	if f.After != "" {
		where.Add("(created_at, id) > (SELECT created_at, id FROM agents WHERE id = ?)", f.After)
	}
	if f.Active != nil {
		where.Add("active = ?", *f.Active)
	}
	if f.MCPEnabled != nil {
		where.Add("mcp_enabled = ?", *f.MCPEnabled)
	}
	if f.IDs != nil {
		where.AddList("id", database.Args(f.IDs))
	}
	return where, f.IDs != nil && len(f.IDs) == 0
}

// Update changes what the owner decides and returns the agent as it is
// then.
func (tb *Table) Update(ctx context.Context, id string, p Patch) (*beeos.Agent, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	return useTitle(database.Tx(ctx, tb.db, "update agent", func(tx *sql.Tx) (*beeos.Agent, error) {
		if err := lockOwnerOf(ctx, tx, id); err != nil {
			return nil, err
		}
		a, err := getAgent(ctx, tx, "id = $1", id)
		if err != nil {
			return nil, err
		}
		p.apply(a)
		text, err := encodeDefinition(a.Definition)
		if err != nil {
			return nil, err
		}
		a.Fingerprint, a.UpdatedAt = fingerprint(a, text), database.Now()
		return a, database.Exec(ctx, tx, "write agent", "UPDATE agents SET visibility = $2, mcp_enabled = $3, self_tool = $4, rate_limit = $5, title = $6, fingerprint = $7, updated_at = $8, hand_over = $9, when_left = $10, metadata_only = $11 WHERE id = $1",
			id, a.Visibility, a.MCPEnabled, a.SelfTool, a.RateLimit, a.Title, a.Fingerprint, database.Micros(a.UpdatedAt), a.HandOver, a.WhenLeft, a.MetadataOnly)
	}))
}

func (p Patch) check() error {
	if p.Visibility != nil && !oneOf(*p.Visibility, beeos.VisiblePrivate, beeos.VisibleUnlisted, beeos.VisiblePublic, beeos.VisibleMarketplace) {
		return beeos.Errorf(beeos.InvalidParam, "visibility is private, unlisted, public or marketplace, not %q", *p.Visibility)
	}
	if p.WhenLeft != nil && !oneOf(*p.WhenLeft, beeos.LeftDefault, beeos.LeftStop, beeos.LeftGoOn) {
		return beeos.Errorf(beeos.InvalidParam, "what becomes of calls whose client has left is stop or go_on, or empty for the default, not %q", *p.WhenLeft)
	}
	if p.RateLimit != nil && *p.RateLimit < 0 {
		return beeos.Errorf(beeos.InvalidParam, "the rate limit must be 0 (the default) or more calls per minute")
	}
	if p.Title != nil && (utf8.RuneCountInString(*p.Title) > maxTitle || beeos.Visible(*p.Title) != *p.Title || strings.ContainsAny(*p.Title, "\n\r\t")) {
		return beeos.Errorf(beeos.InvalidParam, "the name of an agent is one line of at most %d characters, all of them visible", maxTitle)
	}
	return nil
}

// maxTitle is how long the name may be that an owner gives an agent.
const maxTitle = 60

func (p Patch) apply(a *beeos.Agent) {
	set(&a.Visibility, p.Visibility)
	set(&a.MCPEnabled, p.MCPEnabled)
	set(&a.SelfTool, p.SelfTool)
	set(&a.RateLimit, p.RateLimit)
	set(&a.Title, p.Title)
	set(&a.HandOver, p.HandOver)
	set(&a.WhenLeft, p.WhenLeft)
	set(&a.MetadataOnly, p.MetadataOnly)
}

func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

// Delete takes an agent away, with its keys. Its row stays, because
// messages name it; its name is free, so a later sync makes a new agent.
func (tb *Table) Delete(ctx context.Context, id string) error {
	return tb.db.Tx(ctx, "delete agent", func(tx *sql.Tx) error {
		if err := lockOwnerOf(ctx, tx, id); err != nil {
			return err
		}
		at := database.Micros(database.Now())
		err := database.ChangeOne(ctx, tx, "mark deleted", NotFound(), "UPDATE agents SET deleted = TRUE, active = FALSE, updated_at = $2 WHERE id = $1 AND NOT deleted", id, at)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM agent_homes WHERE agent_id = $1", id); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM past_schemas WHERE agent_id = $1", id); err != nil {
			return err
		}
		return database.Exec(ctx, tx, "revoke keys", "UPDATE api_keys SET revoked_at = $2 WHERE agent_id = $1 AND agent_id <> '' AND revoked_at = 0", id, at)
	})
}

// lockOwnerOf is lockOwner for whoever owns the agent.
func lockOwnerOf(ctx context.Context, tx *sql.Tx, agent string) error {
	owner, err := database.Get(ctx, tx, "read owner", NotFound(), database.Itself[string], "SELECT owner_id FROM agents WHERE id = $1 AND NOT deleted", agent)
	if err != nil {
		return err
	}
	return lockOwner(ctx, tx, owner)
}

// agentFields makes a new agent, so that nothing of it is copied afterwards.
func agentFields(p **beeos.Agent) []any {
	a := &beeos.Agent{}
	*p = a
	return []any{
		&a.ID, &a.OwnerID, &a.InstanceID, &a.Name, &a.Slug, &a.Active, &a.Visibility, &a.MCPEnabled, &a.SelfTool, &a.RateLimit, &a.Title, &a.HandOver, &a.WhenLeft, &a.MetadataOnly,
		definitionColumn{a},
		&a.Fingerprint, database.Time(&a.CreatedAt), database.Time(&a.UpdatedAt),
	}
}

// definitionColumn is the column of an agent's definition, of which more follows.
type definitionColumn struct{ agent *beeos.Agent }

func (c definitionColumn) Scan(text any) error {
	if err := database.JSON(&c.agent.Definition).Scan(text); err != nil {
		return fmt.Errorf("definition of %s: %w", c.agent.ID, err)
	}
	c.agent.Timeout = time.Duration(c.agent.Definition.TimeoutMS) * time.Millisecond
	return nil
}

// fingerprint covers everything about an agent that a client can see.
func fingerprint(a *beeos.Agent, definition string) string {
	seen := fmt.Appendf(nil, "%s\n%s\n%v %s %v %v\n%s", a.Name, a.Slug, a.Active, a.Visibility, a.MCPEnabled, a.SelfTool, definition)
	if a.Title != "" {
		seen = append(seen, "\n"+a.Title...)
	}
	sum := sha256.Sum256(seen)
	return base64.RawURLEncoding.EncodeToString(sum[:15])
}

func NotFound() error {
	return beeos.Errorf(beeos.AgentNotFound, "there is no such agent; check the id, or list your agents")
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
