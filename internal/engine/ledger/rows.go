package ledger

import (
	"context"
	"database/sql"
	"math/bits"
	"strconv"
	"strings"
)

// maxRows bounds one statement. Rows are sent in chunks of a power of two, so
// that only a few texts per statement are ever prepared.
const maxRows = 64

// statement is one text over many rows: head, then row (with ? for each
// value) once per row, then tail.
type statement struct {
	head, row, tail string
	sqlite          [bitsOfMaxRows + 1]string // by log2 of the rows
	postgres        [bitsOfMaxRows + 1]string
}

const bitsOfMaxRows = 6

func newStatement(head, row, tail string) *statement {
	s := &statement{head: head, row: row, tail: tail}
	for i := range s.postgres {
		s.postgres[i] = s.head + s.from(1<<i, 1) + s.tail
		// SQLite looks the name of every numbered parameter up in a list, which
		// is slow for hundreds; nameless ones it just counts.
		s.sqlite[i] = s.head + strings.Repeat(s.row+",", 1<<i-1) + s.row + s.tail
	}
	return s
}

// columns is how many values a row has.
func (s *statement) columns() int { return strings.Count(s.row, "?") }

// listOf is for the values of an IN.
var listOf = newStatement(``, `?`, ``)

// from is the rows alone, their placeholders counted from first.
func (s *statement) from(rows, first int) string {
	var b strings.Builder
	n := first - 1
	for i := range rows {
		if i > 0 {
			b.WriteByte(',')
		}
		for _, c := range []byte(s.row) {
			if c != '?' {
				b.WriteByte(c)
				continue
			}
			n++
			b.WriteByte('$')
			b.WriteString(strconv.Itoa(n))
		}
	}
	return b.String()
}

// chunks calls f with the text and the values of each chunk.
func (s *statement) chunks(postgres bool, values []any, f func(text string, values []any) error) error {
	cols := s.columns()
	texts := &s.sqlite
	if postgres {
		texts = &s.postgres
	}
	for len(values) > 0 {
		rows := min(len(values)/cols, maxRows)
		log := bits.Len(uint(rows)) - 1
		n := cols << log
		if err := f(texts[log], values[:n]); err != nil {
			return err
		}
		values = values[n:]
	}
	return nil
}

// execRows runs s over values and returns how many rows it changed.
func (w *writer) execRows(ctx context.Context, s *statement, values []any) (changed int64, err error) {
	err = s.chunks(w.l.db.Postgres, values, func(text string, values []any) error {
		stmt, ctx, err := w.prepared(ctx, text)
		if err != nil {
			return err
		}
		res, err := stmt.ExecContext(ctx, values...)
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		changed += n
		return err
	})
	return changed, err
}

// queryRows runs s over values and hands each row it returns to scan.
func (w *writer) queryRows(ctx context.Context, s *statement, values []any, scan func(*sql.Rows) error) error {
	return s.chunks(w.l.db.Postgres, values, func(text string, values []any) error {
		return w.query(ctx, text, values, scan)
	})
}

func (w *writer) query(ctx context.Context, text string, values []any, scan func(*sql.Rows) error) error {
	stmt, ctx, err := w.prepared(ctx, text)
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
