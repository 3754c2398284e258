package faults

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/test/pgtest"
)

// town is BeeOS in pieces: callers come to one process, agents to another, and
// NATS and PostgreSQL are processes too.
type town struct {
	t             *testing.T
	db            *pgtest.Server
	nats          *natsServer
	gateway, edge *node
	key           string
	agents        []*agentProcess // two instances of one agent
	spec          spec
	rounds        int
}

func newTown(t *testing.T) *town {
	w := &town{t: t, db: pgtest.Cluster(t), nats: newNATS(t)}
	w.nats.start()
	settings := []string{"DATABASE_URL=" + w.db.URL(t), "NATS_URL=" + w.nats.url()}
	w.gateway = newNode(t, "gateway", append(settings, "BEEOS_ONLY=mcp")...)
	w.edge = newNode(t, "edge", append(settings, "BEEOS_ONLY=agents,rest")...)
	w.key = w.edge.owner()
	w.edge.start()
	w.gateway.start()
	w.spec = spec{Name: "echo", Gateway: w.edge.agents, Key: w.key, Identity: t.TempDir() + "/id.json"}
	for i := range 2 {
		w.agents = append(w.agents, startAgent(t, fmt.Sprintf("agent %d", i), w.spec))
	}
	return w
}

// end is how one call ended.
type end struct {
	era, id, text string
	err           error
}

const perEra = 8

// inFlight makes calls of every era, with keys or without, and returns once
// agents have them all. Each end comes over the channel.
func (w *town) inFlight(ctx context.Context, keyed bool) chan end {
	w.t.Helper()
	w.rounds++
	before := 0
	for _, a := range w.agents {
		before += len(a.executions())
	}
	ends := make(chan end, perEra*len(eras))
	c := newCaller(w.t, w.gateway, w.agents[0].id, w.key, 2*perEra*len(eras))
	for name, e := range eras {
		for i := range perEra {
			id := fmt.Sprintf("round %d %s %d", w.rounds, name, i)
			text, key := "hold "+id, ""
			if keyed {
				key = id
			}
			go func() {
				got, err := c.ask(ctx, e, id, text, key)
				ends <- end{name, id, text, judge(text, got, err)}
			}()
		}
	}
	begun(w.t, before+cap(ends), w.agents...)
	return ends
}

// letGo lets all agents answer what they hold.
func (w *town) letGo() {
	for _, a := range w.agents {
		a.letGo()
	}
}

// TestOneAnswerPerID: whatever dies while MCP calls are in flight, each ends
// with exactly one result or one error, for clients of every era.
func TestOneAnswerPerID(t *testing.T) {
	w := newTown(t)
	for _, c := range []struct {
		name  string
		keyed bool
		hurt  func()
		fine  func(error) bool
	}{
		{"slow agent", false, w.letGo, nothingWrong},
		{"NATS restarts", false, func() { w.nats.proc.Kill(); w.letGo(); w.nats.start() }, nothingWrong},
		{"PostgreSQL restarts", false, func() { w.db.Crash(t); w.letGo() }, nothingWrong},
		{"edge dies", true, w.restartEdge, nothingWrong},
		{"gateway dies", true, func() { w.gateway.proc.Kill(); w.gateway.start(); w.letGo() }, unreachable},
		{"agent dies", false, w.killAgent, nothingWrong},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
			defer cancel()
			w.presentAtGateway(ctx, t)
			ends := w.inFlight(ctx, c.keyed)
			began := time.Now()
			c.hurt()
			var cut []end
			for range cap(ends) {
				e := <-ends
				if !c.fine(e.err) {
					t.Errorf("%s: after %s: %v", e.id, time.Since(began).Round(time.Millisecond), e.err)
				}
				if unreachable(e.err) {
					cut = append(cut, e)
				}
			}
			t.Logf("%d calls had one end each after %s, %d of them by a broken connection", cap(ends), time.Since(began).Round(time.Millisecond), len(cut))
			w.comeBack(ctx, t, cut)
		})
	}
	r := w.edge.records()
	r.settled(patience)
	r.sound(-1)
	r.none("texts that became two requests", `SELECT count(*) FROM (SELECT body, count(*) AS n FROM messages WHERE type = 'chat_message' AND body LIKE 'hold%' GROUP BY body) x WHERE n > 1`)
}

func nothingWrong(err error) bool { return err == nil }

// comeBack: who was cut off asks again under the same key and finds the one
// result, though the agent has worked once.
func (w *town) comeBack(ctx context.Context, t *testing.T, cut []end) {
	t.Helper()
	c := newCaller(t, w.gateway, w.agents[0].id, w.key, 4)
	for _, e := range cut {
		for {
			got, err := c.ask(ctx, eras[e.era], e.id, e.text, e.id)
			if beeos.CodeOf(err) == beeos.Conflict && pause(ctx, 50*time.Millisecond) {
				continue
			}
			if err := judge(e.text, got, err); err != nil {
				t.Errorf("%s again: %v", e.id, err)
			}
			break
		}
	}
	times := map[string]int{}
	for _, a := range w.agents {
		for _, x := range a.executions() {
			times[x.text]++
		}
	}
	for _, e := range cut {
		if times[e.text] != 1 {
			t.Errorf("%s was executed %d times", e.id, times[e.text])
		}
	}
}

// presentAtGateway waits until a call gets through.
func (w *town) presentAtGateway(ctx context.Context, t *testing.T) {
	t.Helper()
	c := newCaller(t, w.gateway, w.agents[0].id, w.key, 1)
	for {
		_, err := c.ask(ctx, era{}, "ready", "are you there?", "")
		if err == nil {
			return
		}
		if !pause(ctx, 50*time.Millisecond) {
			t.Fatalf("calls do not get through: %v", err)
		}
	}
}

// restartEdge: the agents find their way back, with their work.
func (w *town) restartEdge() {
	var before []int
	for _, a := range w.agents {
		before = append(before, a.connections())
	}
	w.edge.proc.Kill()
	w.edge.start()
	for i, a := range w.agents {
		a.connected(before[i])
	}
	w.letGo()
}

// killAgent: the other instance takes over.
func (w *town) killAgent() {
	lost := len(w.agents[0].executions())
	had := len(w.agents[1].executions())
	held := 0
	for _, x := range w.agents[0].executions()[:lost] {
		if len(x.text) > 4 && x.text[:4] == "hold" && !w.agents[0].ended(x.message) {
			held++
		}
	}
	w.agents[0].Kill()
	begun(w.t, had+held, w.agents[1])
	w.agents[1].letGo()
}
