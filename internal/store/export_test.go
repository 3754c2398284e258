package store

import (
	"fmt"
	"strings"
	"testing"
)

// Dump reads every row of every table, in a form that is the same on both
// engines.
func Dump(t *testing.T, db *Store) map[string][]string {
	t.Helper()
	tables, err := readSchema(t.Context(), db.DB, db)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, tb := range tables {
		rows, err := db.Query("SELECT " + strings.Join(tb.columns, ", ") + " FROM " + tb.name + " ORDER BY 1, 2")
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			values, err := tb.scanRow(rows)
			if err != nil {
				t.Fatal(err)
			}
			out[tb.name] = append(out[tb.name], fmt.Sprintf("%v", values))
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		if out[tb.name] == nil {
			out[tb.name] = []string{}
		}
	}
	return out
}
