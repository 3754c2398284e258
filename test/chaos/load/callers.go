//go:build unix

package load

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"sync"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/chaos/history"
	"github.com/beeos/beeos/test/chaos/world"
)

// newOp is an operation with a key, or without, which its text says, too.
func (l *Load) newOp(kind history.Kind, keyed bool, words ...string) *history.Op {
	if keyed {
		words = append([]string{"keyed"}, words...)
	}
	op := &history.Op{Kind: kind, Text: l.text(words...)}
	if keyed {
		op.Key = op.Text
	}
	return op
}

// invoke calls over REST, now with a key, now without.
func (l *Load) invoke(ctx context.Context, rng *rand.Rand) {
	for ctx.Err() == nil {
		op, n := l.newOp(history.Invoke, rng.IntN(2) == 0, "plain"), l.node(rng)
		l.try(ctx, n, op, func(ctx context.Context) (answer, error) { return l.askREST(ctx, n, op) })
		l.end(ctx, op)
	}
}

func (l *Load) askREST(ctx context.Context, n *world.Node, op *history.Op) (answer, error) {
	a, err := l.client(n).Invoke(ctx, l.agent, client.InvokeRequest{
		Message: op.Text, IdempotencyKey: op.Key, ContextID: op.Context, TimeoutMS: allowed.Milliseconds(),
	})
	if err != nil {
		return answer{}, err
	}
	if op.Kind == history.Conversation || op.Kind == history.Overlap {
		op.Channel = a.ContextID
	}
	return answer{text: a.Text, isError: a.IsError}, nil
}

// stream calls over REST and reads the answer as it comes.
func (l *Load) stream(ctx context.Context, rng *rand.Rand) {
	for ctx.Err() == nil {
		op, n := l.newOp(history.Stream, rng.IntN(2) == 0, "slow"), l.node(rng)
		l.try(ctx, n, op, func(ctx context.Context) (answer, error) { return l.askStream(ctx, n, op) })
		l.end(ctx, op)
	}
}

func (l *Load) askStream(ctx context.Context, n *world.Node, op *history.Op) (answer, error) {
	c := l.client(n)
	r := client.InvokeRequest{Message: op.Text, IdempotencyKey: op.Key, TimeoutMS: allowed.Milliseconds()}
	events := c.Stream(ctx, l.agent, r)
	if op.Kind == history.A2A {
		events = c.StreamA2A(ctx, &client.Agent{A2AURL: n.A2A + "/" + l.agent}, r)
	}
	var pieces []string
	for ev, err := range events {
		switch {
		case err != nil:
			return answer{}, err
		case ev.Done != nil:
			return answer{ev.Done.Text, ev.Done.IsError, pieces}, nil
		case ev.Delta != "":
			pieces = append(pieces, ev.Delta)
		}
	}
	return answer{}, errors.New("the stream ended without an end")
}

// callA2A calls as another platform's agent would. Such a message always has an
// id, and that is its key.
func (l *Load) callA2A(ctx context.Context, rng *rand.Rand) {
	for ctx.Err() == nil {
		op, n := l.newOp(history.A2A, true, "slow"), l.node(rng)
		l.try(ctx, n, op, func(ctx context.Context) (answer, error) { return l.askStream(ctx, n, op) })
		op.Allowed = 0 // A2A has no timeout of the caller's
		l.end(ctx, op)
	}
}

// callTool calls over MCP.
func (l *Load) callTool(ctx context.Context, rng *rand.Rand) {
	for ctx.Err() == nil {
		op, n := l.newOp(history.MCP, rng.IntN(2) == 0, "plain"), l.node(rng)
		l.try(ctx, n, op, func(ctx context.Context) (answer, error) { return l.askMCP(ctx, n, op) })
		op.Allowed = 0 // MCP has none either: clients cancel
		l.end(ctx, op)
	}
}

func (l *Load) askMCP(ctx context.Context, n *world.Node, op *history.Op) (answer, error) {
	args := map[string]string{"message": op.Text}
	if op.Key != "" {
		args["idempotency_key"] = op.Key
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return answer{}, err
	}
	res, err := l.client(n).CallTool(ctx, &client.Agent{MCPURL: n.MCP + "/" + l.agent + "/mcp"}, l.agent, raw)
	if err != nil {
		return answer{}, err
	}
	return answer{text: res.Text(), isError: res.IsError}, nil
}

// converse says one thing after the other in one conversation, each until it is
// answered or known to be lost.
func (l *Load) converse(ctx context.Context, rng *rand.Rand) {
	channel := ""
	for ctx.Err() == nil {
		channel = l.say(ctx, rng, history.Conversation, channel)
	}
}

const (
	atOnce = 3  // who speak in one conversation
	enough = 50 // messages of each of them; then they begin another one
)

// overlap says several things at a time in one conversation, which one message opens.
func (l *Load) overlap(ctx context.Context, rng *rand.Rand) {
	for ctx.Err() == nil {
		channel := l.say(ctx, rng, history.Overlap, "")
		var all sync.WaitGroup
		for range atOnce {
			rng := rand.New(rand.NewPCG(rng.Uint64(), 0))
			all.Go(func() {
				for i := 0; i < enough && channel != "" && ctx.Err() == nil; i++ {
					l.say(ctx, rng, history.Overlap, channel)
				}
			})
		}
		all.Wait()
	}
}

// say says one thing in a conversation, until it is answered or known to be lost,
// and returns which conversation it is in.
func (l *Load) say(ctx context.Context, rng *rand.Rand, kind history.Kind, channel string) string {
	op := l.newOp(kind, true, "said")
	op.Context = channel
	for again := true; again; again = op.Outcome != history.OK && op.Outcome != history.Told && wait(ctx, rest) {
		n := l.node(rng)
		l.try(ctx, n, op, func(ctx context.Context) (answer, error) { return l.askREST(ctx, n, op) })
	}
	l.end(ctx, op)
	return op.Channel
}

// repeat asks again for what has a key, at another server perhaps.
func (l *Load) repeat(ctx context.Context, n *world.Node, op *history.Op) {
	l.try(ctx, n, op, func(ctx context.Context) (answer, error) {
		switch op.Kind {
		case history.MCP:
			return l.askMCP(ctx, n, op)
		case history.A2A, history.Stream:
			return l.askStream(ctx, n, op)
		default:
			return l.askREST(ctx, n, op)
		}
	})
}
