package ledger

import (
	"strings"
	"testing"
	"time"
)

// TestReadyAsksByWriting: where nothing can be written nobody is sent, and what
// was said a moment ago is not asked again.
func TestReadyAsksByWriting(t *testing.T) {
	now := time.Now()
	l := openSQLite(t, Options{Now: func() time.Time { return now }})
	if err := l.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := l.db.ExecContext(t.Context(), `CREATE TRIGGER full BEFORE INSERT ON idempotency BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END`); err != nil {
		t.Fatal(err)
	}
	if err := l.Ready(t.Context()); err != nil {
		t.Errorf("asked again at once: %v", err)
	}
	now = now.Add(probeFor)
	if err := l.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "disk is full") {
		t.Errorf("with a full disk: %v", err)
	}
	if _, err := l.db.ExecContext(t.Context(), `DROP TRIGGER full`); err != nil {
		t.Fatal(err)
	}
	now = now.Add(probeFor)
	if err := l.Ready(t.Context()); err != nil {
		t.Errorf("with room again: %v", err)
	}
	var left int
	if err := l.db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM idempotency`).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d rows left, %v", left, err)
	}
}
