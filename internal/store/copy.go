package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/beeos/beeos/internal/store/database"
)

// copyStep is after how many rows progress is told again.
const copyStep = 50_000

// Copy brings every row of every table from one database to another that has
// the same tables and no rows yet, whichever engines they run on. Ids and
// offsets stay as they are. It happens in one transaction, so after an error
// the target is as empty as before. Nothing should write to the source
// meanwhile: what comes after the start is not copied.
//
// progress, which may be nil, hears how many rows of a table are done.
func Copy(ctx context.Context, from, to *Store, progress func(table string, rows int)) error {
	if progress == nil {
		progress = func(string, int) {}
	}
	source, err := from.Snapshot(ctx)
	if err != nil {
		return fmt.Errorf("copy: read the source: %w", err)
	}
	defer source.Rollback() //nolint:errcheck // it only reads
	tables, err := readSchema(ctx, from.DB, source)
	if err != nil {
		return fmt.Errorf("copy: read the source: %w", err)
	}
	conn, err := to.Conn(ctx)
	if err != nil {
		return fmt.Errorf("copy: open the target: %w", err)
	}
	defer conn.Close()
	target, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("copy: open the target: %w", err)
	}
	defer target.Rollback() //nolint:errcheck // after a commit it does nothing
	if err := checkTarget(ctx, to.DB, target, tables); err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	for _, t := range tables {
		c := copying{table: t, from: source, to: target, conn: conn, postgres: to.Postgres, progress: progress}
		if err := c.run(ctx); err != nil {
			return fmt.Errorf("copy table %s: %w", t.name, err)
		}
	}
	if err := target.Commit(); err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	return nil
}

// checkTarget makes sure that the target can take the tables.
func checkTarget(ctx context.Context, db *database.DB, tx *sql.Tx, tables []table) error {
	have, err := readSchema(ctx, db, tx)
	if err != nil {
		return fmt.Errorf("read the target: %w", err)
	}
	known := map[string]table{}
	for _, t := range have {
		known[t.name] = t
	}
	for i, t := range tables {
		columns := known[t.name].kinds
		for _, c := range t.columns {
			if columns[c] == "" {
				return fmt.Errorf("the target has no column %s.%s; open both databases with the same version of BeeOS", t.name, c)
			}
		}
		tables[i].kinds = columns // values are made to fit the target
		if db.Postgres {
			if _, err := tx.ExecContext(ctx, "LOCK TABLE "+t.name+" IN EXCLUSIVE MODE"); err != nil {
				return fmt.Errorf("lock the target: %w", err)
			}
		}
		var taken bool
		if err := tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM "+t.name+")").Scan(&taken); err != nil {
			return fmt.Errorf("read the target: %w", err)
		}
		if taken {
			return fmt.Errorf("the target is not empty (table %s has rows); create a new database and copy into that", t.name)
		}
	}
	return nil
}

// copying is the way of one table.
type copying struct {
	table    table
	from, to *sql.Tx
	conn     *sql.Conn // to's connection
	postgres bool
	progress func(string, int)
}

func (c *copying) run(ctx context.Context) error {
	rows, err := c.from.QueryContext(ctx, "SELECT "+strings.Join(c.table.columns, ", ")+" FROM "+c.table.name)
	if err != nil {
		return err
	}
	defer rows.Close()
	read := 0
	next := func() ([]any, error) { // nil at the end, as pgx wants it
		if !rows.Next() {
			return nil, rows.Err()
		}
		if read++; read%copyStep == 0 {
			c.progress(c.table.name, read)
		}
		return c.table.scanRow(rows)
	}
	if c.postgres {
		err = c.stream(ctx, next)
	} else {
		err = c.insert(ctx, next)
	}
	if err != nil {
		return err
	}
	if err := c.verify(ctx, read); err != nil {
		return err
	}
	c.progress(c.table.name, read)
	return nil
}

// stream writes rows with PostgreSQL's COPY, on the transaction's connection.
func (c *copying) stream(ctx context.Context, next func() ([]any, error)) error {
	return c.conn.Raw(func(driver any) error {
		pg := driver.(*stdlib.Conn).Conn()
		_, err := pg.CopyFrom(ctx, pgx.Identifier{c.table.name}, c.table.columns, pgx.CopyFromFunc(next))
		return err
	})
}

// insert writes rows with INSERT, some hundred at a time.
func (c *copying) insert(ctx context.Context, next func() ([]any, error)) error {
	var rows [][]any
	for {
		row, err := next()
		if err != nil {
			return err
		}
		if row != nil {
			rows = append(rows, row)
		}
		if row != nil && len(rows) < database.InsertBatch {
			continue
		}
		if err := database.InsertRows(ctx, c.to, c.table.name, strings.Join(c.table.columns, ", "), rows, ""); err != nil || row == nil {
			return err
		}
		rows = rows[:0]
	}
}

// verify counts on both sides.
func (c *copying) verify(ctx context.Context, read int) error {
	var source, target int
	count := "SELECT count(*) FROM " + c.table.name
	err := errors.Join(
		c.from.QueryRowContext(ctx, count).Scan(&source),
		c.to.QueryRowContext(ctx, count).Scan(&target))
	if err == nil && (source != read || target != read) {
		err = fmt.Errorf("the source has %d rows, %d were read, %d arrived", source, read, target)
	}
	return err
}
