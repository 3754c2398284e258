package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/beeos/beeos"
)

// A struct says once how it stands in a table: a function returns its fields in
// the order of the columns, as pointers, or as Time and JSON of pointers. Reading
// a row fills them, inserting one takes their values.
//
// The argument what says, in the error, what was being done.

// List reads all rows of a query.
func List[T any](ctx context.Context, q Querier, what string, fields func(*T) []any, query string, args ...any) ([]T, error) {
	list, err := readRows(ctx, q, fields, query, args)
	return list, Explain(what, err)
}

func readRows[T any](ctx context.Context, q Querier, fields func(*T) []any, query string, args []any) (list []T, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var v T
		if err := rows.Scan(fields(&v)...); err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, rows.Err()
}

// Get reads the one row of a query; when there is none, the error is none.
func Get[T any](ctx context.Context, q Querier, what string, none error, fields func(*T) []any, query string, args ...any) (T, error) {
	var v, zero T
	err := q.QueryRowContext(ctx, query, args...).Scan(fields(&v)...)
	switch {
	case IsAbsent(err):
		return zero, none
	case err != nil:
		return zero, Explain(what, err)
	}
	return v, nil
}

// GetValue reads the one column of the one row of a query; when there is no
// row, it is zero.
func GetValue[T any](ctx context.Context, q Querier, what, query string, args ...any) (T, error) {
	return Get(ctx, q, what, nil, Itself[T], query, args...)
}

// ListTexts reads a query of one text column.
func ListTexts(ctx context.Context, q Querier, what, query string, args ...any) ([]string, error) {
	return List(ctx, q, what, Itself[string], query, args...)
}

// Itself is the fields of a row of one column.
func Itself[T any](v *T) []any { return []any{v} }

// Exec runs a writing statement.
func Exec(ctx context.Context, q Querier, what, query string, args ...any) error {
	_, err := q.ExecContext(ctx, query, args...)
	return Explain(what, err)
}

// Change runs a writing statement and reports whether it met any row.
func Change(ctx context.Context, q Querier, what, query string, args ...any) (changed bool, err error) {
	res, err := q.ExecContext(ctx, query, args...)
	if err != nil {
		return false, Explain(what, err)
	}
	n, err := res.RowsAffected()
	return n > 0, Explain(what, err)
}

// ChangeOne runs a statement that must meet a row; when there is no such row,
// the error is none.
func ChangeOne(ctx context.Context, q Querier, what string, none error, query string, args ...any) error {
	changed, err := Change(ctx, q, what, query, args...)
	if IsAbsent(err) || err == nil && !changed {
		return none
	}
	return err
}

// Insert adds a row to a table.
func Insert(ctx context.Context, q Querier, what, table, columns string, row ...any) error {
	return Explain(what, InsertRows(ctx, q, table, columns, [][]any{row}, ""))
}

// InsertBatch rows go into one INSERT. Both engines bound the number of its
// parameters, SQLite to 32766.
const InsertBatch = 200

// InsertRows adds rows to a table; tail is what follows the values.
func InsertRows(ctx context.Context, q Querier, table, columns string, rows [][]any, tail string) error {
	for part := range slices.Chunk(rows, InsertBatch) {
		var args []any
		var values []string
		for _, row := range part {
			values = append(values, "("+Placeholders(len(args)+1, len(row))+")")
			args = append(args, row...)
		}
		query := "INSERT INTO " + table + " (" + columns + ") VALUES " + strings.Join(values, ", ") + tail
		if _, err := q.ExecContext(ctx, query, args...); err != nil {
			return err
		}
	}
	return nil
}

// Explain says what was being done when err came, and whether that can be tried
// again.
func Explain(what string, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%s: %w", what, err)
	if beeos.CodeOf(err) == beeos.InternalError && isUnavailable(err) {
		return &beeos.Error{Code: beeos.AgentServiceUnavailable, Err: err, RetryAfter: tryAgainAfter, Message: "the database does not answer; try again in a moment"}
	}
	return err
}

// Micros and Moment turn times into what the tables hold and back.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func Moment(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// Now is the present in the precision of the tables.
func Now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// Time is the column of a time.
func Time(t *time.Time) timeColumn { return timeColumn{t} }

type timeColumn struct{ t *time.Time }

func (c timeColumn) Scan(v any) error {
	var us sql.NullInt64
	err := us.Scan(v)
	*c.t = Moment(us.Int64)
	return err
}

func (c timeColumn) Value() (driver.Value, error) { return Micros(*c.t), nil }

// JSON is the column of something that is kept as JSON; v points to it.
func JSON(v any) jsonColumn { return jsonColumn{v} }

type jsonColumn struct{ v any }

func (c jsonColumn) Scan(v any) error {
	var text sql.NullString
	if err := text.Scan(v); err != nil {
		return err
	}
	return json.Unmarshal([]byte(text.String), c.v)
}

func (c jsonColumn) Value() (driver.Value, error) {
	text, err := json.Marshal(c.v)
	return string(text), err
}

// Touch notes when things were last used: the query sets the time $2 of the
// row with the id $1.
func (db *DB) Touch(ctx context.Context, what, query string, used map[string]time.Time) error {
	if len(used) == 0 {
		return nil
	}
	return db.Tx(ctx, what, func(tx *sql.Tx) error {
		stmt, err := tx.PrepareContext(ctx, query)
		if err != nil {
			return err
		}
		defer stmt.Close()
		for _, id := range SortedKeys(used) { // one order for all replicas, so that none waits in a circle
			if _, err := stmt.ExecContext(ctx, id, Micros(used[id])); err != nil {
				return err
			}
		}
		return nil
	})
}
