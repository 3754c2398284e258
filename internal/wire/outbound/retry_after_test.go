package outbound

import (
	"net/http"
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"2": 2 * time.Second, "0.5": 500 * time.Millisecond, "-3": 0, "1e30": 1e9 * time.Second,
		now.Add(time.Minute).Format(http.TimeFormat): time.Minute, now.Add(-time.Minute).Format(http.TimeFormat): 0,
	} {
		if got, ok := RetryAfter(http.Header{"Retry-After": {text}}, now); !ok || got != want {
			t.Errorf("%q: %v, %v; want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "soon", "NaN"} {
		if got, ok := RetryAfter(http.Header{"Retry-After": {text}}, now); ok {
			t.Errorf("%q: %v", text, got)
		}
	}
}
