package sessions

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/test/enginetest"
)

// TestEndedSessionsAreBoundedInMemory: a replica knows no more of ended
// sessions than the store does, nor ever more than it has room for.
func TestEndedSessionsAreBoundedInMemory(t *testing.T) {
	db, b, _ := enginetest.Open(t)
	r, err := Open(t.Context(), Options{Sessions: db.Sessions, Cluster: db.Cluster, Bus: b, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	for i := range endedMost + 10 {
		r.HeardOfEnd(fmt.Sprint("gone", i))
	}
	if len(r.ended) > endedMost {
		t.Errorf("%d ended sessions in memory", len(r.ended))
	}
	s := NewSession(wire.NewestHandshake, 0, time.Now())
	if err := r.EndSession(t.Context(), "user:1", s, s.Expires()); err != nil {
		t.Fatal(err)
	}
	if err := r.tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(r.ended) != 1 || !r.HasEnded(s.Channel) {
		t.Errorf("%d are known that the store has forgotten", len(r.ended)-1)
	}
	if err := db.Cluster.Prune(t.Context(), s.Expires().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := r.tidy(t.Context()); err != nil || len(r.ended) != 0 {
		t.Errorf("%d are known after all have expired, %v", len(r.ended), err)
	}
}
