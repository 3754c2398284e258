package ledger

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/test/pgtest"
)

// engines runs a test on both databases.
func engines(t *testing.T, test func(t *testing.T, open func(Options) *Ledger)) {
	t.Run("sqlite", func(t *testing.T) {
		test(t, func(o Options) *Ledger { return openSQLite(t, o) })
	})
	t.Run("postgres", func(t *testing.T) {
		url := pgtest.URL(t) // several opens share it: replicas
		test(t, func(o Options) *Ledger { return openOn(t, url, o) })
	})
}

func begin(t *testing.T, l *Ledger, o *Opening) {
	t.Helper()
	dup, busy, err := l.BeginRequest(t.Context(), o)
	if err != nil || dup != nil || busy != nil {
		t.Fatalf("Begin = %v, %v, %v; want a plain success", dup, busy, err)
	}
}

func TestRoundTripIsStoredInOrder(t *testing.T) {
	engines(t, func(t *testing.T, open func(Options) *Ledger) {
		var mu sync.Mutex
		var told []string
		l := open(Options{Committed: func(ms []beeos.Message) {
			mu.Lock()
			defer mu.Unlock()
			for _, m := range ms {
				told = append(told, m.ID)
			}
		}})
		o := request("agent_a")
		o.Message.Parts = []byte(`[{"type":"file"}]`)
		o.Message.Payload = []byte(`{"tool":"x"}`)
		begin(t, l, o)
		note, err := l.Append(t.Context(), beeos.Message{Channel: o.Channel.ID, InReplyTo: o.Message.ID, Type: beeos.AgentInputRequired, Body: "which?"})
		if err != nil {
			t.Fatal(err)
		}
		end, err := l.Finish(t.Context(), reply(o, "hi"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := l.Messages(t.Context(), o.Channel.ID, 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 3 || got[0].ID != o.Message.ID || got[1].ID != note.ID || got[2].ID != end.ID {
			t.Fatalf("channel holds %+v", got)
		}
		if string(got[0].Parts) != `[{"type":"file"}]` || string(got[0].Payload) != `{"tool":"x"}` || got[2].Body != "hi" {
			t.Errorf("contents changed on the way: %+v", got)
		}
		if since, _ := l.Messages(t.Context(), o.Channel.ID, got[1].Offset, 10); len(since) != 1 || since[0].ID != end.ID {
			t.Errorf("since %d gave %+v", got[1].Offset, since)
		}
		if latest, full, err := l.LatestMessages(t.Context(), o.Channel.ID, 2, 1<<20); err != nil || full || len(latest) != 2 || latest[0].ID != note.ID || latest[1].ID != end.ID {
			t.Errorf("the last two are %+v, %v", latest, err)
		}
		if latest, full, err := l.LatestMessages(t.Context(), o.Channel.ID, 2, 0); err != nil || !full || len(latest) != 1 || latest[0].ID != end.ID {
			t.Errorf("with no room the last is %+v, %v", latest, err)
		}
		if c, err := l.Channel(t.Context(), o.Channel.ID); err != nil || !c.Closed {
			t.Errorf("a single-shot channel stays open after its reply: %+v, %v", c, err)
		}
		if _, err := l.OpenDelivery(t.Context(), o.Message.ID); beeos.CodeOf(err) != beeos.NotFound {
			t.Errorf("the delivery outlived its reply: %v", err)
		}
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(told, []string{o.Message.ID, note.ID, end.ID}) {
			t.Errorf("Committed was told %v", told)
		}
	})
}

// Two replicas (two writers on one database) and many goroutines publish a
// terminal reply to the same requests: one wins each, the others are told.
func TestExactlyOneTerminal(t *testing.T) {
	engines(t, func(t *testing.T, open func(Options) *Ledger) {
		a := open(Options{})
		b := a
		if a.db.Postgres {
			b = open(Options{})
		}
		var wins, losses atomic.Int64
		var wg sync.WaitGroup
		for range 50 {
			o := request("agent_a")
			begin(t, a, o)
			for i := range 8 {
				l := a
				if i%2 == 1 {
					l = b
				}
				wg.Go(func() {
					_, err := l.Finish(context.Background(), reply(o, fmt.Sprint(i)))
					switch {
					case err == nil:
						wins.Add(1)
					case errors.Is(err, ErrTerminal):
						losses.Add(1)
					default:
						t.Error(err)
					}
				})
			}
		}
		wg.Wait()
		if wins.Load() != 50 || losses.Load() != 350 {
			t.Errorf("%d won and %d lost; want 50 and 350", wins.Load(), losses.Load())
		}
	})
}

// Offsets of one channel rise strictly and `since` never skips a message,
// whoever appends.
func TestSinceNeverSkips(t *testing.T) {
	engines(t, func(t *testing.T, open func(Options) *Ledger) {
		writers := []*Ledger{open(Options{})}
		if writers[0].db.Postgres {
			writers = append(writers, open(Options{}))
		}
		ch := beeos.Channel{ID: beeos.NewChannelID(), AgentID: "agent_a", Owner: "user:u", Kind: beeos.KindConversation}
		if err := writers[0].CreateChannel(t.Context(), ch); err != nil {
			t.Fatal(err)
		}
		const each, publishers = 100, 4
		done := make(chan struct{})
		var wg sync.WaitGroup
		for i := range publishers {
			l := writers[i%len(writers)]
			wg.Go(func() {
				for range each {
					if _, err := l.Append(context.Background(), beeos.Message{Channel: ch.ID, Type: beeos.AgentReasoning, Body: "."}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		go func() { wg.Wait(); close(done) }()
		var since int64
		seen := map[string]bool{}
		for last := false; ; {
			select {
			case <-done:
				last = true
			default:
			}
			ms, err := writers[0].Messages(t.Context(), ch.ID, since, 7)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range ms {
				if m.Offset <= since {
					t.Fatalf("offset %d after %d", m.Offset, since)
				}
				since = m.Offset
				seen[m.ID] = true
			}
			if last && len(ms) == 0 {
				break
			}
		}
		if len(seen) != each*publishers {
			t.Errorf("a reader that follows by since saw %d of %d", len(seen), each*publishers)
		}
	})
}

func TestIdempotency(t *testing.T) {
	engines(t, func(t *testing.T, open func(Options) *Ledger) {
		l := open(Options{})
		guarded := func(key, payload string) *Opening {
			o := request("agent_a")
			o.Idempotency = &Idempotency{Scope: "cred agent_a", Key: key, Fingerprint: []byte(payload), Expires: time.Now().Add(time.Hour)}
			return o
		}
		first := guarded("k", "p")
		begin(t, l, first)
		again := guarded("k", "p")
		dup, _, err := l.BeginRequest(t.Context(), again)
		if err != nil || dup == nil || dup.Turn != first.Message.ID || dup.Channel != first.Channel.ID {
			t.Errorf("same key, same payload: %+v, %v; want the first request", dup, err)
		}
		if ms, _ := l.Messages(t.Context(), again.Channel.ID, 0, 10); len(ms) != 0 {
			t.Errorf("a duplicate stored %d messages", len(ms))
		}
		if _, _, err := l.BeginRequest(t.Context(), guarded("k", "other")); beeos.CodeOf(err) != beeos.Conflict {
			t.Errorf("same key, other payload: %v; want conflict", err)
		}
		stale := guarded("old", "p")
		stale.Idempotency.Expires = time.Now().Add(-time.Second)
		begin(t, l, stale)
		begin(t, l, guarded("old", "q"))

		var fresh atomic.Int64
		var wg sync.WaitGroup
		for range 40 {
			wg.Go(func() {
				dup, _, err := l.BeginRequest(context.Background(), guarded("race", "p"))
				if err != nil {
					t.Error(err)
				} else if dup == nil {
					fresh.Add(1)
				}
			})
		}
		wg.Wait()
		if fresh.Load() != 1 {
			t.Errorf("%d of 40 concurrent calls with one key were stored", fresh.Load())
		}
	})
}

// A request that is refused leaves its key unused.
func TestRefusedRequestGivesItsKeyBack(t *testing.T) {
	engines(t, func(t *testing.T, open func(Options) *Ledger) {
		l := open(Options{})
		ch := beeos.Channel{ID: beeos.NewChannelID(), AgentID: "agent_a", Owner: "user:u", Kind: beeos.KindMCP}
		if err := l.CreateChannel(t.Context(), ch); err != nil {
			t.Fatal(err)
		}
		if err := l.CloseChannel(t.Context(), ch.ID, "done"); err != nil {
			t.Fatal(err)
		}
		o := request("agent_a")
		o.Channel, o.Message.Channel, o.Fresh = ch, ch.ID, false
		o.Idempotency = &Idempotency{Scope: "s", Key: "k", Fingerprint: []byte("p"), Expires: time.Now().Add(time.Hour)}
		if _, _, err := l.BeginRequest(t.Context(), o); beeos.CodeOf(err) != beeos.Conflict {
			t.Fatalf("a message on a closed channel: %v; want conflict", err)
		}
		other := request("agent_a")
		other.Idempotency = o.Idempotency
		begin(t, l, other)
		foreign := request("agent_a")
		foreign.Channel = ch
		foreign.Channel.Owner = "user:somebody-else"
		foreign.Message.Channel, foreign.Fresh = ch.ID, false
		if _, _, err := l.BeginRequest(t.Context(), foreign); beeos.CodeOf(err) != beeos.NotFound {
			t.Errorf("somebody else's channel: %v; want not_found", err)
		}
	})
}

func TestBusyRejectTakesOne(t *testing.T) {
	engines(t, func(t *testing.T, open func(Options) *Ledger) {
		l := open(Options{})
		one := func() *Opening {
			o := request("agent_b")
			o.Delivery.Mode, o.Delivery.Lane = beeos.DeliverBusyReject, "agent_b"
			return o
		}
		first := one()
		begin(t, l, first)
		second := one()
		_, busy, err := l.BeginRequest(t.Context(), second)
		if err != nil || busy == nil || busy.Type != beeos.AgentBusy || busy.InReplyTo != second.Message.ID {
			t.Fatalf("second request: %+v, %v; want agent_busy", busy, err)
		}
		if m, _ := l.Terminal(t.Context(), second.Message.ID); m == nil || m.Type != beeos.AgentBusy {
			t.Errorf("agent_busy was not stored: %+v", m)
		}
		if _, err := l.Finish(t.Context(), reply(first, "done")); err != nil {
			t.Fatal(err)
		}
		begin(t, l, one())
	})
}

// Four claimers compete for the lanes of one agent: in order, one at a time.
func TestQueueIsInOrderAndOneAtATime(t *testing.T) {
	engines(t, func(t *testing.T, open func(Options) *Ledger) {
		claimers := []*Ledger{open(Options{})}
		if claimers[0].db.Postgres {
			claimers = append(claimers, open(Options{}))
		}
		const lanes, each = 4, 25
		want := map[string][]string{}
		for i := range lanes * each {
			o := request("agent_q")
			lane := fmt.Sprint("lane", i%lanes)
			o.Delivery.Mode, o.Delivery.Lane = beeos.DeliverQueue, lane
			begin(t, claimers[0], o)
			want[lane] = append(want[lane], o.Message.ID)
		}
		var mu sync.Mutex
		got := map[string][]string{}
		running := map[string]bool{}
		left := lanes * each
		var wg sync.WaitGroup
		for i := range 4 {
			l := claimers[i%len(claimers)]
			wg.Go(func() {
				for {
					mu.Lock()
					stop := left == 0
					mu.Unlock()
					if stop {
						return
					}
					ds, err := l.ClaimDeliveries(context.Background(), "agent_q", time.Now().Add(time.Minute), 2)
					if err != nil {
						t.Error(err)
						return
					}
					for _, d := range ds {
						mu.Lock()
						if running[d.Lane] {
							t.Errorf("two of %s at once", d.Lane)
						}
						running[d.Lane] = true
						got[d.Lane] = append(got[d.Lane], d.Turn)
						mu.Unlock()
					}
					for _, d := range ds {
						mu.Lock()
						running[d.Lane] = false
						left--
						mu.Unlock()
						if _, err := l.Finish(context.Background(), beeos.Message{Channel: d.Channel, InReplyTo: d.Turn, Type: beeos.AgentReply}); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		wg.Wait()
		for lane := range want {
			if !slices.Equal(got[lane], want[lane]) {
				t.Errorf("%s ran out of order", lane)
			}
		}
	})
}

func TestLeases(t *testing.T) {
	engines(t, func(t *testing.T, open func(Options) *Ledger) {
		now := time.Now()
		l := open(Options{Now: func() time.Time { return now }})
		o := request("agent_a")
		o.Delivery.LeaseUntil, o.Delivery.Deadline = now.Add(10*time.Second), now.Add(time.Minute)
		begin(t, l, o)
		lease := []Lease{{o.Message.ID, 1}}

		sweep := func(wantExpired, wantWaiting int) {
			t.Helper()
			found, err := l.Sweep(t.Context())
			if err != nil || len(found.Expired) != wantExpired || len(found.Dropped) != wantWaiting || len(found.Agents) != wantWaiting {
				t.Fatalf("Sweep = %+v, %v; want %d expired, %d dropped", found, err, wantExpired, wantWaiting)
			}
		}
		claim := func(want int) {
			t.Helper()
			ds, err := l.ClaimDeliveries(t.Context(), "agent_a", now.Add(10*time.Second), 10)
			if err != nil || len(ds) != want {
				t.Fatalf("Claim = %+v, %v; want %d", ds, err, want)
			}
		}
		claim(0) // leased
		now = now.Add(8 * time.Second)
		if err := l.ExtendLeases(t.Context(), lease, now.Add(10*time.Second)); err != nil {
			t.Fatal(err)
		}
		now = now.Add(8 * time.Second)
		sweep(0, 0) // extended
		now = now.Add(8 * time.Second)
		sweep(0, 1) // ran out
		claim(1)    // attempt 2
		if err := l.ReleaseLeases(t.Context(), lease, Attempt{Why: beeos.InstanceGone}); err != nil {
			t.Fatal(err)
		}
		claim(0) // attempt 1 can no longer give it back
		if err := l.ReleaseLeases(t.Context(), []Lease{{o.Message.ID, 2}}, Attempt{Why: beeos.InstanceGone}); err != nil {
			t.Fatal(err)
		}
		claim(1)
		if d, err := l.OpenDelivery(t.Context(), o.Message.ID); err != nil || d.Attempt != 3 || d.Started {
			t.Errorf("Turn = %+v, %v", d, err)
		}
		if err := l.MarkStarted(t.Context(), o.Message.ID); err != nil {
			t.Fatal(err)
		}
		if d, _ := l.OpenDelivery(t.Context(), o.Message.ID); !d.Started {
			t.Error("Started left no trace")
		}
		now = now.Add(time.Minute)
		sweep(1, 0) // past its deadline
	})
}

func TestRetention(t *testing.T) {
	engines(t, func(t *testing.T, open func(Options) *Ledger) {
		l := open(Options{})
		old, open1 := request("agent_a"), request("agent_a")
		begin(t, l, old)
		begin(t, l, open1) // its request has no reply yet: it stays
		if _, err := l.Finish(t.Context(), reply(old, "x")); err != nil {
			t.Fatal(err)
		}
		conversation := beeos.Channel{ID: beeos.NewChannelID(), AgentID: "agent_a", Owner: "user:u", Kind: beeos.KindConversation}
		if err := l.CreateChannel(t.Context(), conversation); err != nil {
			t.Fatal(err)
		}
		if err := l.Forget(t.Context(), time.Hour); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Channel(t.Context(), old.Channel.ID); err != nil {
			t.Errorf("forgot a channel before its time: %v", err)
		}
		l.opt.Now = func() time.Time { return time.Now().Add(2 * time.Hour) }
		if err := l.Forget(t.Context(), time.Hour); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[string]beeos.Code{old.Channel.ID: beeos.NotFound, conversation.ID: beeos.NotFound, open1.Channel.ID: ""} {
			_, err := l.Channel(t.Context(), id)
			if got := beeos.CodeOf(err); (err != nil) != (want != "") || err != nil && got != want {
				t.Errorf("channel %s: %v; want %q", id, err, want)
			}
		}
		if ms, _ := l.Messages(t.Context(), old.Channel.ID, 0, 10); len(ms) != 0 {
			t.Errorf("messages outlived their channel: %d", len(ms))
		}
	})
}

// One operation that the database refuses does not take its neighbours in the
// batch down with it.
func TestBadOperationFailsAlone(t *testing.T) {
	engines(t, func(t *testing.T, open func(Options) *Ledger) {
		l := open(Options{})
		var wg sync.WaitGroup
		var bad atomic.Int64
		for i := range 60 {
			wg.Go(func() {
				if i%10 == 0 {
					if err := l.runInWriter(context.Background(), func(ctx context.Context, b *batch) error { return b.w.exec(ctx, `DELETE FROM nowhere`) }); err != nil {
						bad.Add(1)
					}
					return
				}
				o := request("agent_a")
				if rand.IntN(2) == 0 {
					o.Delivery = nil
				}
				if _, _, err := l.BeginRequest(context.Background(), o); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if bad.Load() != 6 {
			t.Errorf("%d of 6 bad operations failed", bad.Load())
		}
	})
}

func TestClosedLedgerRefusesAtOnce(t *testing.T) {
	engines(t, func(t *testing.T, open func(Options) *Ledger) {
		l := open(Options{})
		var wg sync.WaitGroup
		for range 50 { // some before, some during, some after
			wg.Go(func() {
				for {
					if _, _, err := l.BeginRequest(context.Background(), request("agent_a")); err != nil {
						if beeos.CodeOf(err) != beeos.AgentServiceUnavailable {
							t.Error(err)
						}
						return
					}
				}
			})
		}
		l.Close()
		wg.Wait()
	})
}
