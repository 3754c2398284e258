package agentgateway

import (
	"net/http"
	"sync"
	"time"

	"github.com/beeos/beeos"
)

// How often an instance may connect or declare its agents: both cost much more
// than a message. Whoever comes more often waits, so that trying again at once
// is of no use.
const (
	paceStep    = 10 * time.Millisecond
	paceBurst   = 200 * paceStep
	paceLongest = 10 * time.Second // to wait; beyond, it is refused
	paceMost    = 10_000           // instances that are remembered
	paceTooLong = 100 * paceStep   // what a message that is too long counts for: it was read for nothing

	cutOffFor = 10 * time.Second // one that had to be cut off stays away
)

// pace is when each instance may come next; the zero value lets everybody in.
type pace struct {
	mu     sync.Mutex
	next   map[string]time.Time
	cutOff map[string]time.Time // until when
}

// reserve returns how long an instance has to wait for its turn; false = so long
// that it gets none.
func (p *pace) reserve(instance string, now time.Time) (wait time.Duration, ok bool) {
	return p.charge(instance, paceStep, now)
}

// charge makes what an instance did count for that much time.
func (p *pace) charge(instance string, cost time.Duration, now time.Time) (wait time.Duration, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.next[instance]
	if idle := now.Add(-paceBurst); at.Before(idle) {
		at = idle
	}
	at = at.Add(cost)
	if wait = at.Sub(now); wait > paceLongest {
		return wait, false
	}
	if p.next == nil || len(p.next) >= paceMost {
		p.forget(now)
	}
	p.next[instance] = at
	return max(0, wait), true
}

// offend keeps an instance away for a while: it had to be cut off, and would do
// the same again.
func (p *pace) offend(instance string, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cutOff == nil || len(p.cutOff) >= paceMost {
		p.cutOff = map[string]time.Time{}
	}
	p.cutOff[instance] = now.Add(cutOffFor)
}

// isCutOff returns for how long an instance still stays away.
func (p *pace) isCutOff(instance string, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	wait := p.cutOff[instance].Sub(now)
	if wait <= 0 {
		delete(p.cutOff, instance)
	}
	return max(0, wait)
}

// refuseOffender is asked before anything is done for a request, whoever has
// really sent it.
func (s *Surface) refuseOffender(r *http.Request) error {
	sig, _ := beeos.ParseSignature(r.Header.Get("Authorization"))
	wait := s.pace.isCutOff(sig.KeyID, s.Now())
	if wait == 0 {
		return nil
	}
	err := beeos.Errorf(beeos.RateLimited, "this instance was cut off for what it sent; it may come back in a moment, and should send less")
	err.RetryAfter = wait
	return err
}

// forget drops those who have all of their burst again; when nobody has, all.
func (p *pace) forget(now time.Time) {
	kept := map[string]time.Time{}
	for instance, at := range p.next {
		if at.After(now.Add(-paceBurst)) {
			kept[instance] = at
		}
	}
	if len(kept) >= paceMost {
		clear(kept)
	}
	p.next = kept
}

// paced holds back an instance that comes too often.
func (s *Surface) paced(do signedAction) signedAction {
	return func(w http.ResponseWriter, r *http.Request, inst beeos.Instance, body []byte) error {
		wait, ok := s.pace.reserve(inst.ID, s.Now())
		if !ok {
			err := beeos.Errorf(beeos.RateLimited, "this instance connects too often; keep its connection open, and wait before it tries again")
			err.RetryAfter = wait
			return err
		}
		if wait > 0 {
			select {
			case <-time.After(wait):
			case <-r.Context().Done():
				return r.Context().Err()
			}
		}
		return do(w, r, inst, body)
	}
}
