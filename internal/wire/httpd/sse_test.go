package httpd

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestSSEEvent(t *testing.T) {
	tests := []struct{ name, id, data, want string }{
		{"", "", "hello", "data: hello\n\n"},
		{"", "", "", "data: \n\n"},
		{"message", "7", `{"a":1}`, "event: message\nid: 7\ndata: {\"a\":1}\n\n"},
		{"", "", "a\nb\r\nc\rd", "data: a\ndata: b\ndata: c\ndata: d\n\n"},
		{"", "", "a\n", "data: a\ndata: \n\n"},
		{"x\nid: 9", "1\r\n\x002", "d", "event: xid: 9\nid: 12\ndata: d\n\n"},
		{"", "", strings.Repeat("x", 2*sseBuffer), "data: " + strings.Repeat("x", 2*sseBuffer) + "\n\n"},
	}
	for _, tt := range tests {
		w := httptest.NewRecorder()
		s := NewSSE(w)
		for range 2 {
			if err := s.Event(tt.name, tt.id, []byte(tt.data)); err != nil {
				t.Fatal(err)
			}
		}
		s.Close()
		if got := w.Body.String(); got != tt.want+tt.want {
			t.Errorf("Event(%q, %q, %.20q) wrote %.80q, want %.80q twice", tt.name, tt.id, tt.data, got, tt.want)
		}
	}
}

func TestSSEPrime(t *testing.T) {
	w := httptest.NewRecorder()
	s := NewSSE(w)
	if err := s.Prime("a\nb", 1500*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if got, want := w.Body.String(), "id: ab\nretry: 1500\ndata: \n\n"; got != want {
		t.Errorf("Prime wrote %q, want %q", got, want)
	}
}

func TestSSEHeaders(t *testing.T) {
	w := httptest.NewRecorder()
	NewSSE(w).Close()
	want := map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no",
	}
	for name, value := range want {
		if got := w.Header().Get(name); got != value {
			t.Errorf("%s: %q, want %q", name, got, value)
		}
	}
	if w.Code != 200 || !w.Flushed {
		t.Errorf("status %d, flushed %v", w.Code, w.Flushed)
	}
}

func TestSSEClosed(t *testing.T) {
	w := httptest.NewRecorder()
	s := NewSSE(w)
	s.Close()
	s.Close()
	if s.Event("", "", nil) == nil || s.Comment() == nil || w.Body.Len() != 0 {
		t.Errorf("a closed stream wrote %q", w.Body)
	}
}

func TestSSEKeepAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := httptest.NewRecorder()
		s := NewSSE(w)
		s.KeepAlive(15 * time.Second)
		body := func() string {
			s.mu.Lock()
			defer s.mu.Unlock()
			return w.Body.String()
		}
		time.Sleep(10 * time.Second)
		s.Event("", "", []byte("x")) // puts the comment off to second 25
		time.Sleep(14 * time.Second)
		synctest.Wait()
		if got := body(); got != "data: x\n\n" {
			t.Errorf("after 24 s: %q", got)
		}
		time.Sleep(17 * time.Second)
		synctest.Wait()
		if got := body(); got != "data: x\n\n:\n\n:\n\n" {
			t.Errorf("after 41 s: %q", got)
		}
		s.Close()
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := strings.Count(body(), ":\n\n"); got != 2 {
			t.Errorf("%d comments after Close", got)
		}
	})
}

type brokenWriter struct{ *httptest.ResponseRecorder }

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestSSEStopsAtTheFirstError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSSE(brokenWriter{httptest.NewRecorder()})
		s.KeepAlive(time.Second)
		time.Sleep(2 * time.Second) // the keep-alive meets the error, and stops
		synctest.Wait()
		for range 2 {
			if err := s.Event("", "", nil); !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("err %v", err)
			}
		}
		s.Close()
	})
}

// unreadWriter takes what fits into its buffer and fails to send it on.
type unreadWriter struct{ *httptest.ResponseRecorder }

func (unreadWriter) FlushError() error { return os.ErrDeadlineExceeded }

// TestReaderIsDroppedAtTheFlush: small events fail when they are flushed, not
// when they are written, and the stream knows that it gave up on its reader.
func TestReaderIsDroppedAtTheFlush(t *testing.T) {
	h := &Handler{Next: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s := NewSSE(w)
		defer s.Close()
		if err := s.Event("", "", []byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) || !s.Dropped() {
			t.Errorf("%v, dropped %v", err, s.Dropped())
		}
	})}
	h.ServeHTTP(unreadWriter{httptest.NewRecorder()}, httptest.NewRequest("GET", "/", nil))
}

// Over a real connection: events arrive one by one, the keep-alive may run
// beside them, and the connection serves another request afterwards.
func TestSSEOnAConnection(t *testing.T) {
	next := make(chan struct{})
	srv := httptest.NewServer(&Handler{Next: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := NewSSE(w)
		defer s.Close()
		s.KeepAlive(time.Millisecond)
		for _, text := range []string{"one", "two"} {
			if err := s.Event("", "", []byte(text)); err != nil {
				t.Error(err)
			}
			<-next
		}
	})})
	defer srv.Close()
	for range 2 {
		res, err := http.Get(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		lines := bufio.NewScanner(res.Body)
		for lines.Scan() {
			if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				got = append(got, text)
				next <- struct{}{}
			}
		}
		res.Body.Close()
		if strings.Join(got, " ") != "one two" {
			t.Errorf("got %q", got)
		}
	}
}

func BenchmarkSSEEvent(b *testing.B) {
	s := NewSSE(flushWriter{discardWriter{http.Header{}}})
	data := []byte(request)
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Event("message", "42", data); err != nil {
			b.Fatal(err)
		}
	}
}

type flushWriter struct{ discardWriter }

func (flushWriter) Flush() {}
