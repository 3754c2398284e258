package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/beeos/beeos/internal/store/database"
)

// table is one table as Copy finds it.
type table struct {
	name    string
	columns []string
	kinds   map[string]string // column -> its type, in upper case
	needs   []string          // tables that its foreign keys point to
}

// The catalogues of the two engines.
const (
	sqliteTables    = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~' AND name NOT LIKE 'goose~_%' ESCAPE '~' ORDER BY name"
	postgresTables  = "SELECT table_name::text FROM information_schema.tables WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' AND table_name NOT LIKE 'goose~_%' ESCAPE '~' ORDER BY table_name"
	sqliteColumns   = "SELECT name, type FROM pragma_table_info($1) ORDER BY cid"
	postgresColumns = "SELECT column_name::text, data_type::text FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = $1 ORDER BY ordinal_position"
	sqliteNeeds     = `SELECT DISTINCT "table" FROM pragma_foreign_key_list($1)`
	postgresNeeds   = "SELECT DISTINCT t.relname::text FROM pg_constraint c JOIN pg_class t ON t.oid = c.confrelid WHERE c.contype = 'f' AND c.conrelid = to_regclass($1)"
)

// readSchema lists the tables of the program, each after those that it needs.
func readSchema(ctx context.Context, db *database.DB, q database.Querier) ([]table, error) {
	tablesQuery, columnsQuery, needsQuery := sqliteTables, sqliteColumns, sqliteNeeds
	if db.Postgres {
		tablesQuery, columnsQuery, needsQuery = postgresTables, postgresColumns, postgresNeeds
	}
	names, err := database.ListTexts(ctx, q, "list tables", tablesQuery)
	if err != nil {
		return nil, err
	}
	var list []table
	for _, name := range names {
		columns, err := database.List(ctx, q, "list columns", func(c *[2]string) []any { return []any{&c[0], &c[1]} }, columnsQuery, name)
		if err != nil {
			return nil, err
		}
		t := table{name: name, kinds: map[string]string{}}
		for _, c := range columns {
			t.columns = append(t.columns, c[0])
			t.kinds[c[0]] = strings.ToUpper(c[1])
		}
		if t.needs, err = database.ListTexts(ctx, q, "list foreign keys", needsQuery, name); err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return sortByNeeds(list)
}

// sortByNeeds sorts tables so that foreign keys point backwards.
func sortByNeeds(tables []table) ([]table, error) {
	var sorted []table
	done := map[string]bool{}
	for len(sorted) < len(tables) {
		before := len(sorted)
		for _, t := range tables {
			if !done[t.name] && t.ready(done) {
				done[t.name] = true
				sorted = append(sorted, t)
			}
		}
		if len(sorted) == before {
			return nil, fmt.Errorf("foreign keys go round in a circle")
		}
	}
	return sorted, nil
}

func (t table) ready(done map[string]bool) bool {
	for _, need := range t.needs {
		if need != t.name && !done[need] {
			return false
		}
	}
	return true
}

// scanRow reads the current row as values that fit the target's columns.
func (t table) scanRow(rows *sql.Rows) ([]any, error) {
	values := make([]any, len(t.columns))
	into := make([]any, len(t.columns))
	for i := range values {
		into[i] = &values[i]
	}
	if err := rows.Scan(into...); err != nil {
		return nil, err
	}
	for i, column := range t.columns {
		values[i] = fitValue(values[i], t.kinds[column])
	}
	return values, nil
}

// fitValue bridges what the engines' drivers hand out and take: SQLite keeps
// booleans as numbers, hands out no bytes as NULL, which no column of ours
// allows, and does not care about the difference between text and bytes, and
// PostgreSQL takes no text with zero bytes or broken UTF-8.
func fitValue(v any, kind string) any {
	switch kind {
	case "BOOLEAN":
		if n, ok := v.(int64); ok {
			return n != 0
		}
	case "BYTEA":
		if s, ok := v.(string); ok {
			return []byte(s)
		}
		if b, ok := v.([]byte); v == nil || ok && b == nil { // how SQLite's driver hands out no bytes, which is not NULL
			return []byte{}
		}
	case "TEXT":
		if b, ok := v.([]byte); ok {
			v = string(b)
		}
		if s, ok := v.(string); ok {
			return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\uFFFD"), "\uFFFD")
		}
	}
	return v
}
