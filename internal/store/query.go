package store

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/beeos/beeos"
)

// conditions collects the WHERE clause of a listing.
type conditions struct {
	parts []string
	args  []any
}

// add appends "<left> $n" with its value.
func (c *conditions) add(left string, value any) {
	c.args = append(c.args, value)
	c.parts = append(c.parts, left+"$"+strconv.Itoa(len(c.args)))
}

func (c *conditions) addUnlessEmpty(left, value string) {
	if value != "" {
		c.add(left, value)
	}
}

// text appends a condition without a value.
func (c *conditions) text(s string) { c.parts = append(c.parts, s) }

func (c *conditions) sql() string {
	if len(c.parts) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.parts, " AND ")
}

// insertBatch rows go into one INSERT. Both engines bound the number of its
// parameters, SQLite to 32766.
const insertBatch = 200

// insertRows adds rows to a table; tail is what follows the values.
func insertRows(ctx context.Context, tx *sql.Tx, table, columns string, rows [][]any, tail string) error {
	for part := range slices.Chunk(rows, insertBatch) {
		var args []any
		var values []string
		for _, row := range part {
			values = append(values, "("+placeholders(len(args)+1, len(row))+")")
			args = append(args, row...)
		}
		query := "INSERT INTO " + table + " (" + columns + ") VALUES " + strings.Join(values, ", ") + tail
		if _, err := tx.ExecContext(ctx, query, args...); err != nil {
			return err
		}
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// maxName bounds what people type as a name, in bytes.
const maxName = 256

// checkName refuses what no database or page should have to show: control
// characters, broken UTF-8, names of the wrong length.
func checkName(what, s string, least int) error {
	if len(s) < least {
		return beeos.Errorf(beeos.InvalidParam, "the %s is empty; give one", what)
	}
	if len(s) > maxName {
		return beeos.Errorf(beeos.InvalidParam, "the %s is longer than %d bytes; shorten it", what, maxName)
	}
	if !plain(s) {
		return beeos.Errorf(beeos.InvalidParam, "the %s has control characters or is not UTF-8; use printable characters", what)
	}
	return nil
}

// plain reports whether s is UTF-8 without control characters, those that
// turn the reading direction included: they let a name pose as another.
func plain(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) })
}

// printed makes a text of somebody else's fit for a list: short, and plain.
func printed(s string) string {
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

// addList appends "column IN (...)".
func (c *conditions) addList(column string, values []any) {
	c.parts = append(c.parts, column+" IN ("+placeholders(len(c.args)+1, len(values))+")")
	c.args = append(c.args, values...)
}
