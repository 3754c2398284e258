package outbound

import (
	"errors"
	"io"
	"net/http"
	"testing"
)

// TestSmallEventsAreBounded: a stream of them ends long before its size would
// end it.
func TestSmallEventsAreBounded(t *testing.T) {
	t.Parallel() // it takes its time, by itself
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 1_000_000 {
			if _, err := io.WriteString(w, "data: {}\n\n"); err != nil {
				return
			}
		}
	})
	got, err := get(t, Client(Options{AllowPrivate: true, MaxBody: 16 << 20}), s.URL, "Accept", "text/event-stream")
	if events := len(got) / len("data: {}\n\n"); !errors.Is(err, ErrTooLarge) || events < maxEvents-1 || events > maxEvents+1 {
		t.Errorf("%d events, %v", events, err)
	}
}
