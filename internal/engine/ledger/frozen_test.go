//go:build unix

package ledger

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/test/pgtest"
)

// TestFrozenDatabaseStoresNothingLater: a server that was frozen does what had been
// sent to it when it goes on. A batch that was given up meanwhile is not in it.
func TestFrozenDatabaseStoresNothingLater(t *testing.T) {
	l := openOn(t, pgtest.Cluster(t).URL(t), Options{})
	w := newWriter(l)
	if err := w.connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.disconnect)
	var unsure *batch
	if _, err := w.attempt(t.Context(), []*op{{opening: request("agent_a")}}, &unsure); err != nil { // statements are prepared
		t.Fatal(err)
	}
	var backend int
	if err := w.query(t.Context(), `SELECT pg_backend_pid()`, nil, func(r database.Row) error { return r.Scan(&backend) }); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(backend, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	given := request("agent_a")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := w.attempt(ctx, []*op{{opening: given}}, &unsure)
	if wrong := syscall.Kill(backend, syscall.SIGCONT); wrong != nil {
		t.Fatal(wrong)
	}
	if err == nil {
		t.Fatal("the database was not frozen, so nothing was tested")
	}
	if unsure != nil {
		t.Error("nobody had asked for it to be stored, and yet it is not known")
	}
	for gone := false; !gone; { // it is at its end when it has done all that was sent
		if err := l.db.QueryRowContext(t.Context(), `SELECT NOT EXISTS (SELECT 1 FROM pg_stat_activity WHERE pid = $1)`, backend).Scan(&gone); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := l.Messages(t.Context(), given.Channel.ID, 0, 10); err != nil || len(got) != 0 {
		t.Errorf("stored later: %+v, %v", got, err)
	}
}
