//go:build unix

package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/beeos/beeos/test/chaos/history"
)

// Stop lets no caller begin anything more, and returns when all have ended.
func (l *Load) Stop() {
	l.stop()
	l.callers.Wait()
}

// Settle asks for the end of everything whose end is not known. It ends when
// there is nothing left to ask, or with the context; then what is open stays so
// in the history.
func (l *Load) Settle(ctx context.Context) {
	deciding, done := context.WithCancel(ctx)
	defer done()
	go l.decide(deciding) // what is repeated may ask again
	var all sync.WaitGroup
	many := make(chan struct{}, 64)
	ask := func(op *history.Op, rng *rand.Rand, again func() bool) {
		all.Go(func() {
			many <- struct{}{}
			defer func() { <-many }()
			for !again() && wait(ctx, rest+time.Duration(rng.Int64N(int64(5*rest)))) {
			}
			l.history.Add(op)
		})
	}
	for i, op := range l.open {
		rng := rand.New(rand.NewPCG(l.seed, uint64(1000+i)))
		ask(op, rng, func() bool {
			l.repeat(ctx, l.node(rng), op)
			return op.Outcome == history.OK || op.Outcome == history.Told
		})
	}
	for i, t := range l.tasks {
		rng := rand.New(rand.NewPCG(l.seed, uint64(1_000_000+i)))
		ask(t.op, rng, func() bool { return l.lookAt(ctx, t, rng) })
	}
	all.Wait()
}

// RepeatAnswered asks again for some of what was answered under a key, and
// returns what was answered otherwise now.
func (l *Load) RepeatAnswered(ctx context.Context, most int) (other []string) {
	rng := rand.New(rand.NewPCG(l.seed, 3))
	for _, op := range slices.Clone(l.history.Ops) {
		if op.Key == "" || op.Outcome != history.OK || op.Kind == history.Task {
			continue
		}
		if most--; most < 0 {
			break
		}
		again := *op
		if l.repeat(ctx, l.node(rng), &again); again.Answer != op.Answer || again.Outcome != op.Outcome {
			other = append(other, fmt.Sprintf("%s (%s) was answered %q, and later %s %q %s", op.Text, op.Kind, op.Answer, again.Outcome, again.Answer, again.Error))
		}
	}
	return other
}

// UntoldWebhooks returns the tasks of whose end no receiver has heard after a
// while.
func (l *Load) UntoldWebhooks(ctx context.Context, within time.Duration) (untold []string) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		untold = untold[:0]
		for _, op := range l.history.Ops {
			if op.Webhook && !l.receiver.hasHeardEnd(op.Stored) {
				untold = append(untold, "no webhook told of the end of "+op.Stored)
			}
		}
		if len(untold) == 0 || !wait(ctx, 5*rest) {
			return untold
		}
	}
}
