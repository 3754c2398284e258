package main

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/ledger"
)

// storeMessages stores requests with their replies.
func storeMessages(ctx context.Context, l *ledger.Ledger, messages int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(512)
	for range messages / 2 {
		group.Go(func() error { return storePair(ctx, l) })
	}
	return group.Wait()
}

func storePair(ctx context.Context, l *ledger.Ledger) error {
	ch := beeos.NewChannelID()
	o := &ledger.Opening{
		Channel: beeos.Channel{ID: ch, AgentID: "agent_fill", Owner: "user:fill", Kind: beeos.KindInvoke, SingleShot: true},
		Fresh:   true,
		Message: beeos.Message{ID: beeos.NewID(), Channel: ch, Type: beeos.ChatMessage, Publisher: "user:fill", Body: "hello", Payload: []byte(`{"tool":"echo"}`)},
	}
	if _, _, err := l.BeginRequest(ctx, o); err != nil {
		return err
	}
	_, err := l.Finish(ctx, beeos.Message{Channel: ch, InReplyTo: o.Message.ID, Type: beeos.AgentReply, Publisher: "agent:fill", Body: "you said: hello"})
	return err
}
