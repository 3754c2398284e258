package agentgateway

import (
	"context"
	"net/http"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/agentgateway/link"
)

const (
	pollWait    = 30 * time.Second
	maxPollWait = 60 * time.Second
	pollIdle    = 45 * time.Second // without a poll, a connection is dead
)

// poller is the long-poll transport of a connection: it lives from one poll to
// the next.
type poller struct {
	news link.Signal
	busy chan struct{} // holds a value while a poll is waiting
	over chan struct{} // closed when the connection is
	idle *time.Timer   // ends the connection; stopped while a poll is waiting
}

func (p *poller) Wake()       { p.news.Wake() }
func (p *poller) Shut(string) { close(p.over) }

// openPolling connects an instance that will poll.
func (s *Surface) openPolling(r *http.Request, inst beeos.Instance) (*link.Connection, *poller, error) {
	p := &poller{news: link.NewSignal(), busy: make(chan struct{}, 1), over: make(chan struct{})}
	c, err := s.open(r, inst, p)
	if err != nil {
		return nil, nil, err
	}
	p.idle = time.AfterFunc(pollIdle, func() { c.End("nobody polls") })
	return c, p, nil
}

// poll answers with the frames that are there, or come while it waits, one per
// line; 204 when none came. The first poll opens the connection and gets its
// id in a hello frame; a connection that is unknown is opened anew.
func (s *Surface) poll(w http.ResponseWriter, r *http.Request, inst beeos.Instance, _ []byte) error {
	wait, err := pollTime(r)
	if err != nil {
		return err
	}
	c := s.hub.Connection(r.URL.Query().Get("connection"), inst.ID)
	var p *poller
	if c != nil {
		p, _ = c.Transport().(*poller)
	}
	if p == nil {
		if c, p, err = s.openPolling(r, inst); err != nil {
			return err
		}
	}
	select {
	case p.busy <- struct{}{}:
	default:
		return beeos.Errorf(beeos.Conflict, "another poll waits on this connection; one at a time")
	}
	defer func() { <-p.busy }()
	p.idle.Stop()
	defer p.idle.Reset(pollIdle)

	out := p.awaitFrames(r.Context(), c, wait)
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
		c.PutBack(out) // for the next poll
		return nil
	}
	link.PutBuffer(out)
	return nil
}

// awaitFrames returns frames as soon as there are any.
func (p *poller) awaitFrames(ctx context.Context, c *link.Connection, wait time.Duration) []byte {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		if out := c.Take(); out != nil {
			return out
		}
		select {
		case <-p.news:
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return nil
		case <-p.over:
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
