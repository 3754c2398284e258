package app

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/beeos/beeos/internal/store/cluster"
	"github.com/beeos/beeos/internal/store/database"
)

const (
	apartEvery = 3 * time.Second
	// apartAfter is how long servers must go on without being heard on the bus:
	// those that start are in the database first, those that were killed stay there.
	apartAfter = 9 * time.Second
)

// apart is what this process knows of servers that use the same database and
// another bus, or none. Everything works there and here, but for what is between
// them: agents of the others are offline here, and nothing here hears of what they
// do.
type apart struct {
	servers atomic.Int64

	since time.Time            // when not all were heard; zero = all are
	signs map[string]time.Time // their signs of life then
}

// watchApart looks for servers on this database that this one's bus does not reach.
func (p *parts) watchApart(ctx context.Context) error {
	if !p.db.Cluster.Shareable() {
		return nil
	}
	return database.Every(ctx, apartEvery, p.countApart, func(err error) {
		p.log.Debug("servers that share no bus are not looked for", "err", err)
	})
}

func (p *parts) countApart(ctx context.Context) error {
	if p.bus.Ready() != nil {
		return nil // which is said elsewhere
	}
	nodes, err := p.db.Cluster.ListNodes(ctx, p.db.Now().Add(-nodeDead))
	if err != nil {
		return err
	}
	p.noteApart(p.apart.count(nodes, p.node, time.Now(), func(others int) int { return p.bus.Settle(ctx, others) }))
	return nil
}

// count returns how many of the nodes live, and have for a while, without being
// heard; heard tells how many of so many are.
func (a *apart) count(nodes []cluster.Node, self string, now time.Time, heard func(others int) int) int {
	others := map[string]time.Time{}
	for _, n := range nodes {
		if n.ID != self {
			others[n.ID] = n.SeenAt
		}
	}
	answered := 0
	if len(others) > 0 {
		answered = heard(len(others))
	}
	if answered >= len(others) {
		a.since = time.Time{}
		return 0
	}
	if a.since.IsZero() {
		a.since, a.signs = now, others
	}
	if now.Sub(a.since) < apartAfter {
		return int(a.servers.Load())
	}
	alive := 0
	for id, seen := range others {
		if before, known := a.signs[id]; known && seen.After(before) {
			alive++
		}
	}
	a.since, a.signs = now, others // who dies now counts no longer the next time
	return max(0, alive-answered)
}

// noteApart says that so many servers are apart, once.
func (p *parts) noteApart(servers int) {
	switch before := p.apart.servers.Swap(int64(servers)); {
	case before == int64(servers):
	case servers == 0:
		p.log.Info("all servers on this database share one bus again")
	default:
		p.log.Warn("other servers use this database and do not share this one's bus: agents that are connected there are offline here; give all of them one NATS_URL, or each a BEEOS_CLUSTER_ADDR", "servers", servers)
	}
}

// checkApart reports that there are such servers.
func (p *parts) checkApart() error {
	if n := p.apart.servers.Load(); n > 0 {
		return fmt.Errorf("%d other servers use this database and do not share this one's bus", n)
	}
	return nil
}
