//go:build unix

// Package load is everybody who uses BeeOS during a campaign: callers over each
// surface (callers.go), those who make tasks and look after them, conversations,
// a person who decides about approvals (person.go), and receivers of webhooks
// (receiver.go). Each writes into the history what was asked and what came of it.
package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/chaos/history"
	"github.com/beeos/beeos/test/chaos/world"
)

const (
	allowed = 10 * time.Second       // how long callers want to wait
	longer  = 30 * time.Second       // after which a caller hangs up, which the history shows
	rest    = 100 * time.Millisecond // of a caller after a failure
)

// Load is the callers of one campaign.
type Load struct {
	world    *world.World
	history  *history.History
	agent    string
	seed     uint64
	http     *http.Client
	receiver *receiver

	count   atomic.Int64
	callers sync.WaitGroup
	stop    context.CancelFunc

	mu    sync.Mutex
	tasks []*task // that were stored
	open  []*history.Op
}

// Start lets callers loose on a world, so many times each kind.
func Start(ctx context.Context, w *world.World, h *history.History, seed uint64, times int) (*Load, error) {
	l := &Load{
		world: w, history: h, agent: w.Agents[0].ID, seed: seed,
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
	}
	var err error
	if l.receiver, err = newReceiver(); err != nil {
		return nil, err
	}
	ctx, l.stop = context.WithCancel(ctx)
	for i := range times {
		for j, caller := range []func(context.Context, *rand.Rand){l.invoke, l.stream, l.callTool, l.callA2A, l.makeTasks, l.converse, l.overlap, l.askApproval} {
			rng := rand.New(rand.NewPCG(seed, uint64(100*i+j)))
			l.callers.Go(func() { caller(ctx, rng) })
		}
	}
	l.callers.Go(func() { l.decide(ctx) })
	return l, nil
}

// Crowd lets so many more call, all at once and again and again, until they are told
// to go; then it waits for their last answers.
func (l *Load) Crowd(n int, seed uint64) (disperse func()) {
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for i := range n {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		all.Go(func() { l.invoke(ctx, rng) })
	}
	return func() {
		stop()
		all.Wait()
	}
}

// text is a name for an operation that no other has.
func (l *Load) text(words ...string) string {
	return strings.Join(append(words, fmt.Sprint(l.count.Add(1))), " ")
}

// node picks one of the servers.
func (l *Load) node(rng *rand.Rand) *world.Node { return l.world.Nodes[rng.IntN(len(l.world.Nodes))] }

func (l *Load) client(n *world.Node) *client.Client {
	c := client.New(n.REST, l.world.Key)
	c.HTTP = l.http
	return c
}

// answer is what came of a try.
type answer struct {
	text     string
	isError  bool
	streamed []string // the pieces in which it came
}

// try asks once and notes how it ended. What may not be known to be done stays
// open until settle.
func (l *Load) try(ctx context.Context, n *world.Node, op *history.Op, ask func(context.Context) (answer, error)) {
	if op.Tries == 0 {
		op.Node, op.Sent, op.Allowed = n.Name, l.history.Now(), allowed
	}
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), longer)
	defer cancel()
	a, err := ask(asking)
	op.Tries++
	op.Ended = l.history.Now()
	if op.Tries == 1 {
		op.FirstTime = op.Ended - op.Sent
	}
	judge(op, a, err)
}

// judge says how a try ended.
func judge(op *history.Op, a answer, err error) {
	var refusal *beeos.Error
	switch {
	case err == nil && a.isError:
		op.Outcome, op.Error = history.Told, a.text
	case err == nil:
		op.Outcome, op.Answer, op.Error = history.OK, a.text, ""
		if op.Tries == 1 {
			op.Streamed = a.streamed
		}
	case errors.As(err, &refusal):
		op.Outcome, op.Error = history.Refused, refusal.Error()
	default:
		op.Outcome, op.Error = history.Cut, err.Error()
	}
}

// end notes an operation, or keeps it for later if its end is not known and can
// be asked for.
func (l *Load) end(ctx context.Context, op *history.Op) {
	if op.Key != "" && (op.Outcome == history.Refused || op.Outcome == history.Cut) {
		l.mu.Lock()
		l.open = append(l.open, op)
		l.mu.Unlock()
	} else {
		l.history.Add(op)
	}
	if op.Outcome != history.OK {
		wait(ctx, rest)
	}
}

func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
