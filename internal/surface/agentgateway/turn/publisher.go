package turn

import (
	"context"
	"sync"
	"time"

	"github.com/beeos/beeos/internal/engine/bus"
)

// Publisher publishes the live events of all turns on this node.
type Publisher struct {
	Bus *bus.Bus
	Now func() time.Time

	mu      sync.Mutex
	waiting []*Turn       // with text that has gathered
	ready   chan struct{} // has room for one
}

// NewPublisher returns a publisher; Run must be running while turns use it.
func NewPublisher(b *bus.Bus, now func() time.Time) *Publisher {
	return &Publisher{Bus: b, Now: now, ready: make(chan struct{}, 1)}
}

// Run publishes what has gathered, gatherFor after it began to, until ctx ends.
func (p *Publisher) Run(ctx context.Context) error {
	pause := time.NewTimer(gatherFor)
	defer pause.Stop()
	for {
		select {
		case <-p.ready:
		case <-ctx.Done():
			return nil
		}
		pause.Reset(gatherFor)
		select {
		case <-pause.C:
		case <-ctx.Done():
			return nil
		}
		now := p.Now()
		for _, t := range p.takeWaiting() {
			t.mu.Lock()
			t.queued = false
			t.flush(now)
			t.mu.Unlock()
		}
	}
}

// add has a turn published soon. It never blocks.
func (p *Publisher) add(t *Turn) {
	p.mu.Lock()
	p.waiting = append(p.waiting, t)
	p.mu.Unlock()
	select {
	case p.ready <- struct{}{}:
	default:
	}
}

func (p *Publisher) takeWaiting() []*Turn {
	p.mu.Lock()
	defer p.mu.Unlock()
	waiting := p.waiting
	p.waiting = nil
	return waiting
}
