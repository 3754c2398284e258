package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/storetest"
	"github.com/beeos/beeos/test/pgtest"
)

func TestCopy(t *testing.T) {
	for _, tt := range []struct {
		name     string
		from, to func(t *testing.T) string
	}{
		{"sqlite to postgres", storetest.SQLiteURL, func(t *testing.T) string { return pgtest.URL(t) }},
		{"postgres to sqlite", func(t *testing.T) string { return pgtest.URL(t) }, storetest.SQLiteURL},
		{"sqlite to sqlite", storetest.SQLiteURL, storetest.SQLiteURL},
	} {
		t.Run(tt.name, func(t *testing.T) {
			from, to := storetest.Open(t, tt.from(t)), storetest.Open(t, tt.to(t))
			storetest.Fill(t, from)
			told := map[string]int{}
			if err := store.Copy(t.Context(), from, to, func(table string, rows int) { told[table] = rows }); err != nil {
				t.Fatal(err)
			}
			want := store.Dump(t, from)
			if diff := cmp.Diff(want, store.Dump(t, to)); diff != "" {
				t.Error(diff)
			}
			for table, rows := range want {
				if told[table] != len(rows) || len(rows) == 0 {
					t.Errorf("%s has %d rows, progress heard %d", table, len(rows), told[table])
				}
			}
			if k, err := to.Keys.GetByHash(t.Context(), storetest.HashOf("k")); err != nil || k.ID != "k" {
				t.Errorf("key in the target: %+v, %v", k, err)
			}
			err := store.Copy(t.Context(), from, to, nil)
			if err == nil || !strings.Contains(err.Error(), "the target is not empty") {
				t.Errorf("a second copy: %v", err)
			}
		})
	}
}

func TestCopyIsAllOrNothing(t *testing.T) {
	from, to := storetest.Open(t, storetest.SQLiteURL(t)), storetest.Open(t, pgtest.URL(t))
	storetest.Fill(t, from)
	// A row that SQLite keeps and PostgreSQL cannot.
	if _, err := from.Exec("UPDATE channels SET next_off = 'many'"); err != nil {
		t.Fatal(err)
	}
	if err := store.Copy(t.Context(), from, to, nil); err == nil || !strings.Contains(err.Error(), "copy table channels") {
		t.Fatalf("got %v", err)
	}
	for table, rows := range store.Dump(t, to) {
		if len(rows) > 0 {
			t.Errorf("%s has %d rows after a failed copy", table, len(rows))
		}
	}
}

func TestCopyMendsTextThatPostgresRefuses(t *testing.T) {
	from, to := storetest.Open(t, storetest.SQLiteURL(t)), storetest.Open(t, pgtest.URL(t))
	storetest.Fill(t, from)
	if _, err := from.Exec("UPDATE messages SET body = $1, payload = $2 WHERE off = 7", "a\x00b\xff", []byte("bytes")); err != nil {
		t.Fatal(err)
	}
	if err := store.Copy(t.Context(), from, to, nil); err != nil {
		t.Fatal(err)
	}
	var body, payload string
	if err := to.QueryRow("SELECT body, payload FROM messages WHERE off = 7").Scan(&body, &payload); err != nil || body != "a\uFFFDb\uFFFD" || payload != "bytes" {
		t.Errorf("%q %q %v", body, payload, err)
	}
}

func TestCopyStopsWithItsContext(t *testing.T) {
	from, to := storetest.Open(t, storetest.SQLiteURL(t)), storetest.Open(t, pgtest.URL(t))
	storetest.Fill(t, from)
	ctx, cancel := context.WithCancel(t.Context())
	err := store.Copy(ctx, from, to, func(string, int) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
