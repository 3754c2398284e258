package outbound

import (
	"bytes"
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// TestLongAnswersAreReadSlowly: a short one at once, a long one at the rate.
func TestLongAnswersAreReadSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for size, want := range map[int64]time.Duration{readAtOnce: 0, readAtOnce + 2*readRate: 2 * time.Second} {
			ctx, cancel := context.WithCancelCause(t.Context())
			b := &body{ReadCloser: io.NopCloser(bytes.NewReader(make([]byte, size))), ctx: ctx, cancel: cancel, idle: time.Minute, left: size, perEvent: size}
			begun := time.Now()
			if n, err := io.Copy(io.Discard, struct{ io.Reader }{b}); n != size || err != nil {
				t.Fatal(n, err)
			}
			b.Close()
			if took := time.Since(begun); took > want || took < want-10*time.Millisecond {
				t.Errorf("%d bytes took %s, want %s", size, took, want)
			}
		}
	})
}
