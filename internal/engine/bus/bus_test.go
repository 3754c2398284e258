package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/test/ports"
)

func open(t testing.TB, opt Options) *Bus {
	t.Helper()
	b, err := Open(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// pairs runs a test on two nodes that are meshed, and on two nodes that share
// an external NATS.
func pairs(t *testing.T, test func(t *testing.T, a, b *Bus)) {
	t.Run("mesh", func(t *testing.T) {
		a := open(t, Options{Cluster: "127.0.0.1:0", Secret: "s"})
		b := open(t, Options{Cluster: "127.0.0.1:0", Secret: "s", Routes: []string{a.RouteURL()}})
		eventually(t, "the nodes mesh", func() bool { return a.Peers() > 0 && b.Peers() > 0 })
		hears(t, a, b)
		hears(t, b, a)
		test(t, a, b)
	})
	t.Run("external", func(t *testing.T) {
		srv := startNATS(t)
		test(t, open(t, Options{URL: srv.ClientURL()}), open(t, Options{URL: srv.ClientURL()}))
	})
}

// startNATS starts a NATS server of its own, which ends with the test.
func startNATS(t *testing.T) *server.Server {
	t.Helper()
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(srv.Shutdown)
	if !srv.ReadyForConnections(5 * time.Second) {
		t.Fatal("NATS did not start")
	}
	return srv
}

// hears waits until what one node sends arrives at the other.
func hears(t *testing.T, from, to *Bus) {
	t.Helper()
	arrived := make(chan struct{}, 1)
	defer to.OnControl(func(Control) {
		select {
		case arrived <- struct{}{}:
		default:
		}
	})()
	eventually(t, "interest has travelled", func() bool {
		from.Control(Control{Kind: "probe"})
		return len(arrived) > 0
	})
}

// eventually polls: interest travels between nodes in its own time, and the
// bus has no event that says it has arrived.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("timed out: %s", what)
		}
		<-tick.C
	}
}

func TestDispatchReachesTheNodeThatServes(t *testing.T) {
	pairs(t, func(t *testing.T, a, b *Bus) {
		ctx := t.Context()
		if b.Present(ctx, "agent_x") {
			t.Fatal("present before anybody serves")
		}
		if err := b.Deliver(ctx, Dispatch{AgentID: "agent_x"}); !errors.Is(err, ErrNobody) {
			t.Fatalf("Deliver to nobody: %v", err)
		}
		got := make(chan Dispatch, 1)
		stop, err := a.Serve("agent_x", func(d Dispatch) bool { got <- d; return true })
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "b sees the agent on a", func() bool { return b.Present(ctx, "agent_x") })
		want := Dispatch{AgentID: "agent_x", MessageID: "m", Channel: "c", Attempt: 2, Frame: []byte(`{"type":"chat_message"}`)}
		if err := b.Deliver(ctx, want); err != nil {
			t.Fatal(err)
		}
		if d := <-got; d.MessageID != "m" || d.Attempt != 2 || string(d.Frame) != string(want.Frame) {
			t.Errorf("dispatch changed on the way: %+v", d)
		}
		stop()
		eventually(t, "b sees it gone", func() bool { return !b.Present(ctx, "agent_x") })
	})
}

func TestWhoTookADispatchIsKnown(t *testing.T) {
	pairs(t, func(t *testing.T, a, b *Bus) {
		taken := ""
		d := Dispatch{AgentID: "agent_x", Taken: func(node string) { taken = node }}
		stop, err := b.Serve("agent_x", func(Dispatch) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "it is delivered", func() bool { return a.Deliver(t.Context(), d) == nil })
		if taken != b.Node() {
			t.Errorf("taken by %q", taken)
		}
		stop()
		taken = ""
		if _, err := a.Serve("agent_x", func(Dispatch) bool { return true }); err != nil {
			t.Fatal(err)
		}
		if err := a.Deliver(t.Context(), d); err != nil || taken != "" {
			t.Errorf("taken here, by %q, %v", taken, err)
		}
		if a.HasLeft(t.Context(), b.Node()) || !a.HasLeft(t.Context(), "nobody") {
			t.Error("who is there is not known")
		}
		b.nc.Close()
		eventually(t, "it has left", func() bool { return a.HasLeft(t.Context(), b.Node()) })
	})
}

func TestLargeDispatchIsLoadedWhereItArrives(t *testing.T) {
	pairs(t, func(t *testing.T, a, b *Bus) {
		got := make(chan Dispatch, 1)
		stop, err := a.Serve("agent_x", func(d Dispatch) bool { got <- d; return true })
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		eventually(t, "b sees the agent on a", func() bool { return b.Present(t.Context(), "agent_x") })
		a.LoadFrames(func(d Dispatch) (json.RawMessage, error) {
			if d.Channel != "c" || d.Offset != 7 {
				return nil, errors.New("asked for something else")
			}
			return json.RawMessage(`"loaded"`), nil
		})
		large := json.RawMessage(`"` + strings.Repeat("x", int(b.nc.MaxPayload())) + `"`)
		if err := b.Deliver(t.Context(), Dispatch{AgentID: "agent_x", Channel: "c", Offset: 7, Frame: large}); err != nil {
			t.Fatal(err)
		}
		if d := <-got; string(d.Frame) != `"loaded"` {
			t.Errorf("frame %.40s", d.Frame)
		}
		if err := b.Deliver(t.Context(), Dispatch{AgentID: "agent_x", Channel: "other", Frame: large}); !errors.Is(err, ErrNobody) {
			t.Errorf("a frame that cannot be loaded: %v", err)
		}
	})
}

func TestRefusedDispatchIsNobody(t *testing.T) {
	pairs(t, func(t *testing.T, a, b *Bus) {
		stop, err := a.Serve("agent_x", func(Dispatch) bool { return false })
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		eventually(t, "b sees the agent", func() bool { return b.Present(t.Context(), "agent_x") })
		for _, n := range []*Bus{a, b} {
			if err := n.Deliver(t.Context(), Dispatch{AgentID: "agent_x"}); !errors.Is(err, ErrNobody) {
				t.Errorf("Deliver = %v; want ErrNobody", err)
			}
		}
	})
}

func TestEventsReachEveryWatcherOnce(t *testing.T) {
	pairs(t, func(t *testing.T, a, b *Bus) {
		var mu sync.Mutex
		seen := map[string]int{}
		count := func(name string) func(beeos.Event) {
			return func(ev beeos.Event) {
				mu.Lock()
				defer mu.Unlock()
				seen[name+" "+ev.Text]++
			}
		}
		defer a.Watch("ch-1", count("a"))()
		stopB1 := b.Watch("ch-1", count("b1"))
		defer b.Watch("ch-1", count("b2"))()
		defer b.Watch("ch-2", count("other"))()
		has := func(key string) bool { mu.Lock(); defer mu.Unlock(); return seen[key] > 0 }
		eventually(t, "interest has travelled", func() bool {
			a.Publish(beeos.Event{Channel: "ch-1", Text: "probe"})
			return has("b1 probe") && has("b2 probe")
		})
		a.Publish(beeos.Event{Channel: "ch-1", Text: "once"})
		eventually(t, "all have it", func() bool { return has("a once") && has("b1 once") && has("b2 once") })
		stopB1() // held the node's subscription: it passes on
		a.Publish(beeos.Event{Channel: "ch-1", Text: "after"})
		eventually(t, "b2 still watches", func() bool { return has("b2 after") })
		mu.Lock()
		defer mu.Unlock()
		for _, key := range []string{"a once", "b1 once", "b2 once", "b2 after"} {
			if seen[key] != 1 {
				t.Errorf("%q was seen %d times", key, seen[key])
			}
		}
		if seen["b1 after"] != 0 || seen["other once"] != 0 {
			t.Errorf("an event reached somebody it was not for: %v", seen)
		}
	})
}

func TestNoticesAndControlReachAllNodesOnce(t *testing.T) {
	pairs(t, func(t *testing.T, a, b *Bus) {
		got := make(chan string, 16)
		for name, n := range map[string]*Bus{"a": a, "b": b} {
			defer n.OnNotice(func(x Notice) { got <- fmt.Sprint(name, " notice ", x.Turn, x.Message != nil) })()
			defer n.OnControl(func(c Control) {
				if c.Kind == KeyRevoked {
					got <- fmt.Sprint(name, " control ", c.ID)
				}
			})()
		}
		before := b.Stats()
		a.Notify([]Notice{{Channel: "c", Turn: "t", Terminal: true, Message: &beeos.Message{}}})
		a.Control(Control{Kind: KeyRevoked, ID: "k"})
		want := map[string]bool{"a notice ttrue": true, "b notice tfalse": true, "a control k": true, "b control k": true}
		for range 4 {
			x := <-got
			if !want[x] {
				t.Errorf("unexpected or twice: %s", x)
			}
			delete(want, x)
		}
		if s := b.Stats(); !s.Connected || s.Pending != 0 || s.SlowConsumers != 0 || s.In < before.In+2 || a.Stats().Out < 2 {
			t.Errorf("%+v, %+v", s, a.Stats())
		}
		b.nc.Opts.AsyncErrorCB(b.nc, nil, nats.ErrSlowConsumer)
		b.nc.Opts.AsyncErrorCB(b.nc, nil, nats.ErrBadSubject)
		if s := b.Stats(); s.SlowConsumers != 1 {
			t.Errorf("%+v", s)
		}
	})
}

func TestSnapshotFindsTheNodeThatHoldsTheTurn(t *testing.T) {
	pairs(t, func(t *testing.T, a, b *Bus) {
		a.ServeSnapshots(func(turn string) (beeos.Event, bool) { return beeos.Event{Text: "so far", Seq: 7}, turn == "t1" })
		b.ServeSnapshots(func(string) (beeos.Event, bool) { return beeos.Event{}, false })
		var ev beeos.Event
		eventually(t, "the node answers in time", func() (ok bool) {
			ev, ok = b.Snapshot(t.Context(), "t1")
			return ok
		})
		if ev.Text != "so far" || ev.Seq != 7 {
			t.Errorf("Snapshot = %q, %d", ev.Text, ev.Seq)
		}
		if _, ok := b.Snapshot(t.Context(), "t2"); ok {
			t.Error("a turn that nobody holds has a snapshot")
		}
	})
}

func TestMeshRefusesStrangers(t *testing.T) {
	a := open(t, Options{Cluster: "127.0.0.1:0", Secret: "s"})
	friend := open(t, Options{Cluster: "127.0.0.1:0", Secret: "s", Routes: []string{a.RouteURL()}})
	stranger := open(t, Options{Cluster: "127.0.0.1:0", Secret: "wrong", Routes: []string{a.RouteURL()}})
	eventually(t, "the friend is in", func() bool { return friend.Peers() > 0 })
	if stranger.Peers() != 0 {
		t.Error("a node without the secret joined the mesh")
	}
}

func TestLoneNodeNeedsNoNATS(t *testing.T) {
	b := open(t, Options{})
	stop, err := b.Serve("agent_x", func(Dispatch) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if err := b.Deliver(t.Context(), Dispatch{AgentID: "agent_x"}); err != nil {
		t.Fatal(err)
	}
	if sent := b.nc.Stats().OutMsgs; sent != 0 {
		t.Errorf("a lone node published %d messages to itself", sent)
	}
}

func TestUnreachableNATSSaysWhatToDo(t *testing.T) {
	_, err := Open(t.Context(), Options{URL: "nats://127.0.0.1:1"})
	if err == nil {
		t.Fatal("connected to nothing")
	}
}

func TestWaitsForNATSThatStartsWithIt(t *testing.T) {
	port := ports.Number(t)
	opened := make(chan error, 1)
	go func() {
		b, err := Open(context.Background(), Options{URL: fmt.Sprint("nats://127.0.0.1:", port), Wait: 30 * time.Second})
		if err == nil {
			b.Close()
		}
		opened <- err
	}()
	select {
	case err := <-opened:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(3 * dialAgain):
	}
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(srv.Shutdown)
	if err := <-opened; err != nil {
		t.Error(err)
	}
}
