package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/test/pgtest"
)

// TestDatabaseGoesAway: the connection breaks, and for a while there is no
// other. Nobody hears of it, and what the database has committed without being
// able to say so counts as stored, once.
func TestDatabaseGoesAway(t *testing.T) {
	direct := pgtest.Cluster(t).URL(t)
	line := pgtest.NewLine(t, direct)
	l, reader := openOn(t, line.URL, Options{}), openOn(t, direct, Options{})
	begin(t, l, request("agent_a"))
	for _, answer := range []string{"BEGIN", "COMMIT"} {
		line.CutAt(answer, time.Second) // longer than one who is not patient tries
		o := request("agent_a")
		o.Idempotency = &Idempotency{Scope: "s", Key: answer, Fingerprint: []byte("f"), Expires: time.Now().Add(time.Hour)}
		begin(t, l, o)
		if line.Refused() == 0 {
			t.Fatalf("nothing was cut at %s, so nothing was tested", answer)
		}
		got, err := reader.Messages(t.Context(), o.Channel.ID, 0, 10)
		if err != nil || len(got) != 1 || got[0].ID != o.Message.ID {
			t.Errorf("cut at %s, stored: %+v, %v", answer, got, err)
		}
	}
}

// TestClaimIsLostWithItsAnswer: a write that stores no message counts, too, when
// the database has committed it without being able to say so. A claim that is
// made again would find nothing, and nobody would have the work.
func TestClaimIsLostWithItsAnswer(t *testing.T) {
	line := pgtest.NewLine(t, pgtest.Cluster(t).URL(t))
	l := openOn(t, line.URL, Options{})
	o := request("agent_a")
	o.Delivery.Mode, o.Delivery.Redelivery = beeos.DeliverQueue, beeos.RedeliverNever
	begin(t, l, o)
	for _, answer := range []string{"BEGIN", "COMMIT"} {
		line.CutAt(answer, 100*time.Millisecond)
		got, err := l.ClaimDeliveries(t.Context(), "agent_a", time.Now().Add(time.Minute), 10)
		if err != nil || len(got) != 1 || got[0].Attempt != 1 {
			t.Fatalf("cut at %s, claimed %+v, %v; want the one", answer, got, err)
		}
		if line.Refused() == 0 {
			t.Fatalf("nothing was cut at %s, so nothing was tested", answer)
		}
		if err := l.UndoClaim(t.Context(), []Lease{{o.Message.ID, 1}}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFewestConnections: with as few connections as can be asked for there is
// one left for those who read, beside the writers.
func TestFewestConnections(t *testing.T) {
	url := pgtest.URL(t)
	for n := 1; ; n++ {
		u := fmt.Sprintf("%s%spool_max_conns=%d", url, map[bool]string{true: "&", false: "?"}[strings.Contains(url, "?")], n)
		db, err := store.Open(t.Context(), u)
		if err != nil && n < 10 {
			continue // refused
		}
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		l, err := Open(t.Context(), db.DB, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if _, err := l.Channel(ctx, "ch-1"); beeos.CodeOf(err) != beeos.NotFound {
			t.Errorf("with %d connections: %v", n, err)
		}
		return
	}
}

// TestSilentDatabaseAtCommit: PostgreSQL has committed a request and cannot say so.
// Its caller is told in time that nobody knows, another one that nothing was stored.
// Both are true when the database answers again, by another way.
func TestSilentDatabaseAtCommit(t *testing.T) {
	t.Parallel() // it waits more than it works
	direct := pgtest.Cluster(t).URL(t)
	line := pgtest.NewLine(t, direct)
	db, err := store.Open(t.Context(), line.Beside(t, direct))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	defer db.Watch("", slog.New(slog.DiscardHandler))()
	l, err := Open(t.Context(), db.DB, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	reader := openOn(t, direct, Options{})
	begin(t, l, request("agent_a"))

	line.MuteAt(t, "COMMIT")
	sent, queued := request("agent_a"), request("agent_a")
	for l.writer(queued.Channel.ID) != l.writer(sent.Channel.ID) {
		queued = request("agent_a")
	}
	sent.Within, queued.Within = time.Second, time.Second
	began := time.Now()
	_, _, unknown := l.BeginRequest(t.Context(), sent)
	_, _, no := l.BeginRequest(t.Context(), queued)
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("they heard of it after %s", took)
	}
	if e, ok := errors.AsType[*beeos.Error](unknown); !ok || e.Stored != beeos.StoredUnknown {
		t.Errorf("who was sent hears %v", unknown)
	}
	if e, ok := errors.AsType[*beeos.Error](no); !ok || e.Stored != beeos.StoredNo {
		t.Errorf("who was queued hears %v", no)
	}
	late, ok := errors.AsType[*Unsettled](unknown)
	if !ok || !late.Stored() {
		t.Fatalf("it was not found in the database: %v", unknown)
	}
	t.Logf("known after %s", time.Since(began).Round(time.Millisecond))
	begin(t, l, request("agent_a")) // behind the one that was queued
	for o, want := range map[*Opening]int{sent: 1, queued: 0} {
		if got, err := reader.Messages(t.Context(), o.Channel.ID, 0, 10); err != nil || len(got) != want {
			t.Errorf("%d messages, %v; want %d", len(got), err, want)
		}
	}
}
