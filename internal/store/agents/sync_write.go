package agents

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
)

// newAgentID returns "agent_" and 16 lower-case letters and digits, 80 bits.
func newAgentID() string { return "agent_" + strings.ToLower(rand.Text()[:16]) }

// apply writes the difference. It runs under the owner's lock.
func (s *syncing) apply(ctx context.Context, tx *sql.Tx) (err error) {
	var agents, homes [][]any
	if err := s.assignSlugs(ctx, tx); err != nil {
		return err
	}
	for _, c := range s.changes {
		switch {
		case c.created:
			agents = append(agents, c.row())
		case c.updated || c.moved:
			if err := c.update(ctx, tx); err != nil {
				return fmt.Errorf("agent %q: %w", c.agent.Name, err)
			}
		default:
			continue
		}
		homes = append(homes, []any{c.agent.ID, s.inst.ID})
	}
	if err := database.InsertRows(ctx, tx, "agents", agentColumns+", deleted", agents, ""); err != nil {
		return err
	}
	if err := database.InsertRows(ctx, tx, "agent_homes", "agent_id, instance_id", homes, " ON CONFLICT (agent_id, instance_id) DO NOTHING"); err != nil {
		return err
	}
	if len(s.gone) > 0 {
		s.evicted, err = evict(ctx, tx, s.inst.ID, s.gone)
	}
	return err
}

// row is a new agent as agentColumns has it, and that it is not deleted.
func (c change) row() []any {
	a := c.agent
	a.UpdatedAt, a.Fingerprint = a.CreatedAt, fingerprint(a, c.text)
	return []any{
		a.ID, a.OwnerID, a.InstanceID, a.Name, a.Slug, a.Active, a.Visibility, a.MCPEnabled, a.SelfTool, a.RateLimit, a.Title, a.HandOver, a.WhenLeft, a.MetadataOnly,
		c.text, a.Fingerprint, database.Micros(a.CreatedAt), database.Micros(a.UpdatedAt), false,
	}
}

func (c change) update(ctx context.Context, tx *sql.Tx) error {
	a := c.agent
	if c.updated {
		a.UpdatedAt = database.Now()
	}
	if err := keepPastSchemas(ctx, tx, a, c.before); err != nil {
		return err
	}
	a.Fingerprint = fingerprint(a, c.text)
	return database.Exec(ctx, tx, "update agent", "UPDATE agents SET instance_id = $2, active = TRUE, definition = $3, fingerprint = $4, updated_at = $5 WHERE id = $1",
		a.ID, a.InstanceID, c.text, a.Fingerprint, database.Micros(a.UpdatedAt))
}

// assignSlugs gives each new agent the first of its slugs that no other agent
// of the owner has.
func (s *syncing) assignSlugs(ctx context.Context, tx *sql.Tx) error {
	var fresh []*beeos.Agent
	for _, c := range s.changes {
		if c.created {
			fresh = append(fresh, c.agent)
		}
	}
	taken := map[string]bool{}
	for part := range slices.Chunk(fresh, 100) {
		args := []any{s.inst.OwnerID}
		for _, a := range part {
			args = append(args, database.Args(listSlugs(a.Name))...)
		}
		found, err := database.ListTexts(ctx, tx, "list slugs", "SELECT slug FROM agents WHERE NOT deleted AND owner_id = $1 AND slug IN ("+database.Placeholders(2, len(args)-1)+")", args...)
		if err != nil {
			return err
		}
		for _, slug := range found {
			taken[slug] = true
		}
		for _, a := range part {
			for _, a.Slug = range listSlugs(a.Name) {
				if !taken[a.Slug] {
					break
				}
			}
			taken[a.Slug] = true
		}
	}
	return nil
}

// listSlugs are what an agent of this name may be called in URLs and tools, the
// nicest first. The last has all of the name's hash, so nobody else has it.
func listSlugs(name string) []string {
	sum := sha256.Sum256([]byte(name))
	nice, hash := slugify(name), hex.EncodeToString(sum[:])
	return []string{nice, nice + "-" + hash[:4], nice + "-" + hash[:8], hash}
}

// evict removes an instance from the homes of the given agents, nil meaning
// all, and returns those that became inactive by it.
func evict(ctx context.Context, tx *sql.Tx, instance string, ids []string) ([]SyncedAgent, error) {
	if ids == nil {
		homes, err := listHomes(ctx, tx, instance)
		if err != nil {
			return nil, err
		}
		ids = database.SortedKeys(homes)
	}
	var gone []SyncedAgent
	for _, id := range ids {
		if _, err := tx.ExecContext(ctx, "DELETE FROM agent_homes WHERE agent_id = $1 AND instance_id = $2", id, instance); err != nil {
			return nil, err
		}
		a, err := deactivate(ctx, tx, id)
		if err != nil {
			return nil, err
		}
		if a != nil {
			gone = append(gone, SyncedAgent{ID: a.ID, Name: a.Name, Slug: a.Slug})
		}
	}
	return gone, nil
}

// deactivate turns an agent off when it has no home left.
func deactivate(ctx context.Context, tx *sql.Tx, id string) (*beeos.Agent, error) {
	a, err := database.Get(ctx, tx, "read agent", nil, agentFields, "SELECT "+agentColumns+` FROM agents WHERE id = $1 AND NOT deleted AND active
		AND NOT EXISTS (SELECT 1 FROM agent_homes WHERE agent_id = $1)`, id)
	if a == nil {
		return nil, err
	}
	text, err := encodeDefinition(a.Definition)
	if err != nil {
		return nil, err
	}
	a.Active = false
	_, err = tx.ExecContext(ctx, "UPDATE agents SET active = FALSE, fingerprint = $2, updated_at = $3 WHERE id = $1", id, fingerprint(a, text), database.Micros(database.Now()))
	return a, err
}
