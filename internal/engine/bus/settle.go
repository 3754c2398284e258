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
// for them must not be.
func (b *Bus) Settle(ctx context.Context, others int) {
	if others <= 0 || !b.peers() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, settleWithin)
	defer cancel()
	inbox := nats.NewInbox()
	sub, err := b.nc.SubscribeSync(inbox)
	if err != nil {
		return
	}
	defer sub.Unsubscribe() //nolint:errcheck // fails only when the connection is gone
	if b.nc.PublishRequest(subjectSettle, inbox, nil) != nil {
		return
	}
	for range others {
		if _, err := sub.NextMsgWithContext(ctx); err != nil {
			return
		}
	}
}
