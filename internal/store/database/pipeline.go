package database

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// Row is one row of a result.
type Row interface{ Scan(dest ...any) error }

// Pipeline runs transactions on one connection to PostgreSQL. What only has to be done
// waits until somebody asks what came of something, and then all of it goes in one
// message: a round trip takes as long as the work of many statements.
//
// COMMIT goes alone, once everything before it has been answered. What a server has
// received it does, also when it was frozen meanwhile and whoever sent it has given up:
// a transaction that nobody stands behind any more must not end well by itself.
type Pipeline struct {
	conn  *sql.Conn
	batch *pgx.Batch
}

// NewPipeline returns one on a connection that nobody else uses.
func NewPipeline(conn *sql.Conn) *Pipeline { return &Pipeline{conn, &pgx.Batch{}} }

// Queue has a statement run before the next. What is wrong with it whoever waits next
// is told.
func (p *Pipeline) Queue(query string, args ...any) { p.batch.Queue(query, args...) }

// Query hands each row that a query returns to scan.
func (p *Pipeline) Query(ctx context.Context, scan func(Row) error, query string, args ...any) error {
	p.Queue(query, args...)
	return p.send(ctx, func(r pgx.BatchResults) error {
		rows, err := r.Query()
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
	})
}

// Change runs a statement and returns how many rows it changed.
func (p *Pipeline) Change(ctx context.Context, query string, args ...any) (changed int64, err error) {
	p.Queue(query, args...)
	err = p.send(ctx, func(r pgx.BatchResults) error {
		tag, err := r.Exec()
		changed = tag.RowsAffected()
		return err
	})
	return changed, err
}

// Flush has done what waits.
func (p *Pipeline) Flush(ctx context.Context) error {
	if p.batch.Len() == 0 {
		return nil
	}
	return p.send(ctx, func(r pgx.BatchResults) error {
		_, err := r.Exec()
		return err
	})
}

// Commit ends the transaction. Nothing waits: Flush was called before.
func (p *Pipeline) Commit(ctx context.Context) error {
	if p.batch.Len() > 0 {
		return errors.New("statements of the transaction have not been sent")
	}
	p.Queue("COMMIT")
	return p.send(ctx, func(r pgx.BatchResults) error {
		tag, err := r.Exec()
		if err == nil && tag.String() != "COMMIT" {
			err = errors.New("a statement of the transaction had failed")
		}
		return err
	})
}

// Rollback ends the transaction as if nothing had been done. What waits is not done.
func (p *Pipeline) Rollback(ctx context.Context) error {
	p.batch = &pgx.Batch{}
	_, err := p.Change(ctx, "ROLLBACK")
	return err
}

// send sends what waits; last reads what came of the last of it.
func (p *Pipeline) send(ctx context.Context, last func(pgx.BatchResults) error) error {
	batch := p.batch
	p.batch = &pgx.Batch{}
	return p.conn.Raw(func(c any) error {
		results := c.(*stdlib.Conn).Conn().SendBatch(ctx, batch)
		err := func() error {
			for range batch.Len() - 1 {
				if _, err := results.Exec(); err != nil {
					return err
				}
			}
			return last(results)
		}()
		if closed := results.Close(); err == nil {
			err = closed
		}
		return err
	})
}
