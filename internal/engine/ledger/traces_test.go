package ledger

import (
	"sync"
	"testing"
	"time"

	"github.com/beeos/beeos"
)

const someTrace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01 node-1 00f067aa0ba902b7 dd=s:1;c1 77;t.dm:-4"

// TestTraceOutlivesTheDelivery: the trace of a request is there for whoever hands
// it out again, and stays with the reply. Whoever stores that tells of it once.
func TestTraceOutlivesTheDelivery(t *testing.T) {
	engines(t, func(t *testing.T, open func(Options) *Ledger) {
		var mu sync.Mutex
		var told []*Ended
		l := open(Options{Ended: func(list []Ended) {
			mu.Lock()
			defer mu.Unlock()
			for i := range list {
				if list[i].Trace != "" {
					told = append(told, &list[i])
				}
			}
		}})
		expect := func(turn, want string) {
			t.Helper()
			if got, err := l.Trace(t.Context(), turn); err != nil || got != want {
				t.Errorf("trace of %s: %q, %v; want %q", turn, got, err, want)
			}
		}
		plain := request("agent_a")
		begin(t, l, plain)
		o := request("agent_a")
		o.Delivery.Trace, o.Surface, o.Tool = someTrace, "mcp", "add"
		begin(t, l, o)
		expect(plain.Message.ID, "")
		expect(o.Message.ID, someTrace)
		expect("nobody", "")

		lost := Attempt{Why: beeos.InstanceGone, Node: "node-1", Instance: "inst-1"}
		if err := l.ReleaseLeases(t.Context(), []Lease{{o.Message.ID, 1}}, lost); err != nil {
			t.Fatal(err)
		}
		claimed, err := l.ClaimDeliveries(t.Context(), "agent_a", time.Now().Add(time.Minute), 10)
		if err != nil || len(claimed) != 1 || claimed[0].Trace != someTrace {
			t.Fatalf("%+v, %v", claimed, err)
		}
		by := &Attempt{Number: 2, Node: "node-2", Instance: "inst-2", Given: time.Now(), Steps: []byte(`[{"name":"s"}]`)}
		for i := range 2 { // the second is too late
			if _, err := l.FinishAttempt(t.Context(), reply(o, "done"), by); (err == nil) != (i == 0) {
				t.Fatal(err)
			}
		}
		if _, err := l.Finish(t.Context(), reply(plain, "done")); err != nil {
			t.Fatal(err)
		}
		expect(o.Message.ID, someTrace)
		expect(plain.Message.ID, "")

		busy := request("agent_b")
		busy.Delivery.Mode, busy.Delivery.Lane = beeos.DeliverBusyReject, "agent_b"
		begin(t, l, busy)
		second := request("agent_b")
		second.Delivery.Mode, second.Delivery.Lane, second.Delivery.Trace = beeos.DeliverBusyReject, "agent_b", someTrace
		if _, answer, err := l.BeginRequest(t.Context(), second); err != nil || answer == nil {
			t.Fatal(answer, err)
		}
		r, err := l.FindRequest(t.Context(), o.Message.ID)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := l.Attempts(t.Context(), &r); err != nil || len(again) != 2 {
			t.Errorf("what a trace says is taken for an attempt: %+v, %v", again, err)
		}
		l.Close() // what is told last has been told then
		if len(told) != 2 || told[0].Turn != o.Message.ID || told[1].Turn != second.Message.ID || told[1].Reply.Type != beeos.AgentBusy {
			t.Fatalf("told of %d: %+v", len(told), told)
		}
		e := told[0]
		tries := e.Attempts()
		if e.Trace != someTrace || e.Route.Tool != "add" || string(e.Steps) != `[{"name":"s"}]` || e.Reply.Body != "done" || e.Began.IsZero() {
			t.Errorf("%+v", e)
		}
		if len(tries) != 2 || tries[0].Why != beeos.InstanceGone || tries[0].Instance != "inst-1" || tries[1].Instance != "inst-2" || tries[1].Node != "node-2" {
			t.Errorf("%+v", tries)
		}
	})
}
