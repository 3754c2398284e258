package ledger

import (
	"context"
	"database/sql"

	"github.com/beeos/beeos/internal/store/database"
)

// connection is a writer's own, so that prepared statements last. On PostgreSQL what
// only has to be done is not waited for, but goes with the next question, or at the
// latest with flush.
type connection struct {
	db    *database.DB
	conn  *sql.Conn
	stmts map[string]*sql.Stmt // of SQLite
	pipe  *database.Pipeline   // to PostgreSQL; nil = it is SQLite
}

func (c *connection) connect(ctx context.Context) error {
	conn, err := c.db.Conn(ctx)
	if err != nil {
		return err
	}
	c.conn, c.stmts = conn, map[string]*sql.Stmt{}
	if c.db.Postgres {
		c.pipe = database.NewPipeline(conn)
	}
	return nil
}

// disconnect gives the connection back. Its statements end first: SQLite
// keeps a connection that still has one, and then never moves its log into
// the database file.
func (c *connection) disconnect() {
	if c.conn == nil {
		return
	}
	for _, s := range c.stmts {
		s.Close()
	}
	c.conn.Close()
	c.conn = nil
}

// isBroken reports whether the connection is gone.
func (c *connection) isBroken() bool { return c.conn == nil || database.IsBroken(c.conn) }

func (c *connection) reconnect(ctx context.Context) error {
	c.disconnect()
	return c.connect(ctx)
}

// prepared returns query prepared on SQLite.
//
// With it comes the context to run it in. SQLite would start a goroutine for each
// statement whose context can end, which costs as much as the statement: there
// the time is looked at between them.
func (c *connection) prepared(ctx context.Context, query string) (*sql.Stmt, context.Context, error) {
	if err := ctx.Err(); err != nil {
		return nil, ctx, err
	}
	ctx = context.WithoutCancel(ctx)
	if s := c.stmts[query]; s != nil {
		return s, ctx, nil
	}
	s, err := c.conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, ctx, err
	}
	c.stmts[query] = s
	return s, ctx, nil
}

// exec runs a statement. That it cannot be run may be the error of what comes after.
func (c *connection) exec(ctx context.Context, query string, args ...any) error {
	if c.pipe != nil {
		c.pipe.Queue(query, args...)
		return nil
	}
	_, err := c.change(ctx, query, args...)
	return err
}

// change runs a statement and returns how many rows it changed.
func (c *connection) change(ctx context.Context, query string, args ...any) (int64, error) {
	if c.pipe != nil {
		return c.pipe.Change(ctx, query, args...)
	}
	s, ctx, err := c.prepared(ctx, query)
	if err != nil {
		return 0, err
	}
	return changedBy(s.ExecContext(ctx, args...))
}

// changeOnce is change for a text that is not worth keeping.
func (c *connection) changeOnce(ctx context.Context, query string, args ...any) (int64, error) {
	if c.pipe != nil {
		return c.pipe.Change(ctx, query, args...)
	}
	return changedBy(c.conn.ExecContext(ctx, query, args...))
}

func changedBy(r sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// query hands each row that a query returns to scan.
func (c *connection) query(ctx context.Context, text string, values []any, scan func(database.Row) error) error {
	if c.pipe != nil {
		return c.pipe.Query(ctx, scan, text, values...)
	}
	stmt, ctx, err := c.prepared(ctx, text)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(ctx, values...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// flush has done what waits.
func (c *connection) flush(ctx context.Context) error {
	if c.pipe == nil {
		return nil
	}
	return c.pipe.Flush(ctx)
}

// commitTx ends the transaction.
func (c *connection) commitTx(ctx context.Context) error {
	if c.pipe != nil {
		return c.pipe.Commit(ctx)
	}
	return c.exec(ctx, "COMMIT")
}

// rollbackTx ends the transaction as if it had not begun.
func (c *connection) rollbackTx(ctx context.Context) error {
	if c.pipe != nil {
		return c.pipe.Rollback(ctx)
	}
	return c.exec(ctx, "ROLLBACK")
}

// execRows is exec of s over values.
func (c *connection) execRows(ctx context.Context, s *statement, values []any) error {
	return s.chunks(c.db.Postgres, values, func(text string, values []any) error {
		return c.exec(ctx, text, values...)
	})
}

// changeRows is change of s over values.
func (c *connection) changeRows(ctx context.Context, s *statement, values []any) (changed int64, err error) {
	err = s.chunks(c.db.Postgres, values, func(text string, values []any) error {
		n, err := c.change(ctx, text, values...)
		changed += n
		return err
	})
	return changed, err
}

// queryRows is query of s over values.
func (c *connection) queryRows(ctx context.Context, s *statement, values []any, scan func(database.Row) error) error {
	return s.chunks(c.db.Postgres, values, func(text string, values []any) error {
		return c.query(ctx, text, values, scan)
	})
}
