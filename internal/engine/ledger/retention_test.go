package ledger

import (
	"context"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/test/pgtest"
)

// kept is a request on a channel that its caller keeps.
func kept(t *testing.T, l *Ledger) *Opening {
	t.Helper()
	o := request("agent_a")
	o.Fresh, o.Channel.SingleShot, o.Channel.Kind = false, false, "conversation"
	if err := l.CreateChannel(t.Context(), o.Channel); err != nil {
		t.Fatal(err)
	}
	return o
}

// TestWrittenToWhileForgotten: a channel that was idle when retention looked is
// not forgotten together with what somebody has said in it since.
func TestWrittenToWhileForgotten(t *testing.T) {
	engines(t, func(t *testing.T, open func(Options) *Ledger) {
		moment := time.Now()
		l := open(Options{Now: func() time.Time { return moment }})
		o, silent := kept(t, l), kept(t, l)
		moment = moment.Add(time.Hour)
		before := moment.Add(-time.Minute)
		found, err := l.idleChannels(t.Context(), before)
		if err != nil || len(found) != 2 {
			t.Fatalf("idle are %v, %v; want both", found, err)
		}
		begin(t, l, o)
		if err := l.forgetChannels(t.Context(), found, before); err != nil {
			t.Fatal(err)
		}
		if got, err := l.Message(t.Context(), o.Channel.ID, o.Message.Offset); err != nil || got.ID != o.Message.ID {
			t.Errorf("what was acknowledged is gone: %+v, %v", got, err)
		}
		if _, err := l.Channel(t.Context(), silent.Channel.ID); beeos.CodeOf(err) != beeos.NotFound {
			t.Errorf("the other one is still there: %v", err)
		}
	})
}

// TestWrittenToWhileDeleted: on PostgreSQL a channel is deleted by one writer
// while another stores a request in it. Either there is no such channel or the
// delete is refused; never is an acknowledged request gone.
func TestWrittenToWhileDeleted(t *testing.T) {
	l := openOn(t, pgtest.URL(t), Options{})
	o := kept(t, l)
	w := newWriter(l)
	if err := w.connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.conn.Close() })
	inside, goOn, stored, deleted := make(chan struct{}), make(chan struct{}), make(chan error, 1), make(chan error, 1)
	slow := &op{do: func(context.Context, *batch) error { close(inside); <-goOn; return nil }}
	go func() {
		var unsure *batch
		_, err := w.attempt(t.Context(), []*op{{opening: o}, slow}, &unsure)
		stored <- err
	}()
	<-inside
	go func() { deleted <- l.DeleteChannel(t.Context(), o.Channel.ID) }()
	awaitLock(t, l)
	close(goOn)
	if err := <-stored; err != nil {
		t.Fatal(err)
	}
	if err := <-deleted; beeos.CodeOf(err) != beeos.Conflict {
		t.Errorf("the delete of a channel with an open request: %v, want a conflict", err)
	}
	if got, err := l.Message(t.Context(), o.Channel.ID, o.Message.Offset); err != nil || got.ID != o.Message.ID {
		t.Errorf("what was acknowledged: %+v, %v", got, err)
	}
	if _, err := l.Channel(t.Context(), o.Channel.ID); err != nil {
		t.Errorf("its channel: %v", err)
	}
}

// awaitLock returns once somebody in this database waits for somebody else.
func awaitLock(t *testing.T, l *Ledger) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for waiting := 0; waiting == 0; <-tick.C {
		err := l.db.QueryRowContext(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
	}
}
