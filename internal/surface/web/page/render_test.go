package page

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestErrorPageSaysWhatIsWrong: an address without a page gets the error page,
// with the address made safe to show.
func TestErrorPageSaysWhatIsWrong(t *testing.T) {
	s, err := New(Options{PublicURL: "http://console.example", Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/no%3Cb%3E", nil))
	if body := w.Body.String(); w.Code != http.StatusNotFound || !strings.Contains(body, "Nothing here") || !strings.Contains(body, "There is no page /no&lt;b&gt;.") {
		t.Errorf("%d %s", w.Code, body)
	}
}
