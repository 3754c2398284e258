package faults

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
)

// TestWatchersOverBrokenConnections: 200 watchers of one streaming task over
// two replicas, whose connections are cut at random 1,000 times. Each comes
// back at whichever replica it gets, and ends with the same durable events in
// the same order and the same text: none lost, none twice, and never a text
// with a hole in it.
func TestWatchersOverBrokenConnections(t *testing.T) {
	const watchers, cuts = 200, 1000
	p := meshed(t)
	a := startAgent(t, "agent", spec{Name: "talker", Gateway: p.a.agents, Key: p.key, Identity: t.TempDir() + "/id.json"})
	p.b.online(p.key, a.id, true)
	task, err := client.New(p.a.rest, p.key).CreateTask(t.Context(), a.id, client.TaskRequest{Message: talkPrefix})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return keepTalking(ctx, client.New(p.b.rest, p.key), task) })

	line := newFrayed(t, p.a.rest, p.b.rest)
	seen := make([]*watched, watchers)
	var live atomic.Int64
	for i := range seen {
		seen[i] = &watched{live: &live}
		tr := &http.Transport{DisableKeepAlives: true}
		cl := client.New(line.url, p.key)
		cl.HTTP = &http.Client{Transport: tr}
		g.Go(func() error {
			if err := seen[i].follow(cl.WatchTask(ctx, a.id, task.ID)); err != nil {
				return fmt.Errorf("watcher %d: %w", i, err)
			}
			return nil
		})
	}
	began := time.Now()
	for done := 0; done < cuts && ctx.Err() == nil; {
		if line.cut() {
			done++
		}
		pause(ctx, 5*time.Millisecond)
	}
	took := time.Since(began)
	a.release()
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	compareWatched(t, p, a.id, task.ID, seen)
	t.Logf("%d cuts in %s, %d connections, %d live pieces, %d durable events, %d bytes of text",
		cuts, took.Round(time.Millisecond), line.accepted.Load(), live.Load(), len(seen[0].durable), len(seen[0].last.Body))
}

// compareWatched holds what everybody saw against what is stored.
func compareWatched(t *testing.T, p pair, agentID, taskID string, seen []*watched) {
	t.Helper()
	var want []string
	p.b.records().each(`SELECT id, type FROM (SELECT m.id, m.type FROM messages m JOIN messages first ON first.channel = m.channel
		WHERE first.id = '`+taskID+`' ORDER BY m.off) x`, func(id, kind string) { want = append(want, id+" "+kind) })
	if len(want) < 10 {
		t.Errorf("the task has %d messages only; it proves little", len(want))
	}
	wrong := 0
	for i, w := range seen {
		if diff := cmp.Diff(want, w.durable); diff != "" {
			t.Errorf("watcher %d saw other events (-stored +seen):\n%s", i, diff)
			wrong++
		}
		if w.last.Body != talk(len(w.last.Body)) || !strings.HasPrefix(w.last.Body, w.text) || w.text == "" {
			t.Errorf("watcher %d ends with %d bytes, of which it heard %d live", i, len(w.last.Body), len(w.text))
			wrong++
		}
		if wrong > 3 {
			t.Fatal("and so on")
		}
	}
}

// watched is what one watcher saw.
type watched struct {
	live    *atomic.Int64 // pieces that all watchers got
	durable []string
	text    string // as its pieces add up
	last    beeos.Message
}

// follow reads to the end; an error is a hole in the text.
func (w *watched) follow(updates func(func(client.Update, error) bool)) error {
	for u, err := range updates {
		switch {
		case err != nil:
			return err
		case u.SoFar:
			w.text = u.Message.Body
		case u.Delta:
			w.text += u.Message.Body
		default:
			w.durable = append(w.durable, u.Message.ID+" "+string(u.Message.Type))
			w.last = u.Message
		}
		if u.Delta {
			w.live.Add(1)
			if want := talk(len(w.text)); w.text != want {
				return fmt.Errorf("its text has a hole: %s", cmp.Diff(want, w.text))
			}
		}
	}
	if !w.last.Type.Terminal() {
		return errors.New("it ended before the task")
	}
	return nil
}

// keepTalking lets the agent go on whenever it asks.
func keepTalking(ctx context.Context, cl *client.Client, task *client.Task) error {
	for u, err := range cl.WatchTask(ctx, task.AgentID, task.ID) {
		if err == nil && u.Message.Type == beeos.AgentInputRequired {
			_, err = cl.ContinueTask(ctx, task.AgentID, task.ID, "yes")
		}
		if err != nil {
			return fmt.Errorf("let the agent go on: %w", err)
		}
	}
	return nil
}

var talkText = func() string {
	var b strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&b, "%d ", i)
	}
	return b.String()
}()

// talk is how the talk of an agent begins.
func talk(bytes int) string { return talkText[:min(bytes, len(talkText))] }
