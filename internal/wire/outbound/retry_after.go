package outbound

import (
	"net/http"
	"strconv"
	"time"
)

// RetryAfter is what the header of that name asks for, in seconds or as a date; false
// = nothing that can be read.
func RetryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	text := h.Get("Retry-After")
	if n, err := strconv.ParseFloat(text, 32); err == nil && n == n { // which NaN is not
		return time.Duration(min(max(n, 0), 1e9) * float64(time.Second)), true
	}
	at, err := http.ParseTime(text)
	return max(0, at.Sub(now)), err == nil
}
