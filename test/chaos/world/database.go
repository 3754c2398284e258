//go:build unix

package world

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"syscall"

	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/test/pgtest"
)

// Database is PostgreSQL: one server or, with a standby, two. The standby has all
// that the primary has acknowledged, so that it can take over. Each stands at a
// place, to which the lines of the servers lead, whoever stands there.
type Database struct {
	places  []*place
	primary int
	alone   bool // the standby has taken over, and none follows

	made    *pgtest.Server // where the database was made
	address string         // of the database, there
}

type place struct {
	server *pgtest.Server
	lines  Lines
}

func startDatabase(standby bool) (d *Database, err error) {
	d = &Database{}
	if d.made, err = pgtest.Start(pgtest.Fsync); err != nil {
		return nil, err
	}
	d.places = []*place{{server: d.made}}
	if d.address, err = d.made.Database(); err != nil {
		return d, err
	}
	if standby {
		d.places = append(d.places, &place{})
		err = d.addStandby(1)
	}
	return d, err
}

// addStandby lets another server follow the primary, from a place that is free
// or whose server is no longer needed. Until it has come, the lines lead to that one.
func (d *Database) addStandby(at int) error {
	b, err := d.places[d.primary].server.StartStandby(true)
	if err != nil {
		return err
	}
	p := d.places[at]
	old := p.server
	p.server = b
	for _, l := range p.lines {
		l.Lead(b.Socket())
	}
	if old != nil {
		err = old.Kill() // it may be frozen: nobody writes there any more
		old.Stop()
	}
	return errors.Join(err, d.places[d.primary].server.AwaitStandby())
}

// connect lays lines to all servers, and returns them with the address of the
// database by them.
func (d *Database) connect(w *World) (lines Lines, address string, err error) {
	u, err := url.Parse(d.address)
	if err != nil {
		return nil, "", err
	}
	var hosts []string
	for _, p := range d.places {
		l, err := w.line("unix", p.server.Socket())
		if err != nil {
			return nil, "", err
		}
		p.lines, lines, hosts = append(p.lines, l), append(lines, l), append(hosts, l.Addr)
	}
	return lines, fmt.Sprintf("postgres://postgres@%s%s?sslmode=disable", strings.Join(hosts, ","), u.Path), nil
}

// open opens the database behind the servers' backs.
func (d *Database) open(ctx context.Context) (*store.Store, error) {
	return store.Open(ctx, d.places[d.primary].server.At(d.address, d.made))
}

// Restart ends PostgreSQL without a chance to tidy up, and starts it again on
// what it has left on disk.
func (d *Database) Restart() error { return d.places[d.primary].server.Restart() }

// KillPrimary ends the primary as a power cut would, for good.
func (d *Database) KillPrimary() error { return d.places[d.primary].server.Kill() }

// FreezePrimary stops the primary where it is, for good.
func (d *Database) FreezePrimary() error { return d.places[d.primary].server.Signal(syscall.SIGSTOP) }

// Promote lets the standby be the primary. The one that was stays as it is, dead
// or frozen, until Repair.
func (d *Database) Promote(context.Context) error {
	d.primary, d.alone = 1-d.primary, true
	return d.places[d.primary].server.TakeOver()
}

// Repair has a new standby follow the primary where the last one has taken over.
func (d *Database) Repair() error {
	if !d.alone {
		return nil
	}
	d.alone = false
	return d.addStandby(1 - d.primary)
}

func (d *Database) stop() {
	for _, p := range d.places {
		if p.server != nil {
			p.server.Stop()
		}
	}
}
