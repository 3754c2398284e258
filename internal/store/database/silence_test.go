package database_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/test/pgtest"
)

// TestSilentServerIsLeft: the way to PostgreSQL swallows everything and breaks no
// connection. Whoever waits is told within seconds, and is then served by the next
// host.
func TestSilentServerIsLeft(t *testing.T) {
	t.Parallel() // it waits more than it works
	direct := pgtest.URL(t)
	line := pgtest.NewLine(t, direct)
	db, _ := watched(t, line.Beside(t, direct))
	look := func() (time.Duration, error) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		_, err := database.GetValue[int](ctx, db, "look", "SELECT 1")
		return time.Since(began), err
	}
	if _, err := look(); err != nil {
		t.Fatal(err)
	}
	line.Mute(t)
	began := time.Now()
	took, err := look()
	if beeos.CodeOf(err) != beeos.AgentServiceUnavailable || took > 10*time.Second {
		t.Errorf("after %s: %v, want agent_service_unavailable", took, err)
	}
	for err != nil && time.Since(began) < 20*time.Second {
		if took, err = look(); took > 5*time.Second {
			t.Errorf("another look took %s", took)
		}
	}
	t.Logf("served by the other host after %s", time.Since(began).Round(time.Millisecond))
	if err != nil {
		t.Error(err)
	}
}

// watched opens a database and waits until its pulse is felt.
func watched(t *testing.T, address string) (db *store.Store, stop func()) {
	t.Helper()
	db, err := store.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(db.Watch("", slog.New(slog.DiscardHandler)))
	t.Cleanup(func() {
		stop()
		db.Close()
	})
	for !db.HasPulse() {
		time.Sleep(10 * time.Millisecond)
	}
	return db, stop
}

// TestStandbyIsNotWrittenTo: of several hosts the one that takes writes is found,
// wherever it stands.
func TestStandbyIsNotWrittenTo(t *testing.T) {
	t.Parallel() // as above
	primary := pgtest.Cluster(t)
	address := primary.URL(t)
	standby := primary.Standby(t, false)
	db, _ := watched(t, standby.Both(standby.At(address, primary), primary))
	if _, err := db.ExecContext(t.Context(), "INSERT INTO secrets (name, value) VALUES ('a', '')"); err != nil {
		t.Error(err)
	}
}

// TestTimeIsTheDatabases: a node goes by the clock of PostgreSQL, and knows that
// its own is wrong, or that PostgreSQL's was set.
func TestTimeIsTheDatabases(t *testing.T) {
	db, stop := watched(t, pgtest.URL(t))
	stop() // nobody sets the clock but this test
	if off := time.Since(db.Now()).Abs(); off > time.Second || db.IsOff() || db.JumpedWithin(time.Hour) {
		t.Errorf("one machine has two times: %s apart, off %t", off, db.IsOff())
	}
	now := time.Now()
	db.SetClock(now, now.Round(0).Add(-time.Hour))
	if behind := time.Since(db.Now().Add(time.Hour)).Abs(); behind > time.Second {
		t.Errorf("the database's time is not told: %s", behind)
	}
	if ahead := db.Ahead(); !db.IsOff() || (ahead-time.Hour).Abs() > time.Second {
		t.Errorf("this clock is ahead by %s, off %t", ahead, db.IsOff())
	}
	if !db.JumpedWithin(time.Minute) || db.JumpedWithin(0) {
		t.Error("that the clock was set is not known")
	}
}

// TestSQLiteNoticesThatItsClockWasSet by what has passed meanwhile.
func TestSQLiteNoticesThatItsClockWasSet(t *testing.T) {
	for _, by := range []time.Duration{0, time.Minute, -time.Minute} {
		db, err := store.Open(t.Context(), "sqlite:"+t.TempDir()+"/a.db")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		now := time.Now()
		db.SetClock(now, now.Round(0).Add(-by)) // so that by is what it has been set by since
		if jumped := db.JumpedWithin(time.Minute); jumped != (by != 0) || db.JumpedWithin(0) {
			t.Errorf("set by %s, noticed %t", by, jumped)
		}
	}
}
