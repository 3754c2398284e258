package database

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/beeos/beeos/internal/wire/tcp"
)

// pulse finds out that a PostgreSQL has gone silent: frozen, or behind a network
// that swallows everything. A connection cannot tell that from a query that takes
// long, so the server is asked for the time every second, on a connection of its
// own. When it does not answer, all connections are closed at once, whoever waits
// on them is told, and nobody waits for another one until a server is found that
// answers and takes writes.
type pulse struct {
	cfg   *pgx.ConnConfig
	hosts []host

	mu     sync.Mutex
	open   map[*watchedConn]struct{}
	silent bool
	first  int       // of hosts, which is tried first: the one that let us in
	signed time.Time // when the session of now was marked as this process's; zero = it is not

	name      string // of this process; empty = it has none
	signedFor time.Duration
}

const (
	pulseEvery  = time.Second
	pulseWithin = 3 * time.Second // and postgresGrace
	pulseAgain  = 250 * time.Millisecond
	precise     = 100 * time.Millisecond // how long the question for the time may take, to be believed
	oldReading  = 10 * time.Second       // then one that took longer is better than none
	farewell    = time.Second
)

var errSilent = errors.New("the database does not answer")

// newPulse also makes cfg tell it of connections.
func newPulse(cfg *pgx.ConnConfig) *pulse {
	p := &pulse{hosts: hostsOf(cfg), open: map[*watchedConn]struct{}{}, signedFor: signedFor}
	cfg.DialFunc = p.dial
	p.cfg = cfg
	return p
}

// watchedConn is a connection that the pulse can close.
type watchedConn struct {
	net.Conn
	p *pulse
}

// NetConn is for isStale.
func (c *watchedConn) NetConn() net.Conn { return c.Conn }

func (c *watchedConn) Close() error {
	c.p.mu.Lock()
	delete(c.p.open, c)
	c.p.mu.Unlock()
	return c.Conn.Close()
}

func (p *pulse) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := tcp.Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &watchedConn{conn, p}
	p.mu.Lock()
	p.open[c] = struct{}{}
	p.mu.Unlock()
	return c, nil
}

// admit is asked before the pool makes a connection.
func (p *pulse) admit(_ context.Context, cfg *pgx.ConnConfig) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.silent {
		return errSilent
	}
	aim(cfg, slices.Concat(p.hosts[p.first:], p.hosts[:p.first])...)
	return nil
}

// Watch keeps watch over the connections to the database until stop is called. One
// process has one watch; a command that is soon over needs none. By the name others
// find out whether the process has died (HasSession).
func (db *DB) Watch(name string, log *slog.Logger) (stop func()) {
	if db.pulse == nil {
		return func() {}
	}
	db.pulse.name = name
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { db.pulse.run(ctx, &db.clock, log) })
	return func() {
		cancel()
		done.Wait()
	}
}

// IsSilent reports whether the database has gone silent and not come back yet.
func (db *DB) IsSilent() bool {
	if db.pulse == nil {
		return false
	}
	db.pulse.mu.Lock()
	defer db.pulse.mu.Unlock()
	return db.pulse.silent
}

func (p *pulse) run(ctx context.Context, c *clock, log *slog.Logger) {
	for ctx.Err() == nil {
		conn, at, err := p.connect(ctx)
		if err == nil {
			p.welcome(conn, at, log)
			if err = p.sign(ctx, conn); err == nil {
				err = ask(ctx, conn, c, log)
			}
			p.leave(conn)
		}
		if ctx.Err() == nil && isSilence(err) {
			p.dropAll(err, log)
		}
		select {
		case <-time.After(pulseAgain):
		case <-ctx.Done():
		}
	}
}

// connect finds the server that takes writes, and tells which of the hosts it is.
// One that has just gone silent is tried last.
func (p *pulse) connect(ctx context.Context) (*pgx.Conn, int, error) {
	p.mu.Lock()
	begin := p.first
	if p.silent {
		begin++
	}
	p.mu.Unlock()
	var trouble error
	for i := range p.hosts {
		at := (begin + i) % len(p.hosts)
		cfg := p.cfg.Copy()
		aim(cfg, p.hosts[at])
		conn, err := pgx.ConnectConfig(ctx, cfg)
		if err == nil {
			return conn, at, nil
		}
		trouble = errors.Join(trouble, err)
	}
	return nil, 0, trouble
}

const askTime = `SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)`

// ask asks for the time every second until there is no answer.
func ask(ctx context.Context, conn *pgx.Conn, c *clock, log *slog.Logger) error {
	tick := time.NewTicker(pulseEvery)
	defer tick.Stop()
	for {
		within, cancel := context.WithTimeout(ctx, pulseWithin)
		var micros int64
		sent := time.Now()
		err := conn.QueryRow(within, askTime).Scan(&micros)
		cancel()
		if err != nil {
			return err
		}
		took := time.Since(sent)
		if old := c.read.Load(); took < precise || old == nil || time.Since(old.at) > oldReading {
			c.note(sent.Add(took/2), Moment(micros), log)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (p *pulse) leave(conn *pgx.Conn) {
	p.mu.Lock()
	p.signed = time.Time{}
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	conn.Close(ctx) //nolint:errcheck // it is over either way
}

// isSilence reports whether nobody said anything: others that an error is not
// enough to take leave of are told of by their own connections.
func isSilence(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.Is(err, syscall.ETIMEDOUT) || errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH)
}

// dropAll closes every connection.
func (p *pulse) dropAll(err error, log *slog.Logger) {
	p.mu.Lock()
	conns := slices.Collect(maps.Keys(p.open))
	before := p.silent
	p.silent = true
	p.mu.Unlock()
	for _, c := range conns {
		c.Close()
	}
	if !before {
		log.Error("the database has gone silent; its connections are closed, and it is looked for", "connections", len(conns), "err", oneLine{err})
	}
}

// welcome lets everybody connect to the server that answers. Nobody stays with
// another one.
func (p *pulse) welcome(conn *pgx.Conn, at int, log *slog.Logger) {
	p.mu.Lock()
	before, moved := p.silent, p.first != at
	p.silent, p.first = false, at
	var others []*watchedConn
	for c := range p.open {
		if moved && c.RemoteAddr().String() != conn.PgConn().Conn().RemoteAddr().String() {
			others = append(others, c)
		}
	}
	p.mu.Unlock()
	for _, c := range others {
		c.Close()
	}
	if before || moved {
		log.Info("the database answers", "at", p.hosts[at].name())
	}
}
