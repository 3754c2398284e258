package page

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
)

// TestManyStreamsShareTheirLooks: what one person's live pages cost does not grow
// with their number, and nobody else waits for it.
func TestManyStreamsShareTheirLooks(t *testing.T) {
	s := &Server{Options: Options{Streams: auth.NewStreams()}}
	busy, calm := &Visitor{User: beeos.User{ID: "busy"}}, &Visitor{User: beeos.User{ID: "calm"}}
	open := 0
	for _, tt := range []struct {
		streams int
		least   time.Duration
	}{{0, time.Second}, {fastStreams - 1, time.Second}, {fastStreams, 2 * time.Second}, {80, 11 * time.Second}} {
		for ; open < tt.streams; open++ {
			st, _ := s.Streams.Open(t.Context(), busy.Caller(), nil)
			defer st.Close()
			if err := st.Follow(); err != nil {
				t.Fatal(err)
			}
		}
		if got := s.Pace(busy, time.Second); got != tt.least {
			t.Errorf("with %d streams open, %s pass between two looks, want %s", open, got, tt.least)
		}
	}
	if got := s.Pace(calm, time.Second); got != time.Second {
		t.Errorf("somebody else waits %s", got)
	}
}

// TestStreamLeavesWhenItsViewerDoes: nobody is woken for a browser that is gone.
func TestStreamLeavesWhenItsViewerDoes(t *testing.T) {
	s, err := New(Options{PublicURL: "http://console.example", Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.Handle("GET /x/live", Anyone, Live(func(*Request) (Answer, error) {
		cancel()
		return View{Page: "error"}, nil
	}))
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/x/live", nil))
	if !strings.Contains(w.Body.String(), "data: ") || len(s.streams.wakes) != 0 {
		t.Errorf("%d viewers are still counted after %s", len(s.streams.wakes), w.Body)
	}
}
