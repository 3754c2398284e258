package bus

import (
	"context"
	"encoding/json"

	"github.com/beeos/beeos"
)

const subjectAsks = "asks"

// ServeAsks lets this node answer which questions to the caller the agent of a
// turn is waiting on; ok says that the turn is here.
func (b *Bus) ServeAsks(open func(turn string) (asks []beeos.Event, ok bool)) {
	b.mu.Lock()
	b.asks = open
	b.mu.Unlock()
}

// Asks asks whichever node holds the turn for its open questions. It comes
// after every answer that this node has sent before.
func (b *Bus) Asks(ctx context.Context, turn string) (asks []beeos.Event, ok bool) {
	if asks, ok := b.asksHere(turn); ok || !b.peers() {
		return asks, ok
	}
	ctx, cancel := context.WithTimeout(ctx, snapshotWithin)
	defer cancel()
	m, err := b.nc.RequestWithContext(ctx, subjectAsks, []byte(turn))
	if err != nil {
		return nil, false // nobody has it: the turn is over, or on its way to another instance
	}
	if err := json.Unmarshal(m.Data, &asks); err != nil {
		b.log.Error("bus: open questions of a turn", "err", err)
		return nil, false
	}
	return asks, true
}

func (b *Bus) asksHere(turn string) ([]beeos.Event, bool) {
	b.mu.RLock()
	open := b.asks
	b.mu.RUnlock()
	if open == nil {
		return nil, false
	}
	return open(turn)
}
