package llm

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/beeos/beeos/internal/wire/outbound"
)

const (
	mostTries   = 4
	longestWait = 30 * time.Second // that a service may ask us to wait
)

// retryTransport sends a request again when the service is busy or failing: what it
// asks for in Retry-After, otherwise half a second and then twice as long each
// time. A stream that has begun is never begun again here.
type retryTransport struct {
	base http.RoundTripper
	wait func(context.Context, time.Duration) error
}

func (p *retryTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	pause := 500 * time.Millisecond
	for try := 1; ; try++ {
		resp, err := p.base.RoundTrip(req)
		if err != nil || try == mostTries || !isBusy(resp.StatusCode) || req.GetBody == nil {
			return resp, err
		}
		asked, told := outbound.RetryAfter(resp.Header, time.Now())
		if !told {
			asked = pause
		}
		if asked > longestWait {
			return resp, nil // who waits should be told instead
		}
		_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // for the connection's sake
		resp.Body.Close()
		if err := p.wait(req.Context(), asked); err != nil {
			return nil, err
		}
		pause *= 2
		req = req.Clone(req.Context())
		if req.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
	}
}

func isBusy(status int) bool {
	return status == http.StatusTooManyRequests || status >= 500 && status != http.StatusNotImplemented
}
