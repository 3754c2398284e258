package bus

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"
)

const (
	subjectAct = "act" // the queue group makes one node do each act
	headerMore = "more"

	actsAtOnce  = 32
	actsWaiting = 256
	actPiece    = 256 << 10 // of an answer: any NATS carries that
)

// ServeActs lets this node do, until ctx ends, what others cannot: do returns
// the answer to what a node has sent, nil for none.
func (b *Bus) ServeActs(ctx context.Context, do func(ctx context.Context, data []byte) []byte) error {
	if b.alone {
		<-ctx.Done()
		return nil
	}
	asked := make(chan *nats.Msg, actsWaiting)
	sub, err := b.nc.ChanQueueSubscribe(subjectAct, queueGroup, asked)
	if err != nil {
		return fmt.Errorf("announce on the bus that acts are done here: %w", err)
	}
	defer sub.Unsubscribe() //nolint:errcheck // fails only when the connection is gone, and the interest with it
	var group errgroup.Group
	group.SetLimit(actsAtOnce)
	defer group.Wait() //nolint:errcheck // none of them returns an error
	for {
		select {
		case <-ctx.Done():
			return nil
		case m := <-asked:
			if !b.versions.reads(b, m) {
				if err := refuse(m); err != nil {
					b.log.Warn("bus: refuse an act", "err", err)
				}
				continue
			}
			group.Go(func() error {
				b.answerAct(m, do(ctx, m.Data))
				return nil
			})
		}
	}
}

// answerAct sends an answer in pieces: what skill servers say about themselves
// can be larger than NATS takes in one message.
func (b *Bus) answerAct(m *nats.Msg, answer []byte) {
	if answer == nil {
		return
	}
	for more := true; more; {
		piece := answer[:min(len(answer), actPiece)]
		answer = answer[len(piece):]
		reply := nats.NewMsg(m.Reply)
		reply.Data = piece
		if more = len(answer) > 0; more {
			reply.Header.Set(headerMore, "1")
		}
		if err := b.nc.PublishMsg(reply); err != nil {
			b.log.Warn("bus: answer an act", "err", err)
			return
		}
	}
}

// Act hands data to one of the nodes that serve acts and returns its answer.
// ErrNobody when there is none.
func (b *Bus) Act(ctx context.Context, data []byte) ([]byte, error) {
	if !b.peers() {
		return nil, ErrNobody
	}
	if err := b.Ready(); err != nil {
		return nil, err // the request would wait for the connection, and its caller with it
	}
	inbox := nats.NewInbox()
	sub, err := b.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, fmt.Errorf("listen for the answer of an act: %w", err)
	}
	defer sub.Unsubscribe() //nolint:errcheck // fails only when the connection is gone
	if err := b.nc.PublishRequest(subjectAct, inbox, data); err != nil {
		return nil, fmt.Errorf("send an act: %w", err)
	}
	var answer bytes.Buffer
	for {
		m, err := sub.NextMsgWithContext(ctx)
		switch {
		case errors.Is(err, nats.ErrNoResponders), err == nil && m.Header.Get("Status") != "":
			return nil, ErrNobody
		case err != nil:
			return nil, fmt.Errorf("wait for the answer of an act: %w", err)
		}
		answer.Write(m.Data)
		if m.Header.Get(headerMore) == "" {
			return answer.Bytes(), nil
		}
	}
}
