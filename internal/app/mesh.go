package app

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/store/cluster"
	"github.com/beeos/beeos/internal/store/database"
)

const (
	loneBeat = 5 * time.Second // where nobody takes over what a node had
	nodeDead = 20 * time.Second
	natsWait = 10 * time.Second // for a NATS that is started together with this node
)

// openBus joins the bus: an external NATS, the mesh of the nodes that share
// this database, or nobody.
func (p *parts) openBus(ctx context.Context) (*bus.Bus, error) {
	opt := bus.Options{NodeID: p.node, URL: p.cfg.NATSURL, Cluster: p.cfg.ClusterAddr, Log: p.log, Wait: natsWait}
	if opt.URL == "" && opt.Cluster != "" {
		if err := p.meetNodes(ctx, &opt); err != nil {
			return nil, err
		}
	}
	b, err := bus.Open(ctx, opt)
	if err != nil {
		return nil, err
	}
	if err := p.beat(ctx); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// meetNodes tells the other nodes about this one and finds out about them, in
// this order: of two nodes that start at the same moment, the one that looks
// last sees the other. Their servers try until they have met.
func (p *parts) meetNodes(ctx context.Context, opt *bus.Options) error {
	secret, err := p.db.Cluster.Secret(ctx, "mesh", func() []byte { return []byte(beeos.NewSecret("")) })
	if err != nil {
		return err
	}
	opt.Secret = string(secret)
	if host, _, _ := net.SplitHostPort(opt.Cluster); host == "" || net.ParseIP(host).IsUnspecified() {
		return fmt.Errorf("other nodes cannot reach BEEOS_CLUSTER_ADDR=%s — set it to an address of this machine that they can, for example 10.0.0.5:6222", opt.Cluster)
	}
	if opt.Cluster, err = fixPort(opt.Cluster); err != nil {
		return err
	}
	p.route = "nats://" + opt.Cluster
	if _, err := p.db.ReadClock(ctx); err != nil { // nodes see each other by the time of the database
		return err
	}
	if err := p.beat(ctx); err != nil {
		return err
	}
	nodes, err := p.db.Cluster.ListNodes(ctx, p.db.Now().Add(-nodeDead))
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if n.RouteURL != "" && n.RouteURL != p.route {
			opt.Routes = append(opt.Routes, n.RouteURL)
		}
	}
	return nil
}

// fixPort replaces port 0, which is any, by one that is free now.
func fixPort(addr string) (string, error) {
	if !strings.HasSuffix(addr, ":0") {
		return addr, nil
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return "", fmt.Errorf("cannot listen on BEEOS_CLUSTER_ADDR: %w", err)
	}
	defer ln.Close()
	return ln.Addr().String(), nil
}

// beat says that this node is alive and where others reach it.
func (p *parts) beat(ctx context.Context) error {
	return p.db.Cluster.PutNode(ctx, cluster.Node{ID: p.node, RouteURL: p.route, SeenAt: p.db.Now()})
}

// keepNode keeps this node's row fresh for those that come later.
func (p *parts) keepNode(ctx context.Context) error {
	defer func() {
		if err := p.db.Cluster.DropNode(context.WithoutCancel(ctx), p.node); err != nil {
			p.log.Warn("this node's row stays behind", "err", err)
		}
	}()
	every := loneBeat
	if p.db.Cluster.Shareable() {
		every = cluster.BeatEvery
	}
	return database.Every(ctx, every, p.beat, func(err error) {
		p.log.Error("node beat", "err", fmt.Errorf("tell the database that this node is alive: %w", err))
	})
}
