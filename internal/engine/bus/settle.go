package bus

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	subjectSettle = "settle"
	settleWithin  = 500 * time.Millisecond
)

// Settle returns once so many other nodes have heard everything that this one
// has sent before, or after half a second: news may be lost, but whoever waits
// for them must not be. heard is how many have.
func (b *Bus) Settle(ctx context.Context, others int) (heard int) {
	if others <= 0 || !b.peers() {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, settleWithin)
	defer cancel()
	inbox := nats.NewInbox()
	sub, err := b.nc.SubscribeSync(inbox)
	if err != nil {
		return 0
	}
	defer sub.Unsubscribe() //nolint:errcheck // fails only when the connection is gone
	if b.nc.PublishRequest(subjectSettle, inbox, nil) != nil {
		return 0
	}
	for range others {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil || m.Header.Get("Status") != "" { // NATS itself says that nobody is there
			break
		}
		heard++
	}
	return heard
}
