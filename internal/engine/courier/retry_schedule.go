package courier

import (
	"math/rand/v2"
	"time"
)

// retries is, unless somebody chose others, how long after each failed attempt the next one comes.
var retries = []time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 12 * time.Hour}

// maxRetryAfter bounds what a receiver may ask for with Retry-After.
const maxRetryAfter = 24 * time.Hour

// retryPause is how long to wait after so many failed tries; false: they are over.
// Receivers that failed together are not to be met together again, so it
// varies by a tenth.
func (c *Courier[R]) retryPause(tries int, asked time.Duration) (time.Duration, bool) {
	if tries > len(c.opt.Retries) {
		return 0, false
	}
	d := c.opt.Retries[max(tries, 1)-1]
	d += time.Duration((rand.Float64()*2 - 1) * float64(d) / 10)
	return max(d, min(asked, maxRetryAfter)), true
}
