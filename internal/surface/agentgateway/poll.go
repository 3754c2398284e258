package agentgateway

import (
	"context"
	"net/http"
	"time"

	"github.com/beeos/beeos"
)

const (
	pollWait    = 30 * time.Second
	maxPollWait = 60 * time.Second
	pollIdle    = 45 * time.Second // without a poll, a connection is dead
)

// poller is the long-poll transport of a connection: it lives from one poll to
// the next.
type poller struct {
	news signal
	busy chan struct{} // holds a value while a poll is waiting
	over chan struct{} // closed when the connection is
}

func startPolling(c *connection) {
	p := &poller{news: newSignal(), busy: make(chan struct{}, 1), over: make(chan struct{})}
	c.poll, c.wake, c.shut = p, p.news.wake, func(string) { close(p.over) }
}

// poll answers with the frames that are there, or come while it waits, one per
// line; 204 when none came. The first poll opens the connection and gets its
// id in a hello frame; a connection that is unknown is opened anew.
func (g *Gateway) poll(w http.ResponseWriter, r *http.Request) error {
	inst, err := g.Auth.Instance(r, nil)
	if err != nil {
		return err
	}
	wait, err := pollTime(r)
	if err != nil {
		return err
	}
	c := g.registry.connection(r.URL.Query().Get("connection"), inst.ID)
	if c == nil || c.poll == nil {
		if c, err = g.open(r, inst, startPolling); err != nil {
			return err
		}
	}
	select {
	case c.poll.busy <- struct{}{}:
	default:
		return beeos.Errorf(beeos.Conflict, "another poll waits on this connection; one at a time")
	}
	defer func() { <-c.poll.busy }()
	c.setPolled(time.Time{})
	defer func() { c.setPolled(g.Now()) }()

	out := c.await(r.Context(), wait)
	if out == nil {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	_, err = w.Write(out)
	if err == nil {
		err = http.NewResponseController(w).Flush()
	}
	if err != nil {
		c.putBack(out) // for the next poll
		return nil
	}
	putBuffer(out)
	return nil
}

// await returns frames as soon as there are any.
func (c *connection) await(ctx context.Context, wait time.Duration) []byte {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		if out := c.take(); out != nil {
			return out
		}
		select {
		case <-c.poll.news:
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return nil
		case <-c.poll.over:
			return nil
		}
	}
}

func pollTime(r *http.Request) (time.Duration, error) {
	given := r.URL.Query().Get("wait")
	if given == "" {
		return pollWait, nil
	}
	wait, err := time.ParseDuration(given)
	if err != nil || wait < 0 || wait > maxPollWait {
		return 0, beeos.Errorf(beeos.InvalidParam, "wait must be a time like 30s, at most %s", maxPollWait)
	}
	return wait, nil
}

func (c *connection) setPolled(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.polled = at
}

// dropIdlePolls closes the connections of agents that stopped polling.
func (g *Gateway) dropIdlePolls(now time.Time) {
	for _, c := range g.registry.all() {
		if c.poll == nil {
			continue
		}
		c.mu.Lock()
		dead := !c.polled.IsZero() && now.Sub(c.polled) > pollIdle
		c.mu.Unlock()
		if dead {
			c.end("nobody polls")
		}
	}
}
