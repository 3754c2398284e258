package wire

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAccept(t *testing.T) {
	tests := []struct {
		accept        []string
		json, streams bool
	}{
		{nil, true, false},
		{[]string{"*/*"}, true, false},
		{[]string{""}, true, false},
		{[]string{"application/json"}, true, false},
		{[]string{"application/json, text/event-stream"}, true, true},
		{[]string{"TEXT/EVENT-STREAM;q=0.5 ,Application/*"}, true, true},
		{[]string{"application/json", "text/event-stream"}, true, true},
		{[]string{"text/event-stream"}, false, true},
		{[]string{"text/html"}, false, false},
	}
	for _, tt := range tests {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header["Accept"] = tt.accept
		if o := NewResponder(httptest.NewRecorder(), r); o.AcceptsJSON != tt.json || o.AcceptsStream != tt.streams {
			t.Errorf("%q: json %v, streams %v", tt.accept, o.AcceptsJSON, o.AcceptsStream)
		}
	}
}

// TestSilentCall: a call that says nothing becomes a stream before a proxy
// loses patience, and ends as one; without streams it stays JSON.
func TestSilentCall(t *testing.T) {
	for accept, want := range map[string]string{
		"application/json, text/event-stream": ":\n\n:\n\nevent: message\ndata: {}\n\n",
		"application/json":                    "{}",
	} {
		synctest.Test(t, func(t *testing.T) {
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodPost, "/", nil)
			r.Header.Set("Accept", accept)
			o := NewResponder(w, r)
			o.KeepAlive()
			time.Sleep(2*KeepAliveEvery + time.Second)
			synctest.Wait()
			o.SendAnswer(http.StatusOK, nil, []byte("{}"), nil)
			o.Close()
			time.Sleep(2 * KeepAliveEvery)
			if got := w.Body.String(); got != want {
				t.Errorf("%s: %q", accept, got)
			}
		})
	}
}

// TestQuickCall: the timer of a call that ended does nothing.
func TestQuickCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header.Set("Accept", "application/json, text/event-stream")
		o := NewResponder(w, r)
		o.KeepAlive()
		o.SendAnswer(http.StatusOK, nil, []byte("{}"), nil)
		o.Close()
		time.Sleep(2 * KeepAliveEvery)
		if got := w.Body.String(); got != "{}" || !strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") {
			t.Errorf("%q", got)
		}
	})
}
