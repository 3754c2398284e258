package database

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/stdlib"
)

const (
	postgresConns   = 20 // per replica, unless the URL has pool_max_conns
	postgresFewest  = 5  // the ledger's writers keep two, the pulse one; the rest is for everybody else
	postgresTimeout = 5 * time.Second
	severalTimeout  = 2 * time.Second // for each host, when another one is there to be tried
	postgresGrace   = time.Second     // for a query whose caller has left
	postgresForm    = "postgres://user:password@host:5432/database"
)

// openPostgres connects to the server that dsn names. No error repeats the
// URL, because it holds a password.
func openPostgres(ctx context.Context, dsn string) (*DB, error) {
	cfg, conns, err := parsePostgres(dsn)
	if err != nil {
		return nil, err
	}
	p := newPulse(cfg)
	pool := sql.OpenDB(connector{stdlib.GetConnector(*cfg, stdlib.OptionShouldPing(shouldPing), stdlib.OptionBeforeConnect(p.admit))})
	pool.SetMaxOpenConns(conns - 1) // one is the pulse's
	pool.SetMaxIdleConns(conns - 1)
	pool.SetConnMaxIdleTime(5 * time.Minute)
	if err := pool.PingContext(ctx); err != nil {
		pool.Close()
		return nil, explainPostgres(cfg, err)
	}
	return &DB{DB: pool, Postgres: true, pulse: p}, nil
}

// connector makes connections, once more when the first is broken off on the way:
// of what became of connections before theirs nobody is to hear.
type connector struct{ driver.Connector }

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil && ctx.Err() == nil && (errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)) {
		return c.Connector.Connect(ctx)
	}
	return conn, err
}

// shouldPing reports whether a connection of the pool is to be tried out before
// somebody gets it. After a restart of PostgreSQL all of them are dead, and
// nobody is to hear of it who comes later.
func shouldPing(_ context.Context, p stdlib.ShouldPingParams) bool {
	return p.IdleDuration > time.Second || isStale(p.Conn.PgConn().Conn())
}

func parsePostgres(dsn string) (*pgx.ConnConfig, int, error) {
	u, err := url.Parse(dsn)
	if err != nil || strings.Contains(u.Path, "@") {
		// The cause would quote a piece of the URL, perhaps of the password.
		return nil, 0, fmt.Errorf("the database URL cannot be read; write it as %s, percent-encode special characters in the password, and give each of several hosts a port, or none", postgresForm)
	}
	params := u.Query()
	fsync, err := takeDurability(params)
	if err != nil {
		return nil, 0, err
	}
	conns := postgresConns
	if v := params.Get("pool_max_conns"); v != "" {
		if conns, err = strconv.Atoi(v); err != nil || conns < postgresFewest {
			return nil, 0, fmt.Errorf("pool_max_conns in the database URL is %q; use a number from %d on", v, postgresFewest)
		}
		params.Del("pool_max_conns")
	}
	u.RawQuery = params.Encode()
	cfg, err := pgx.ParseConfig(u.String())
	if err != nil {
		if bad, ok := errors.AsType[*pgconn.ParseConfigError](err); ok {
			err = cmp.Or(bad.Unwrap(), errors.New("a part of it is not valid")) // bad's own text quotes the URL
		}
		return nil, 0, fmt.Errorf("the database URL cannot be used; write it as %s: %w", postgresForm, err)
	}
	several := len(hostsOf(cfg)) > 1
	if several && cfg.ValidateConnect == nil { // all but one only read
		cfg.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	switch {
	case cfg.ConnectTimeout > 0:
	case several:
		cfg.ConnectTimeout = severalTimeout
	default:
		cfg.ConnectTimeout = postgresTimeout
	}
	if cfg.RuntimeParams["application_name"] == "" {
		cfg.RuntimeParams["application_name"] = "beeos"
	}
	// A deadline in the past ends the query and, because the connection cannot
	// be used again, the connection. It can also be noticed so late that it is
	// the next caller's query that fails. Most queries take less time than
	// making a connection, so one whose caller has left may end by itself.
	cfg.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.DeadlineContextWatcherHandler{Conn: c.Conn(), DeadlineDelay: postgresGrace}
	}
	if !fsync {
		cfg.RuntimeParams["synchronous_commit"] = "off"
	}
	return cfg, conns, nil
}

// explainPostgres says what to do about a server that does not let us in.
func explainPostgres(cfg *pgx.ConnConfig, err error) error {
	var hosts []string
	for _, h := range hostsOf(cfg) {
		hosts = append(hosts, h.name())
	}
	where := strings.Join(hosts, " or ")
	err = oneLine{err}
	switch postgresCode(err) {
	case "":
		return fmt.Errorf("PostgreSQL at %s cannot be reached; start it or correct the database URL: %w", where, err)
	case "28P01", "28000":
		return fmt.Errorf("PostgreSQL at %s refuses user %q; correct user and password in the database URL: %w", where, cfg.User, err)
	case "3D000":
		return fmt.Errorf("PostgreSQL at %s has no database %q; create it with: createdb %s: %w", where, cfg.Database, cfg.Database, err)
	case "53300":
		return fmt.Errorf("PostgreSQL at %s has no free connection; raise its max_connections or add pool_max_conns to the database URL: %w", where, err)
	case "25006":
		return fmt.Errorf("PostgreSQL at %s only reads, as a standby does; name the primary as well in the database URL: %w", where, err)
	case "57P03":
		return fmt.Errorf("PostgreSQL at %s is still starting; try again in a moment: %w", where, err)
	}
	return fmt.Errorf("PostgreSQL at %s does not accept us; correct the database URL: %w", where, err)
}

// oneLine flattens the text of an error that lists one attempt per line.
type oneLine struct{ error }

func (e oneLine) Error() string { return strings.Join(strings.Fields(e.error.Error()), " ") }
func (e oneLine) Unwrap() error { return e.error }

// postgresCode is the SQLSTATE of an error of PostgreSQL's; "" = it is none.
func postgresCode(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// IsBroken reports whether a connection that somebody holds can no longer be
// used. The pool only knows of those that it was told about.
func IsBroken(conn *sql.Conn) bool {
	return conn.Raw(func(c any) error {
		if pg, ok := c.(*stdlib.Conn); ok && pg.Conn().IsClosed() {
			return driver.ErrBadConn
		}
		return nil
	}) != nil
}
