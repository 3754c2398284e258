package check

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/wire/outbound"
)

func killGateway(ctx context.Context, w *world) error {
	task, _, err := w.beginTask(ctx, "hold gateway", "held ")
	if err != nil {
		return err
	}
	if err := w.restartServer(ctx); err != nil {
		return err
	}
	if err := w.endHold(ctx, "gateway", task, "held attempt 1"); err != nil {
		return err
	}
	return w.expect(ctx, "count hold gateway", "1")
}

func killAgent(ctx context.Context, w *world) error {
	task, _, err := w.beginTask(ctx, "hold agent", "held ")
	if err != nil {
		return err
	}
	w.program.kill()
	if _, err := w.program.start(); err != nil {
		return err
	}
	if err := w.awaitAgent(ctx); err != nil {
		return err
	}
	if err := w.awaitAnswer(ctx, "count hold agent", "1"); err != nil {
		return fmt.Errorf("the new instance does not get the message: %w", err)
	}
	return w.endHold(ctx, "agent", task, "held attempt 2")
}

// endHold lets the handler of a task go on and looks at the answer.
func (w *world) endHold(ctx context.Context, key, task, want string) error {
	if err := w.expect(ctx, "release "+key, "released"); err != nil {
		return err
	}
	got, err := w.awaitTask(ctx, task)
	if err != nil {
		return err
	}
	return compare("hold "+key, got, want)
}

const (
	slowWork  = "slow 2000" // long enough to ask for the end while it is done
	whileSlow = 20          // messages that come meanwhile
	endWithin = 15 * time.Second
)

// drainAgent asks one of two instances to stop while it works.
func drainAgent(ctx context.Context, w *world) error {
	first := w.program.running[0]
	firstName, err := w.say(ctx, "who")
	if err != nil {
		return err
	}
	second, err := w.program.start()
	if err != nil {
		return err
	}
	if err := w.awaitOther(ctx, firstName); err != nil {
		return fmt.Errorf("the second instance gets nothing to do: %w", err)
	}
	task, streamed, err := w.beginTask(ctx, slowWork, " ")
	if err != nil {
		return err
	}
	worker, _, _ := strings.Cut(streamed, " ")
	stopping, staying := first, second
	if worker != firstName {
		stopping, staying = second, first
	}
	if err := askToStop(stopping.cmd); err != nil {
		return err
	}
	defer w.program.keepOnly(staying)
	for range whileSlow {
		if name, err := w.say(ctx, "who"); err != nil || name == worker {
			return fmt.Errorf("while it stops, the next message was answered by %s: %w", quote(name), errors.Join(err, errors.New("want the other instance")))
		}
	}
	got, err := w.awaitTask(ctx, task)
	if err != nil {
		return err
	}
	if err := compare(slowWork, got, worker+" attempt 1"); err != nil {
		return err
	}
	select {
	case <-stopping.done:
		return nil
	case <-time.After(endWithin):
		return fmt.Errorf("it has not ended %s after it was asked to", endWithin)
	}
}

// awaitOther waits until somebody answers who is called otherwise.
func (w *world) awaitOther(ctx context.Context, name string) error {
	return poll(ctx, func() (bool, error) {
		if err := w.program.checkRuns(); err != nil {
			return false, err
		}
		other, err := w.say(ctx, "who")
		return err == nil && other != name, err
	})
}

const (
	callers    = 8
	afterEach  = 50 // calls that must have ended before the server is killed again
	callWithin = 30_000
	betweenTry = 20 * time.Millisecond
)

// load is callers who never rest.
type load struct {
	w     *world
	agent string // its id, which the world looks up anew while calls are made
	made  atomic.Int64
	mu    sync.Mutex
	wrong []string
}

// killUnderLoad kills the server again and again while others call.
func killUnderLoad(ctx context.Context, w *world) error {
	before, err := w.countTallies(ctx)
	if err != nil {
		return err
	}
	l := &load{w: w, agent: w.id}
	all, ctx := errgroup.WithContext(ctx)
	resting, rest := context.WithCancel(ctx)
	defer rest()
	for i := range callers {
		all.Go(func() error { return l.call(ctx, resting, fmt.Sprintf("%d-%d", before, i)) })
	}
	all.Go(func() error {
		defer rest()
		return l.killServer(ctx)
	})
	if err := all.Wait(); err != nil {
		return err
	}
	w.note = fmt.Sprintf("%d calls over %d kills", l.made.Load(), w.kills)
	if len(l.wrong) > 0 {
		return fmt.Errorf("%d of %d calls went wrong; %s", len(l.wrong), l.made.Load(), l.wrong[0])
	}
	after, err := w.countTallies(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	if done, made := int64(after-before), l.made.Load(); done != made {
		return fmt.Errorf("%d calls were made and %d were worked on", made, done)
	}
	return nil
}

func (w *world) countTallies(ctx context.Context) (int, error) {
	text, err := w.say(ctx, "count tally")
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("\"count tally\" was answered %s, want a number", quote(text))
	}
	return n, nil
}

// killServer kills the server as often as it should be, each time once it serves.
func (l *load) killServer(ctx context.Context) error {
	for range l.w.kills {
		if err := outbound.Wait(ctx, betweenTry+rand.N(400*time.Millisecond)); err != nil {
			return err
		}
		if err := l.w.restartServer(ctx); err != nil {
			return fmt.Errorf("after a kill: %w", err)
		}
		goal := l.made.Load() + afterEach
		if err := poll(ctx, func() (bool, error) { return l.made.Load() >= goal, nil }); err != nil {
			return fmt.Errorf("after a kill, %d of %d calls ended: %w", l.made.Load()-goal+afterEach, afterEach, err)
		}
	}
	return nil
}

// call makes one call after the other, each as often as it takes, until there is
// rest.
func (l *load) call(ctx, resting context.Context, name string) error {
	for i := 0; resting.Err() == nil; i++ {
		key := fmt.Sprint(name, "-", i)
		text, err := l.callOnce(ctx, key)
		if err != nil {
			return err
		}
		l.made.Add(1)
		if want := key + " 1"; text != want {
			l.mu.Lock()
			l.wrong = append(l.wrong, compare("tally "+key, text, want).Error())
			l.mu.Unlock()
		}
	}
	return nil
}

// callOnce makes a call that is worked on once, however often it must be asked for.
func (l *load) callOnce(ctx context.Context, key string) (string, error) {
	for {
		answer, err := l.w.client().Invoke(ctx, l.agent, client.InvokeRequest{Message: "tally " + key, IdempotencyKey: key, TimeoutMS: callWithin})
		switch {
		case err == nil:
			return answer.Text, nil
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		case !mayPass(err):
			return err.Error(), nil
		}
		if err := outbound.Wait(ctx, betweenTry); err != nil {
			return "", err
		}
	}
}

// mayPass reports whether a caller should ask again: the server was away, or the
// agent was, or the first call is still under way.
func mayPass(err error) bool {
	if _, away := errors.AsType[*client.UnreachableError](err); away {
		return true
	}
	switch beeos.CodeOf(err) {
	case beeos.AgentOffline, beeos.AgentServiceUnavailable, beeos.Conflict, beeos.ServiceTimeout:
		return true
	case "":
		return true // the answer broke off
	}
	return false
}

func sendUnknownFrames(ctx context.Context, w *world) error {
	behind, err := freeAddress()
	if err != nil {
		return err
	}
	w.server.kill()
	if err := w.startServer(ctx, behind); err != nil {
		return err
	}
	defer w.server.kill() // and it is put back in its place
	later, err := startLaterGateway(w.gateway, behind)
	if err != nil {
		return err
	}
	defer later.close()
	if err := w.awaitAgent(ctx); err != nil {
		return err
	}
	if err := w.expect(ctx, "hello", "you said: hello"); err != nil {
		return err
	}
	if err := w.expect(ctx, "stream 3", "1 2 3 "); err != nil {
		return err
	}
	if later.added.Load() == 0 {
		return &missingError{"the agent uses no WebSocket, into which frames could be put"}
	}
	return nil
}
