package ledger

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
)

func openSQLite(t testing.TB, opt Options) *Ledger {
	t.Helper()
	return openOn(t, "sqlite:"+filepath.Join(t.TempDir(), "beeos.db"), opt)
}

func openOn(t testing.TB, dsn string, opt Options) *Ledger {
	t.Helper()
	db, err := store.Open(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	l, err := Open(context.Background(), db.DB, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// request is an opening of a fresh channel for a push agent.
func request(agent string) *Opening {
	channel := beeos.NewChannelID()
	return &Opening{
		Channel: beeos.Channel{ID: channel, AgentID: agent, Owner: "user:u", Kind: beeos.KindInvoke, SingleShot: true},
		Fresh:   true,
		Message: beeos.Message{ID: beeos.NewID(), Channel: channel, Type: beeos.ChatMessage, Publisher: "user:u", Body: "hello"},
		Delivery: &Delivery{
			AgentID: agent, Mode: beeos.DeliverPush, Redelivery: beeos.RedeliverAlways,
			LeaseUntil: time.Now().Add(15 * time.Second), Deadline: time.Now().Add(time.Hour),
		},
	}
}

func reply(o *Opening, text string) beeos.Message {
	return beeos.Message{
		Channel: o.Channel.ID, InReplyTo: o.Message.ID, Type: beeos.AgentReply, State: beeos.StateCompleted,
		StopReason: beeos.StopEndTurn, Publisher: "agent:" + o.Channel.AgentID, Body: text,
	}
}

// A server that was stopped leaves everything in one file, so that a copy of
// it is a whole backup.
func TestCloseLeavesOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "beeos.db")
	l := openOn(t, "sqlite:"+path, Options{})
	begin(t, l, request("agent_a"))
	l.Close()
	if err := l.db.Close(); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(path + "*")
	if want := []string{path}; err != nil || !cmp.Equal(left, want) {
		t.Errorf("left %v, %v, want %v", left, err, want)
	}
}

func BenchmarkRoundTrip(b *testing.B) {
	for _, callers := range []int{1, 64, 512} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			l := openSQLite(b, Options{})
			var wg sync.WaitGroup
			work := make(chan struct{})
			b.ResetTimer()
			for range callers {
				wg.Go(func() {
					for range work {
						o := request("agent_a")
						if _, _, err := l.BeginRequest(context.Background(), o); err != nil {
							b.Error(err)
						}
						if _, err := l.Finish(context.Background(), reply(o, "hi")); err != nil {
							b.Error(err)
						}
					}
				})
			}
			for range b.N {
				work <- struct{}{}
			}
			close(work)
			wg.Wait()
		})
	}
}
