package ledger

import (
	"context"
	"testing"
)

// TestTimeRunsOutInTheMiddle: a batch that is cut off between BEGIN and COMMIT
// leaves nothing behind that the next one could stumble over.
func TestTimeRunsOutInTheMiddle(t *testing.T) {
	engines(t, func(t *testing.T, open func(Options) *Ledger) {
		w := newWriter(open(Options{}))
		if err := w.connect(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { w.conn.Close() })
		var unsure *batch
		ctx, cancel := context.WithCancel(t.Context())
		late := &op{do: func(ctx context.Context, _ *batch) error { cancel(); return ctx.Err() }}
		refused, taken := request("agent_a"), request("agent_a")
		if _, err := w.attempt(ctx, []*op{{opening: refused}, late}, &unsure); err == nil {
			t.Fatal("it was in time, so nothing was tested")
		}
		if _, err := w.attempt(t.Context(), []*op{{opening: taken}}, &unsure); err != nil {
			t.Fatalf("the batch after it: %v", err)
		}
		for o, want := range map[*Opening]int{refused: 0, taken: 1} {
			if got, err := w.l.Messages(t.Context(), o.Channel.ID, 0, 10); err != nil || len(got) != want {
				t.Errorf("stored %+v, %v; want %d", got, err, want)
			}
		}
	})
}
