package database

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/beeos/beeos"
)

// Conditions collects the WHERE clause of a listing.
type Conditions struct {
	Parts []string
	Args  []any
}

// Add appends "<left> $n" with its value.
func (c *Conditions) Add(left string, value any) {
	c.Args = append(c.Args, value)
	c.Parts = append(c.Parts, left+"$"+strconv.Itoa(len(c.Args)))
}

func (c *Conditions) AddUnlessEmpty(left, value string) {
	if value != "" {
		c.Add(left, value)
	}
}

// Text appends a condition without a value.
func (c *Conditions) Text(s string) { c.Parts = append(c.Parts, s) }

func (c *Conditions) SQL() string {
	if len(c.Parts) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.Parts, " AND ")
}

// InsertBatch rows go into one INSERT. Both engines bound the number of its
// parameters, SQLite to 32766.
const InsertBatch = 200

// InsertRows adds rows to a table; tail is what follows the values.
func InsertRows(ctx context.Context, tx *sql.Tx, table, columns string, rows [][]any, tail string) error {
	for part := range slices.Chunk(rows, InsertBatch) {
		var args []any
		var values []string
		for _, row := range part {
			values = append(values, "("+Placeholders(len(args)+1, len(row))+")")
			args = append(args, row...)
		}
		query := "INSERT INTO " + table + " (" + columns + ") VALUES " + strings.Join(values, ", ") + tail
		if _, err := tx.ExecContext(ctx, query, args...); err != nil {
			return err
		}
	}
	return nil
}

func SortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// maxName bounds what people type as a name, in bytes.
const maxName = 256

// CheckName refuses what no database or page should have to show: control
// characters, broken UTF-8, names of the wrong length.
func CheckName(what, s string, least int) error {
	if len(s) < least {
		return beeos.Errorf(beeos.InvalidParam, "the %s is empty; give one", what)
	}
	if len(s) > maxName {
		return beeos.Errorf(beeos.InvalidParam, "the %s is longer than %d bytes; shorten it", what, maxName)
	}
	if !Plain(s) {
		return beeos.Errorf(beeos.InvalidParam, "the %s has control characters or is not UTF-8; use printable characters", what)
	}
	return nil
}

// Plain reports whether s is UTF-8 without control characters, those that
// turn the reading direction included: they let a name pose as another.
func Plain(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) })
}

// Printed makes a text of somebody else's fit for a list: short, and plain.
func Printed(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	if len(s) > maxName {
		s = strings.ToValidUTF8(s[:maxName], "")
	}
	return s
}

// AddList appends "column IN (...)".
func (c *Conditions) AddList(column string, values []any) {
	c.Parts = append(c.Parts, column+" IN ("+Placeholders(len(c.Args)+1, len(values))+")")
	c.Args = append(c.Args, values...)
}

// ChangeOne runs a statement that must change one row; none is the caller's.
func (db *DB) ChangeOne(ctx context.Context, what string, none error, query string, args ...any) error {
	res, err := db.Write(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	n, err := res.RowsAffected()
	if err == nil && n == 0 {
		err = none
	}
	return err
}

// TokenHash is what the tables keep of a secret that somebody else has.
func TokenHash(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

// ReadTexts reads a query of one text column.
func ReadTexts(ctx context.Context, q Querier, query string, args ...any) ([]string, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	return Collect(rows, err, func(row Scanner) (s string, err error) {
		err = row.Scan(&s)
		return s, err
	})
}

// Now is the present in the precision of the tables.
func Now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
