package database_test

import (
	"testing"

	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/store/storetest"
	"github.com/beeos/beeos/test/pgtest"
)

// TestPipeline: what waits is done in order and before what is asked for, is not done
// when the transaction is undone, and fails whoever waits next.
func TestPipeline(t *testing.T) {
	db := storetest.Open(t, pgtest.Cluster(t).URL(t))
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	p := database.NewPipeline(conn)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	names := func() (list []string) {
		t.Helper()
		must(p.Query(t.Context(), func(r database.Row) error {
			var name string
			err := r.Scan(&name)
			list = append(list, name)
			return err
		}, `SELECT name FROM secrets ORDER BY name`))
		return list
	}
	insert := func(name string) {
		p.Queue(`INSERT INTO secrets (name, value) VALUES ($1, $2)`, name, []byte{1})
	}
	p.Queue(`BEGIN`)
	insert("a")
	insert("b")
	if n, err := p.Change(t.Context(), `UPDATE secrets SET name = 'c' WHERE name = $1`, "b"); err != nil || n != 1 {
		t.Errorf("%d rows, %v", n, err)
	}
	must(p.Commit(t.Context()))

	p.Queue(`BEGIN`)
	insert("d")
	if got := names(); len(got) != 3 {
		t.Errorf("in the transaction: %q", got)
	}
	insert("e")
	must(p.Rollback(t.Context()))

	p.Queue(`BEGIN`)
	insert("f")
	if err := p.Commit(t.Context()); err == nil {
		t.Error("what had not been sent was committed")
	}
	insert("a")
	if err := p.Flush(t.Context()); err == nil {
		t.Error("a name was taken twice")
	}
	must(p.Rollback(t.Context()))

	p.Queue(`BEGIN`)
	insert("g")
	if _, err := p.Change(t.Context(), `UPDATE secrets SET name = 'c' WHERE name = 'a'`); err == nil {
		t.Error("two have one name")
	}
	if err := p.Commit(t.Context()); err == nil {
		t.Error("a transaction with a failed statement was committed")
	}
	if got := names(); len(got) != 2 || got[0] != "a" || got[1] != "c" {
		t.Errorf("in the end: %q", got)
	}
}
