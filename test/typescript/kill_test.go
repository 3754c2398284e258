//go:build unix

package typescript

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
)

var kills = flag.Int("kills", 3, "how often the server is killed under load")

// TestServerKilledUnderLoad: callers never rest while the server is killed again
// and again. Every call is answered in the end, and was worked on once.
func TestServerKilledUnderLoad(t *testing.T) {
	s := startServer(t)
	agent := s.startScenarios()
	l := &load{s: s, agent: agent, answers: map[string]string{}}
	ctx, stop := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	for i := range 8 {
		callers.Go(func() { l.call(ctx, t, i) })
	}
	for i := range *kills {
		pause(20*time.Millisecond + rand.N(400*time.Millisecond))
		s.proc.Kill()
		s.start()
		agent.awaitCount("connected ", i+2)
		l.awaitMore(t, 50)
	}
	stop()
	callers.Wait()
	l.check(t)
}

func pause(d time.Duration) { <-time.After(d) }

// load is what callers asked and were told.
type load struct {
	s     *server
	agent *agentProcess
	ended atomic.Int64

	mu      sync.Mutex
	answers map[string]string // by what was asked
}

// call makes one call after the other, each as often as it takes.
func (l *load) call(ctx context.Context, t *testing.T, worker int) {
	c := l.s.client()
	for i := 0; ctx.Err() == nil; i++ {
		ask := fmt.Sprintf("%d-%d", worker, i)
		var text string
		for {
			answer, err := c.Invoke(t.Context(), l.agent.id, client.InvokeRequest{Message: "work " + ask, IdempotencyKey: ask, TimeoutMS: 30_000})
			if err == nil {
				text = answer.Text
				break
			}
			if !mayPass(err) {
				text = err.Error()
				break
			}
			pause(20 * time.Millisecond)
		}
		l.mu.Lock()
		l.answers[ask] = text
		l.mu.Unlock()
		l.ended.Add(1)
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
	}
	return strings.Contains(err.Error(), "read the answer") // it broke off
}

// awaitMore waits until so many more calls have ended.
func (l *load) awaitMore(t *testing.T, n int64) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	before := l.ended.Load()
	for end := time.After(patience); l.ended.Load() < before+n; {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("%d calls ended after the server was back, want %d", l.ended.Load()-before, n)
		}
	}
}

func (l *load) check(t *testing.T) {
	t.Helper()
	done := map[string]int{}
	for _, line := range l.agent.Out.All() {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "did" {
			done[fields[2]]++
		}
	}
	for ask, text := range l.answers {
		if text != "done "+ask {
			t.Errorf("%s was answered %q", ask, text)
		}
		if done[ask] != 1 {
			t.Errorf("%s was worked on %d times", ask, done[ask])
		}
	}
	t.Logf("%d calls over %d kills", len(l.answers), *kills)
}

// TestTurnOutlivesServer: a server that is killed in the middle of an answer costs
// neither the work nor the words.
func TestTurnOutlivesServer(t *testing.T) {
	s := startServer(t)
	agent := s.startScenarios()
	task, err := s.client().CreateTask(t.Context(), agent.id, client.TaskRequest{Message: "hold"})
	if err != nil {
		t.Fatal(err)
	}
	await(t, agent.Process, "holding")
	s.proc.Kill()
	s.start()
	agent.awaitCount("connected ", 2)
	if _, err := agent.In.Write([]byte("go on\n")); err != nil {
		t.Fatal(err)
	}
	if got := result(t, s, agent.id, task.ID); !strings.HasPrefix(got, "so far, so good") || agent.count("holding") != 1 {
		t.Errorf("got %q after %d runs", got, agent.count("holding"))
	}
}

// result waits for what came of a task.
func result(t *testing.T, s *server, agentID, taskID string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, err := range s.client().WatchTask(ctx, agentID, taskID) {
		if err != nil {
			t.Fatal(err)
		}
	}
	task, err := s.client().Task(ctx, agentID, taskID)
	if err != nil || task.Result == nil {
		t.Fatalf("%+v, %v", task, err)
	}
	return task.Result.Text
}

// TestAgentKilled: the work of a process that dies goes to another instance of the
// agent.
func TestAgentKilled(t *testing.T) {
	s := startServer(t)
	first := s.startScenarios()
	task, err := s.client().CreateTask(t.Context(), first.id, client.TaskRequest{Message: "hold"})
	if err != nil {
		t.Fatal(err)
	}
	await(t, first.Process, "holding")
	second := s.startScenarios()
	if first.id != second.id {
		t.Fatalf("the two processes are the agents %s and %s", first.id, second.id)
	}
	first.Kill()
	await(t, second.Process, "holding")
	if _, err := second.In.Write([]byte("go on\n")); err != nil {
		t.Fatal(err)
	}
	if got := result(t, s, second.id, task.ID); got != "so far, so good; attempt 2" {
		t.Errorf("got %q", got)
	}
}

// TestDrain: an agent that is asked to stop finishes its answer and ends in order;
// what comes meanwhile goes to the other instance.
func TestDrain(t *testing.T) {
	s := startServer(t)
	first := s.startScenarios()
	task, err := s.client().CreateTask(t.Context(), first.id, client.TaskRequest{Message: "hold"})
	if err != nil {
		t.Fatal(err)
	}
	await(t, first.Process, "holding")
	second := s.startScenarios()
	if err := syscall.Kill(first.Pid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		ask := fmt.Sprint("while it drains ", i)
		answer, err := s.client().Invoke(t.Context(), second.id, client.InvokeRequest{Message: ask})
		if err != nil || answer.Text != "you said: "+ask {
			t.Fatalf("%+v, %v", answer, err)
		}
	}
	if _, err := first.In.Write([]byte("go on\n")); err != nil {
		t.Fatal(err)
	}
	if got := result(t, s, first.id, task.ID); got != "so far, so good; attempt 1" {
		t.Errorf("got %q", got)
	}
	select {
	case <-first.Ended():
	case <-time.After(patience):
		t.Error("it does not end")
	}
	if code, err := first.Terminate(patience); err != nil || code != 0 {
		t.Errorf("ended with %d, %v", code, err)
	}
}
