package agents

import (
	"cmp"
	"context"
	"database/sql"
	"slices"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
)

// SyncedAgent names one agent in the answer to a sync.
type SyncedAgent struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Slug string `json:"slug"`
}

// SyncResult says what a sync has done. No list is nil.
type SyncResult struct {
	Created     []SyncedAgent `json:"created"`
	Updated     []SyncedAgent `json:"updated"`
	Deactivated []SyncedAgent `json:"deactivated"`
	Unchanged   []SyncedAgent `json:"unchanged"`
}

// IDs returns the ids of the agents that the instance now serves, by name.
func (r SyncResult) IDs() map[string]string {
	ids := map[string]string{}
	for _, list := range [][]SyncedAgent{r.Created, r.Updated, r.Unchanged} {
		for _, a := range list {
			ids[a.Name] = a.ID
		}
	}
	return ids
}

// Sync makes the instance's agents exactly those that defs declares: new
// names are created, changed ones updated, and what is missing is no longer
// declared by this instance, which deactivates it unless another instance
// still does. The same sync again changes nothing. An error changes nothing
// either: InvalidBody names the definition that is wrong, Conflict the one
// whose delivery_mode has changed.
//
// Visibility, MCPEnabled, SelfTool, RateLimit, HandOver, WhenLeft and MetadataOnly belong to the owner;
// a sync only sets their defaults in a new agent.
func (tb *Table) Sync(ctx context.Context, inst beeos.Instance, defs []beeos.Definition) (SyncResult, error) {
	declared, err := prepareDefinitions(defs)
	if err != nil {
		return SyncResult{}, err
	}
	// Most syncs come from a process that merely reconnects. They cost two
	// reads and take no lock.
	s, err := tb.compare(ctx, tb.db, inst, declared)
	if err == nil && !s.empty() {
		err = tb.db.Tx(ctx, "sync", func(tx *sql.Tx) error {
			if err := tb.planAnew(ctx, tx); err != nil {
				return err
			}
			if err := lockOwner(ctx, tx, inst.OwnerID); err != nil {
				return err
			}
			if err := mayDeclare(ctx, tx, inst); err != nil {
				return err
			}
			if s, err = tb.compare(ctx, tx, inst, declared); err != nil {
				return err
			}
			return s.apply(ctx, tx)
		})
	}
	if err != nil {
		return SyncResult{}, err
	}
	return s.result(), nil
}

// planAnew stops PostgreSQL from using plans that it made when the tables
// were small: a first sync of thousands of agents makes them large at once.
func (tb *Table) planAnew(ctx context.Context, tx *sql.Tx) error {
	if !tb.db.Postgres {
		return nil
	}
	return database.Exec(ctx, tx, "plan anew", "SET LOCAL plan_cache_mode = force_custom_plan")
}

// lockOwner makes everyone who changes this owner's set of agents take turns.
func lockOwner(ctx context.Context, tx *sql.Tx, owner string) error {
	return database.ChangeOne(ctx, tx, "lock owner", database.NotFound("user"), "UPDATE users SET syncs = syncs + 1 WHERE id = $1", owner)
}

// mayDeclare refuses an instance that was revoked since its request came in.
func mayDeclare(ctx context.Context, tx *sql.Tx, inst beeos.Instance) error {
	ok, err := database.GetValue[bool](ctx, tx, "read instance", "SELECT EXISTS (SELECT 1 FROM instances WHERE id = $1 AND owner_id = $2 AND revoked_at = 0)", inst.ID, inst.OwnerID)
	if err == nil && !ok {
		err = beeos.Errorf(beeos.InvalidToken, "this instance is unknown or revoked; register it again")
	}
	return err
}

// change is one declared agent and what has to happen to it.
type change struct {
	agent   *beeos.Agent
	text    string
	created bool
	updated bool
	moved   bool // only where it lives has changed, which no client sees

	before []beeos.Skill // of an agent that is stored
}

// syncing is the difference between what is declared and what is stored.
type syncing struct {
	inst    beeos.Instance
	changes []change
	gone    []string      // ids that this instance no longer declares
	evicted []SyncedAgent // of these, the ones that nobody declares now
}

func (s *syncing) empty() bool {
	return len(s.gone) == 0 && !slices.ContainsFunc(s.changes, func(c change) bool { return c.created || c.updated || c.moved })
}

// compare works out what a sync has to do.
func (tb *Table) compare(ctx context.Context, q database.Querier, inst beeos.Instance, declared []declaration) (*syncing, error) {
	s := &syncing{inst: inst}
	homes, err := listHomes(ctx, q, inst.ID)
	if err != nil {
		return nil, err
	}
	stored, err := tb.listByName(ctx, q, inst.OwnerID, declared)
	if err != nil {
		return nil, err
	}
	for _, d := range declared {
		c, err := d.compareWith(stored[d.Name], inst)
		if err != nil {
			return nil, err
		}
		if !c.created && !homes[c.agent.ID] {
			c.moved = true
		}
		delete(homes, c.agent.ID)
		s.changes = append(s.changes, c)
	}
	s.gone = database.SortedKeys(homes)
	return s, nil
}

func listHomes(ctx context.Context, q database.Querier, instance string) (map[string]bool, error) {
	ids, err := database.ListTexts(ctx, q, "list homes", "SELECT agent_id FROM agent_homes WHERE instance_id = $1", instance)
	homes := make(map[string]bool, len(ids))
	for _, id := range ids {
		homes[id] = true
	}
	return homes, err
}

// listByName reads the declared agents that exist already.
func (tb *Table) listByName(ctx context.Context, q database.Querier, owner string, declared []declaration) (map[string]*beeos.Agent, error) {
	found := make(map[string]*beeos.Agent, len(declared))
	for part := range slices.Chunk(declared, 500) {
		args := []any{owner}
		for _, d := range part {
			args = append(args, d.Name)
		}
		agents, err := database.List(ctx, q, "read agents", agentFields, "SELECT "+agentColumns+" FROM agents WHERE NOT deleted AND owner_id = $1 AND name IN ("+database.Placeholders(2, len(part))+")", args...)
		if err != nil {
			return nil, err
		}
		for _, a := range agents {
			found[a.Name] = a
		}
	}
	return found, nil
}

// compareWith compares one declaration with the stored agent, or makes a new one.
func (d declaration) compareWith(a *beeos.Agent, inst beeos.Instance) (change, error) {
	def := d.Definition
	if a == nil {
		def.DeliveryMode = cmp.Or(def.DeliveryMode, beeos.DeliverPush)
		a = &beeos.Agent{
			ID: newAgentID(), OwnerID: inst.OwnerID, InstanceID: inst.ID, Name: def.Name, Active: true,
			Visibility: beeos.VisiblePrivate, MCPEnabled: true, SelfTool: true, HandOver: true, Definition: def, CreatedAt: database.Now(),
		}
		text, err := encodeDefinition(def)
		return change{agent: a, text: text, created: true}, err
	}
	old := a.Definition.DeliveryMode
	def.DeliveryMode = cmp.Or(def.DeliveryMode, old) // silence means: as before
	if def.DeliveryMode != old {
		return change{}, beeos.Errorf(beeos.Conflict, "agent %q was created with delivery_mode %s, which cannot change to %s; keep %s, or use another name",
			d.Name, old, def.DeliveryMode, old)
	}
	if slices.ContainsFunc(def.Skills, func(s beeos.Skill) bool { return s.Name == a.ID }) {
		return change{}, beeos.Errorf(beeos.InvalidBody, "agent %q: skill %q has the name of the agent itself; rename it", d.Name, a.ID)
	}
	text, err := encodeDefinition(def)
	if err != nil {
		return change{}, err
	}
	before, err := encodeDefinition(a.Definition)
	if err != nil {
		return change{}, err
	}
	c := change{agent: a, text: text, updated: text != before || !a.Active, moved: a.InstanceID != inst.ID, before: a.Definition.Skills}
	a.Definition, a.Active, a.InstanceID = def, true, inst.ID
	return c, nil
}

func (s *syncing) result() SyncResult {
	r := SyncResult{Created: []SyncedAgent{}, Updated: []SyncedAgent{}, Deactivated: []SyncedAgent{}, Unchanged: []SyncedAgent{}}
	for _, c := range s.changes {
		name := SyncedAgent{ID: c.agent.ID, Name: c.agent.Name, Slug: c.agent.Slug}
		switch {
		case c.created:
			r.Created = append(r.Created, name)
		case c.updated:
			r.Updated = append(r.Updated, name)
		default:
			r.Unchanged = append(r.Unchanged, name)
		}
	}
	r.Deactivated = append(r.Deactivated, s.evicted...)
	return r
}
