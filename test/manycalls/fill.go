// Package manycalls fills a database with calls by the million, as the ledger would
// have written them, in a minute instead of an hour (fill.go), and makes up a month
// of a busy server (month.go).
package manycalls

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/calls"
	"github.com/beeos/beeos/internal/store/database"
)

// Fill adds calls to the messages, the routes and the deliveries of a database that has none.
// Indexes are made again when all rows are there, and PostgreSQL looks at them as
// its autovacuum would.
func Fill(ctx context.Context, db *store.Store, all iter.Seq[calls.Call]) error {
	indexes, err := dropIndexes(ctx, db)
	if err != nil {
		return err
	}
	f := &filler{db: db, routes: map[calls.Route]*used{}}
	write := f.writeSQLite
	if db.Postgres {
		write = f.copyPostgres
	}
	if err := write(ctx, all); err != nil {
		return err
	}
	if err := f.addRoutes(ctx); err != nil {
		return err
	}
	if err := f.addDeliveries(ctx); err != nil {
		return err
	}
	for _, index := range indexes {
		if _, err := db.ExecContext(ctx, index); err != nil {
			return err
		}
	}
	if db.Postgres {
		_, err = db.ExecContext(ctx, `VACUUM ANALYZE`)
	}
	return err
}

// dropIndexes removes the indexes of the messages, but for their key, and returns
// what makes them again.
func dropIndexes(ctx context.Context, db *store.Store) (create []string, err error) {
	query := `SELECT sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'messages' AND sql IS NOT NULL`
	if db.Postgres {
		query = `SELECT indexdef FROM pg_indexes WHERE tablename = 'messages' AND indexname <> 'messages_pkey'`
	}
	if create, err = database.ListTexts(ctx, db, "list indexes", query); err != nil {
		return nil, err
	}
	for _, text := range create {
		name, _, _ := strings.Cut(text[strings.Index(text, "INDEX ")+len("INDEX "):], " ")
		if _, err := db.ExecContext(ctx, `DROP INDEX `+name); err != nil {
			return nil, err
		}
	}
	return create, nil
}

// used is a route with its number and when it was last used.
type used struct{ id, last int64 }

type filler struct {
	db     *store.Store
	routes map[calls.Route]*used
	open   [][]any // deliveries of what is under way
}

// addDeliveries adds those of the calls that are under way: their agents have them.
func (f *filler) addDeliveries(ctx context.Context) error {
	const columns = `turn, channel, off, agent_id, lane, seq, leased, attempt, lease_until, started, mode, redelivery, deadline, owner, route`
	return f.db.Tx(ctx, "add deliveries", func(tx *sql.Tx) error {
		return database.InsertRows(ctx, tx, "deliveries", columns, f.open, "")
	})
}

// addRoutes adds the routes of all calls.
func (f *filler) addRoutes(ctx context.Context) error {
	var rows [][]any
	for r, u := range f.routes {
		rows = append(rows, []any{u.id, r.AgentID, r.Caller, r.Credential, r.Surface, r.Tool, u.last})
	}
	return f.db.Tx(ctx, "add routes", func(tx *sql.Tx) error {
		return database.InsertRows(ctx, tx, "routes", "id, agent_id, caller, credential, surface, tool, seen_at", rows, "")
	})
}

const (
	requestColumns = `channel, id, publisher, created_at, agent_id, route, n`
	replyColumns   = `channel, id, in_reply_to, publisher, created_at, route, n, outcome, slow`

	// What is the same in all of them.
	sameColumns = `type, terminal, off, body, trail, payload, state, stop_reason, parts`
	body        = "What is the state of order 4711? The customer waits since Monday and has asked twice."
	answer      = "It was packed this morning and leaves today."
	trail       = "1 0 12 0199a2b4-5d6e-7f80-9123-456789abcdef;"
	payload     = `{"protocol":"mcp","tool":"look_up","arguments":{"order":4711,"customer":"c-20931"}}`
)

// values are the rows of a call: those of its request, and of its reply, which is
// nil while it is under way.
func (f *filler) values(c *calls.Call) (request, reply []any) {
	u := f.routes[c.Route]
	if u == nil {
		u = &used{id: int64(len(f.routes) + 1)}
		f.routes[c.Route] = u
	}
	n, at := calls.Key(c.Turn), database.Micros(c.Began)
	u.last = max(u.last, at)
	request = []any{"ch-" + c.Turn, c.Turn, c.Route.Caller, at, c.Route.AgentID, u.id, n}
	if c.Outcome == calls.Working {
		f.open = append(f.open, []any{c.Turn, "ch-" + c.Turn, int64(1), c.Route.AgentID, "", int64(len(f.open)), true, int64(1), at, true, "push", "always", at, c.Route.Caller, u.id})
		return request, nil
	}
	us := c.Took.Microseconds()
	route, slow := u.id, calls.Slowness(us)
	if c.Outcome == calls.OK && slow == 0 { // nobody looks for it by how it went
		route, n = 0, 0
	}
	return request, []any{"ch-" + c.Turn, "r" + c.Turn[1:], c.Turn, "agent:" + c.Route.AgentID, at + us, route, n, int64(c.Outcome), slow}
}

// atOnce is how many rows one statement, and one transaction, takes.
const (
	atOnce    = 200
	perCommit = 50_000
)

// writeSQLite inserts many rows by each statement, and commits now and then.
func (f *filler) writeSQLite(ctx context.Context, all iter.Seq[calls.Call]) error {
	conn, err := f.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	w := &sqliteWriter{conn: conn, rows: map[string][]any{}, stmts: map[string]*sql.Stmt{}}
	if err := w.exec(ctx, `PRAGMA synchronous = OFF`, `BEGIN IMMEDIATE`); err != nil {
		return err
	}
	n := 0
	for c := range all {
		request, reply := f.values(&c)
		if err := w.add(ctx, requestRow, request); err != nil {
			return err
		}
		if reply != nil {
			if err := w.add(ctx, replyRow, reply); err != nil {
				return err
			}
		}
		if n++; n%perCommit == 0 {
			if err := w.exec(ctx, `COMMIT`, `BEGIN IMMEDIATE`); err != nil {
				return err
			}
		}
	}
	if err := w.flush(ctx); err != nil {
		return err
	}
	return w.exec(ctx, `COMMIT`, `PRAGMA synchronous = FULL`, `PRAGMA wal_checkpoint(TRUNCATE)`)
}

// The rows of SQLite's statements: what all have in common is not bound again for
// each.
const (
	requestRow = `INSERT INTO messages (in_reply_to, ` + requestColumns + `, ` + sameColumns + `) VALUES ` +
		`('',?,?,?,?,?,?,?,'chat_message',FALSE,1,'` + body + `','','` + payload + `','','','')`
	replyRow = `INSERT INTO messages (` + replyColumns + `, ` + sameColumns + `) VALUES ` +
		`(?,?,?,?,?,?,?,?,?,'agent_reply',TRUE,2,'` + answer + `','` + trail + `','','','','')`
)

type sqliteWriter struct {
	conn  *sql.Conn
	rows  map[string][]any // by statement of one row: what is to be written
	stmts map[string]*sql.Stmt
}

func (w *sqliteWriter) exec(ctx context.Context, statements ...string) error {
	for _, s := range statements {
		if _, err := w.conn.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// add writes a row, or keeps it until there are many.
func (w *sqliteWriter) add(ctx context.Context, statement string, row []any) error {
	w.rows[statement] = append(w.rows[statement], row...)
	if len(w.rows[statement]) < atOnce*len(row) {
		return nil
	}
	stmt := w.stmts[statement]
	if stmt == nil {
		head, values, _ := strings.Cut(statement, ` VALUES `)
		var err error
		if stmt, err = w.conn.PrepareContext(ctx, head+` VALUES `+strings.Repeat(values+`,`, atOnce-1)+values); err != nil {
			return err
		}
		w.stmts[statement] = stmt
	}
	_, err := stmt.ExecContext(ctx, w.rows[statement]...)
	w.rows[statement] = w.rows[statement][:0]
	return err
}

// flush writes what add has kept, row by row.
func (w *sqliteWriter) flush(ctx context.Context) error {
	for _, statement := range slices.Sorted(maps.Keys(w.rows)) {
		for row := range slices.Chunk(w.rows[statement], strings.Count(statement, "?")) {
			if _, err := w.conn.ExecContext(ctx, statement, row...); err != nil {
				return err
			}
		}
	}
	for _, stmt := range w.stmts {
		stmt.Close()
	}
	return nil
}

// copyPostgres sends all rows by COPY.
func (f *filler) copyPostgres(ctx context.Context, all iter.Seq[calls.Call]) error {
	conn, err := f.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	columns := strings.Split(replyColumns+", "+sameColumns+", agent_id", ", ")
	next, stop := iter.Pull(f.postgresRows(all))
	defer stop()
	return conn.Raw(func(driver any) error {
		_, err := driver.(*stdlib.Conn).Conn().CopyFrom(ctx, pgx.Identifier{"messages"}, columns, pgx.CopyFromFunc(func() ([]any, error) {
			row, ok := next()
			if !ok {
				return nil, nil
			}
			return row, nil
		}))
		return err
	})
}

// postgresRows are the rows of all calls, with all columns.
func (f *filler) postgresRows(all iter.Seq[calls.Call]) iter.Seq[[]any] {
	return func(yield func([]any) bool) {
		for c := range all {
			q, reply := f.values(&c)
			request := []any{q[0], q[1], "", q[2], q[3], q[5], q[6], int64(0), int64(0), "chat_message", false, int64(1), body, "", payload, "", "", "", q[4]}
			if !yield(request) {
				return
			}
			if reply != nil && !yield(append(reply, "agent_reply", true, int64(2), answer, trail, "", "", "", "", "")) {
				return
			}
		}
	}
}
