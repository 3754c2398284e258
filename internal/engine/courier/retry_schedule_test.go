package courier

import (
	"net/http"
	"testing"
	"time"

	"github.com/beeos/beeos/internal/wire/outbound"
)

func TestRetryAfter(t *testing.T) {
	c := New(Options[string]{})
	at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		value string
		tries int
		least time.Duration
		most  time.Duration
	}{
		{"7200", 1, 2 * time.Hour, 2 * time.Hour},
		{at.Add(3 * time.Hour).Format(http.TimeFormat), 1, 3 * time.Hour, 3 * time.Hour},
		{"999999999", 1, maxRetryAfter, maxRetryAfter},
		{"1", 1, 54 * time.Second, 66 * time.Second}, // not sooner than planned
		{"-5", 1, 54 * time.Second, 66 * time.Second},
		{"soon", 2, 270 * time.Second, 330 * time.Second},
		{"", 5, 648 * time.Minute, 792 * time.Minute},
	} {
		h := http.Header{"Retry-After": {tt.value}}
		asked, _ := outbound.RetryAfter(h, at)
		if d, again := c.retryPause(tt.tries, asked); !again || d < tt.least || d > tt.most {
			t.Errorf("%q after %d tries: %s", tt.value, tt.tries, d)
		}
	}
	if _, again := c.retryPause(6, time.Hour); again {
		t.Error("a seventh attempt")
	}
}
