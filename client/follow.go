package client

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"strconv"
	"time"

	"github.com/beeos/beeos"
)

// Update is one event of a task or a conversation: a stored message, or a
// piece of a reply that is being written.
type Update struct {
	Message beeos.Message

	// Delta says that Message.Body is a piece of the reply to
	// Message.InReplyTo, with SoFar all of it so far, which replaces the
	// pieces before.
	Delta bool
	SoFar bool
}

// followEvents waits this long before it comes back, from the first to the last time.
const (
	returnFirst = 100 * time.Millisecond
	returnLast  = 5 * time.Second
)

// followEvents reads an event stream to its end, over as many connections as it
// takes. Each begins after the last event of the one before.
func (c *Client) followEvents(ctx context.Context, path string, since int64) iter.Seq2[Update, error] {
	return func(yield func(Update, error) bool) {
		pause := returnFirst
		for {
			resp, err := c.send(ctx, http.MethodGet, path+"?since="+strconv.FormatInt(since, 10), "text/event-stream", nil)
			if err != nil && !mayPass(err) {
				yield(Update{}, err)
				return
			}
			if err == nil {
				more, seen := readUpdates(resp.Body, since, func(u Update) bool { return yield(u, nil) })
				resp.Body.Close()
				if !more {
					return
				}
				if seen > since {
					since, pause = seen, returnFirst
				}
			}
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				yield(Update{}, ctx.Err())
				return
			}
			pause = min(2*pause, returnLast)
		}
	}
}

// mayPass reports whether an error may be gone at the next try.
func mayPass(err error) bool {
	if _, ok := err.(*UnreachableError); ok {
		return true
	}
	code := beeos.CodeOf(err)
	return code == beeos.AgentServiceUnavailable || code == beeos.RateLimited
}

// readUpdates reads one connection. more is false after the end that the
// server announced, or when the reader has had enough; seen is the last offset.
func readUpdates(r io.Reader, since int64, yield func(Update) bool) (more bool, seen int64) {
	seen = since
	for ev, err := range readEvents(r) {
		switch {
		case err != nil:
			return true, seen
		case ev.name == "message":
			u, err := readUpdate(ev.data)
			if err != nil {
				continue // a newer server may say more than we know
			}
			seen = u.Message.Offset
			if !yield(u) {
				return false, seen
			}
		case ev.name == "end":
			var end struct{ Reason string }
			err := json.Unmarshal(ev.data, &end)
			return err != nil || end.Reason == "stream_closed", seen
		}
	}
	return true, seen
}

func readUpdate(data []byte) (u Update, err error) {
	if err := json.Unmarshal(data, &u.Message); err != nil {
		return u, err
	}
	if u.Message.Type == beeos.AgentReplyDelta {
		u.Delta = true
		var about struct {
			SoFar bool `json:"so_far"`
		}
		u.SoFar = json.Unmarshal(u.Message.Payload, &about) == nil && about.SoFar
	}
	return u, nil
}
