package courier

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/beeos/beeos/internal/wire/outbound"
)

const maxAnswer = 64 << 10 // of a receiver's answer

// Reach is where receivers may be that somebody else has named.
func Reach(allowPrivate bool, resolver *net.Resolver) outbound.Options {
	return outbound.Options{
		AllowPrivate: allowPrivate, Ports: []uint16{80, 443, 8080, 8443}, Resolver: resolver,
		Timeout: AttemptWithin, MaxBody: maxAnswer,
	}
}

// Post sends a request to a receiver and judges the answer by its status. What a
// failure says tells nothing about our network.
func Post(client *http.Client, req *http.Request, now time.Time) Outcome {
	resp, err := client.Do(req)
	if err != nil {
		return Outcome{Err: fmt.Errorf("%s", PublicReason(err))} // the whole error would tell about our network
	}
	defer resp.Body.Close()
	// What it says does not matter; a short answer is read so that the
	// connection can be used again.
	io.Copy(io.Discard, resp.Body) //nolint:errcheck // the status has come
	switch code := resp.StatusCode; {
	case code >= 200 && code < 300:
		return Outcome{Response: code}
	case code >= 300 && code < 400:
		return Outcome{Response: code, Err: fmt.Errorf("the receiver answered %d; redirects are not followed, register the address that it names", code)}
	default:
		wait, _ := outbound.RetryAfter(resp.Header, now)
		return Outcome{Response: code, Wait: wait, Err: fmt.Errorf("the receiver answered %d", code)}
	}
}
