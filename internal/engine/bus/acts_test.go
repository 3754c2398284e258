package bus

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
)

// TestActs: what one node sends, another does, once and however long the answer
// is; while nobody can, the sender hears so at once.
func TestActs(t *testing.T) {
	pairs(t, func(t *testing.T, a, b *Bus) {
		if _, err := a.Act(t.Context(), []byte("x")); !errors.Is(err, ErrNobody) {
			t.Errorf("nobody serves: %v", err)
		}
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() {
			served <- b.ServeActs(ctx, func(_ context.Context, data []byte) []byte {
				if string(data) == "not ours" {
					return nil
				}
				return bytes.Repeat(data, 3)
			})
		}()
		eventually(t, "the node serves", func() bool {
			_, err := a.Act(t.Context(), []byte("x"))
			return err == nil
		})
		var group sync.WaitGroup
		for _, text := range []string{"", "short", strings.Repeat("p", actPiece/3), strings.Repeat("long ", 120_000)} {
			group.Go(func() {
				answer, err := a.Act(t.Context(), []byte(text))
				if err != nil || string(answer) != strings.Repeat(text, 3) {
					t.Errorf("%.20q: %d bytes, %v", text, len(answer), err)
				}
			})
		}
		group.Wait()
		waiting, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := a.Act(waiting, []byte("not ours")); !errors.Is(err, context.Canceled) {
			t.Errorf("no answer: %v", err)
		}
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	alone := open(t, Options{})
	if _, err := alone.Act(t.Context(), nil); !errors.Is(err, ErrNobody) {
		t.Errorf("a node alone: %v", err)
	}
}
