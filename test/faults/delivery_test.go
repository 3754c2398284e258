package faults

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
)

// TestTwoReplicasOneTerminal: an agent is connected to both nodes, and both
// connections answer the same request at the same moment.
func TestTwoReplicasOneTerminal(t *testing.T) {
	p := meshed(t)
	raw := registerRaw(t, p.a, p.key, "twins")
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	turns := make(chan string, 16)
	receive := func(f beeos.Frame) {
		if f.Type == beeos.FrameMessage {
			turns <- f.MessageID
		}
	}
	twins := []*connection{raw.connect(ctx, p.a, receive), raw.connect(ctx, p.b, receive)}

	won := map[string]int{}
	rounds := much(100, 40)
	for i := range rounds {
		entry := []*node{p.a, p.b}[i%2]
		answer := make(chan string, 1)
		go func() {
			got, err := newCaller(t, entry, raw.id, p.key, 1).tool(ctx, "who is it?", "")
			answer <- fmt.Sprint(got, errorText(err))
		}()
		var turn string
		select {
		case turn = <-turns:
		case got := <-answer:
			t.Fatalf("the caller hears %q, the agent heard nothing", got)
		}
		winner := race(t, twins, turn)
		if got := <-answer; got != "it is "+winner {
			t.Errorf("the caller hears %q, the winner was %q", got, winner)
		}
		won[winner]++
		late := twins[i%2].reply(turn, "it is too late")
		if late.Error == nil || late.Error.Code != string(beeos.MessageTerminal) {
			t.Errorf("a reply that comes later: %+v", late.Error)
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d races, won by %v", rounds, won)
	p.a.records().sound(rounds)
}

// race lets all connections answer at once and returns the name of the one
// that was first; the others must have been told.
func race(t *testing.T, twins []*connection, turn string) (winner string) {
	t.Helper()
	acks := make([]beeos.Frame, len(twins))
	ready := make(chan struct{})
	var wg sync.WaitGroup
	for i, c := range twins {
		wg.Go(func() {
			<-ready
			acks[i] = c.reply(turn, "it is "+c.node.name)
		})
	}
	close(ready)
	wg.Wait()
	for i, ack := range acks {
		switch {
		case ack.Error == nil && winner == "":
			winner = twins[i].node.name
		case ack.Error == nil:
			t.Errorf("both replies to %s were accepted", turn)
		case ack.Error.Code != string(beeos.MessageTerminal):
			t.Errorf("%s is told %s (%s), want message_terminal", twins[i].node.name, ack.Error.Code, ack.Error.Message)
		}
	}
	if winner == "" {
		t.Errorf("no reply to %s was accepted", turn)
	}
	return winner
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestOfflineIsFast: nobody serves the agent, and every caller at every node
// hears so at once.
func TestOfflineIsFast(t *testing.T) {
	p := meshed(t)
	never := registerRaw(t, p.a, p.key, "never")
	a := startAgent(t, "agent", spec{Name: "echo", Gateway: p.a.agents, Key: p.key, Identity: t.TempDir() + "/id.json"})
	p.b.online(p.key, a.id, true)
	a.Kill()
	for _, n := range []*node{p.a, p.b} {
		n.online(p.key, a.id, false)
	}
	for name, id := range map[string]string{"an agent that never connected": never.id, "an agent that was killed": a.id} {
		bak, err := client.New(p.a.rest, p.key).CreateKey(t.Context(), id, client.KeyRequest{Name: "offline"})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []*node{p.a, p.b} {
			for kind, key := range map[string]string{"user key": p.key, "agent key": bak.Secret} {
				c := newCaller(t, n, id, key, 1)
				isOffline(t, name+", MCP, "+n.name+", "+kind, func() error { _, err := c.tool(t.Context(), "hello?", ""); return err })
				isOffline(t, name+", REST, "+n.name+", "+kind, func() error { _, err := c.invoke(t.Context(), "hello?"); return err })
			}
		}
	}
	if n := p.a.records().number(`SELECT count(*) FROM messages`); n != 0 {
		t.Errorf("%d messages were stored for agents that are not there", n)
	}
}

// isOffline makes a call a few times. Each must be refused, and one within the
// promised time: the machine may be busy, but what waits for something does so
// every time.
func isOffline(t *testing.T, name string, call func() error) {
	t.Helper()
	limit := 100 * time.Millisecond
	if raceEnabled {
		limit *= 5
	}
	var took []time.Duration
	for range 5 {
		began := time.Now()
		err := call()
		took = append(took, time.Since(began))
		if beeos.CodeOf(err) != beeos.AgentServiceUnavailable {
			t.Errorf("%s: %v, want agent_service_unavailable", name, err)
		}
	}
	slices.Sort(took)
	if took[0] > limit {
		t.Errorf("%s: took %s, limit %s", name, took, limit)
	}
	t.Logf("%s: %s, at most %s", name, took[2].Round(10*time.Microsecond), took[4].Round(10*time.Microsecond))
}

// TestBusyReject: while the agent works for a caller at one node, callers at
// both nodes are turned away at once.
func TestBusyReject(t *testing.T) {
	p := meshed(t)
	a := startAgent(t, "agent", spec{Name: "single", Gateway: p.a.agents, Key: p.key, Identity: t.TempDir() + "/id.json", Mode: beeos.DeliverBusyReject})
	p.b.online(p.key, a.id, true)
	first := make(chan error, 1)
	go func() {
		got, err := newCaller(t, p.b, a.id, p.key, 1).tool(t.Context(), "hold on", "")
		if err == nil && got != echoed("hold on") {
			err = errors.New(got)
		}
		first <- err
	}()
	begun(t, 1, a)
	for _, n := range []*node{p.a, p.b} {
		c := newCaller(t, n, a.id, p.key, 1)
		for surface, call := range map[string]func() error{
			"MCP":  func() error { _, err := c.tool(t.Context(), "me too", ""); return err },
			"REST": func() error { _, err := c.invoke(t.Context(), "me too"); return err },
		} {
			began := time.Now()
			if err := call(); beeos.CodeOf(err) != beeos.Conflict {
				t.Errorf("%s at %s: %v, want conflict", surface, n.name, err)
			}
			t.Logf("%s at %s: busy after %s", surface, n.name, time.Since(began).Round(10*time.Microsecond))
			if took := time.Since(began); took > 10*time.Second { // the one that works does so until it is released
				t.Errorf("%s at %s: took %s", surface, n.name, took)
			}
		}
	}
	select {
	case err := <-first:
		t.Fatalf("the first call ended early: %v", err)
	default:
	}
	a.release()
	if err := <-first; err != nil {
		t.Errorf("the first call: %v", err)
	}
	r := p.a.records()
	if n := r.number(`SELECT count(*) FROM messages WHERE type = 'agent_busy'`); n != 4 {
		t.Errorf("%d callers were stored as turned away, want 4", n)
	}
	for _, n := range []*node{p.a, p.b} {
		if got, err := newCaller(t, n, a.id, p.key, 1).tool(t.Context(), "now", ""); err != nil || got != echoed("now") {
			t.Errorf("free again, at %s: %q, %v", n.name, got, err)
		}
	}
	r.sound(7)
}

// TestQueueInOrder: messages of several channels enter at both nodes, before
// and after the agent is there. It gets them one at a time, in order.
func TestQueueInOrder(t *testing.T) {
	p := meshed(t)
	identity := t.TempDir() + "/id.json"
	s := spec{Name: "serial", Gateway: p.a.agents, Key: p.key, Identity: identity, Mode: beeos.DeliverQueue, Lane: beeos.LaneAgent}
	a := startAgent(t, "agent", s)
	a.Kill()
	p.a.online(p.key, a.id, false)
	p.b.online(p.key, a.id, false)

	callers := []*caller{newCaller(t, p.a, a.id, p.key, 1), newCaller(t, p.b, a.id, p.key, 1)}
	var channels []string
	for _, c := range callers {
		ch, err := c.channel(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		channels = append(channels, ch)
	}
	var want []string
	type sent struct{ channel, message, text string }
	var messages []sent
	send := func(n int) {
		for range n {
			i := len(want)
			text := fmt.Sprintf("message %d", i)
			ch := channels[i/2%2] // A and B take turns, and so do the channels
			m, err := callers[i%2].send(t.Context(), ch, text, "")
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			want = append(want, text)
			messages = append(messages, sent{ch, m.ID, text})
		}
	}
	const half = 40
	send(half)
	a = startAgent(t, "agent", s)
	send(half)

	var g errgroup.Group
	g.SetLimit(8)
	for i, m := range messages {
		g.Go(func() error {
			reply, err := callers[i%2].wait(t.Context(), m.channel, m.message)
			if err == nil && reply.Body != echoed(m.text) {
				err = errors.New(reply.Body)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", m.text, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
	checkSerial(t, a.written(), want)
	p.a.records().sound(2 * half)
}

// checkSerial reads what the agent wrote: begin and end take turns, and the
// texts come in order.
func checkSerial(t *testing.T, lines, want []string) {
	t.Helper()
	var got []string
	working := ""
	for _, line := range lines {
		f := strings.SplitN(line, " ", 4)
		switch {
		case f[0] == "begin" && working != "":
			t.Errorf("%s begins while %s is worked on", f[1], working)
		case f[0] == "begin":
			working = f[1]
			got = append(got, f[3])
		case f[0] == "end":
			working = ""
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the agent got\n%q, want\n%q", got, want)
	}
}

// TestRevokedKeyIsRefusedEverywhere: a key that B has in its cache is revoked
// at A.
func TestRevokedKeyIsRefusedEverywhere(t *testing.T) {
	p := meshed(t)
	a := startAgent(t, "agent", spec{Name: "echo", Gateway: p.a.agents, Key: p.key, Identity: t.TempDir() + "/id.json"})
	p.b.online(p.key, a.id, true)
	admin := client.New(p.a.rest, p.key)
	for _, agentID := range []string{"", a.id} {
		k, err := admin.CreateKey(t.Context(), agentID, client.KeyRequest{Name: "short-lived"})
		if err != nil {
			t.Fatal(err)
		}
		c := newCaller(t, p.b, a.id, k.Secret, 1)
		if _, err := c.tool(t.Context(), "may I?", ""); err != nil {
			t.Fatalf("a good key: %v", err)
		}
		if err := admin.RevokeKey(t.Context(), agentID, k.ID); err != nil {
			t.Fatal(err)
		}
		began, calls := time.Now(), 0
		for ; err == nil; calls++ {
			if _, err = c.tool(t.Context(), "still?", ""); err == nil && time.Since(began) > 10*time.Second { // without the notice, a cached key is good for 30
				t.Fatalf("%s works %s after it was revoked", k.Prefix, time.Since(began))
			}
		}
		t.Logf("%s refused after %s, at call %d", k.Prefix, time.Since(began).Round(10*time.Microsecond), calls)
		for _, n := range []*node{p.a, p.b} {
			c := newCaller(t, n, a.id, k.Secret, 1)
			if _, err := c.tool(t.Context(), "and now?", ""); beeos.CodeOf(err) != beeos.InvalidToken {
				t.Errorf("MCP at %s: %v, want invalid_token", n.name, err)
			}
			if _, err := c.invoke(t.Context(), "and now?"); beeos.CodeOf(err) != beeos.InvalidToken {
				t.Errorf("REST at %s: %v, want invalid_token", n.name, err)
			}
			resp, err := c.post(t.Context(), http.MethodPost, n.mcp+"/"+a.id+"/mcp", []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), nil)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusUnauthorized || resp.Header.Get("WWW-Authenticate") == "" {
				t.Errorf("ping at %s: %s", n.name, resp.Status)
			}
		}
	}
}
