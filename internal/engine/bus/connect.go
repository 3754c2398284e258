package bus

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

const (
	startWithin = 30 * time.Second
	dialAgain   = 100 * time.Millisecond
	meshUser    = "node"

	handshakeWithin = 10 * time.Second

	// A link of the mesh that carries nothing is given up and made anew, every
	// second: waiting for what TCP sends again takes much longer once it is healed.
	meshPing   = 2 * time.Second
	meshMissed = 2

	// So is a NATS server that says nothing any more: another one may be there.
	natsPing   = 2 * time.Second
	natsMissed = 2
)

func (b *Bus) connect(ctx context.Context, opt Options) error {
	options := []nats.Option{
		nats.Name("beeos " + opt.NodeID),
		nats.NoEcho(), // this node has told itself already
		nats.MaxReconnects(-1),
		nats.ReconnectWait(200 * time.Millisecond),
		nats.Timeout(startWithin),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if errors.Is(err, nats.ErrSlowConsumer) {
				b.slow.Add(1)
			}
			b.log.Warn("bus", "err", err)
		}),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				b.log.Warn("bus disconnected; reconnecting", "err", err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) {
			b.log.Info("bus reconnected")
			b.notices.call(Notice{}) // anything may have been missed: waiters re-read
		}),
	}
	target := opt.URL
	if target != "" {
		options = append(options, nats.PingInterval(natsPing), nats.MaxPingsOutstanding(natsMissed))
	} else {
		srv, err := startServer(opt)
		if err != nil {
			return err
		}
		b.server = srv
		target = nats.DefaultURL
		options = append(options, nats.InProcessServer(srv), nats.UserInfo(meshUser, opt.Secret))
	}
	nc, err := b.dial(ctx, target, options, opt.Wait)
	if err != nil {
		if b.server != nil {
			b.server.Shutdown()
		}
		return fmt.Errorf("connect to NATS; check that NATS_URL names a running server: %w", err)
	}
	b.nc = nc
	return ctx.Err()
}

// dial connects to a server, which may come up at the same moment as this
// node and then takes until wait is over to be there.
func (b *Bus) dial(ctx context.Context, target string, options []nats.Option, wait time.Duration) (*nats.Conn, error) {
	for end := time.Now().Add(wait); ; {
		nc, err := nats.Connect(target, options...)
		if _, network := errors.AsType[net.Error](err); err == nil || !network && !errors.Is(err, nats.ErrNoServers) || time.Now().After(end) {
			return nc, err
		}
		b.log.Debug("NATS does not answer yet; trying again", "err", err)
		select {
		case <-time.After(dialAgain):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// startServer runs NATS inside this process: no disk, no client port, and a
// cluster port only where nodes mesh.
func startServer(opt Options) (*server.Server, error) {
	o := &server.Options{
		ServerName: opt.NodeID,
		DontListen: true,
		NoSigs:     true,
		NoLog:      true,
		MaxPayload: 8 << 20,
	}
	if opt.Cluster != "" {
		if err := mesh(o, opt); err != nil {
			return nil, err
		}
	}
	srv, err := server.NewServer(o)
	if err != nil {
		return nil, fmt.Errorf("set up embedded NATS: %w", err)
	}
	srv.Start()
	if !srv.ReadyForConnections(startWithin) {
		srv.Shutdown()
		return nil, errors.New("embedded NATS did not start; is the address of BEEOS_CLUSTER_ADDR free?")
	}
	return srv, nil
}

func mesh(o *server.Options, opt Options) error {
	host, port, err := net.SplitHostPort(opt.Cluster)
	if err != nil {
		return fmt.Errorf("BEEOS_CLUSTER_ADDR must be host:port: %w", err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return fmt.Errorf("BEEOS_CLUSTER_ADDR must end in a port number: %w", err)
	}
	if n == 0 {
		n = server.RANDOM_PORT
	}
	// The server meshes only once it also listens for clients, so it does, on
	// loopback and for nobody but its own node.
	o.DontListen, o.Host, o.Port = false, "127.0.0.1", server.RANDOM_PORT
	o.Username, o.Password = meshUser, opt.Secret
	secured, err := meshTLS(opt.Secret, opt.NodeID)
	if err != nil {
		return err
	}
	o.Cluster = server.ClusterOpts{
		Name: "beeos", Host: host, Port: n,
		Username: meshUser, Password: opt.Secret,
		TLSConfig: secured, TLSTimeout: handshakeWithin.Seconds(),
		PingInterval: meshPing, MaxPingsOut: meshMissed,
	}
	for _, r := range opt.Routes {
		u, err := url.Parse(r)
		if err != nil || u.Host == "" {
			return fmt.Errorf("mesh route %q is not a nats:// address", r)
		}
		u.User = url.UserPassword(meshUser, opt.Secret)
		o.Routes = append(o.Routes, u)
	}
	return nil
}

// RouteURL is where other nodes reach this one's mesh port; empty when this
// node is alone or NATS is external.
func (b *Bus) RouteURL() string {
	if b.server == nil || b.server.ClusterAddr() == nil {
		return ""
	}
	return "nats://" + b.server.ClusterAddr().String()
}

// Peers is how many nodes this one is meshed with.
func (b *Bus) Peers() int {
	if b.server == nil {
		return 0
	}
	return b.server.NumRoutes()
}
