//go:build silence

package faults

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestFrozenAgentIsPassedOver: the agent's process at one node is frozen, another
// one at the other node is idle. Calls at the first node are answered by the second.
func TestFrozenAgentIsPassedOver(t *testing.T) {
	p := meshed(t)
	identity := filepath.Join(t.TempDir(), "id.json") // of both
	at := func(label string, n *node) *agentProcess {
		return startAgent(t, label, spec{Name: "echo", Gateway: n.agents, Key: p.key, Identity: identity})
	}
	frozen := at("frozen agent", p.a)
	healthy := at("healthy agent", p.b)
	p.a.online(p.key, frozen.id, true)
	c := newCaller(t, p.a, frozen.id, p.key, 64)
	if _, err := c.tool(t.Context(), "hello", ""); err != nil {
		t.Fatal(err)
	}
	pid := frozen.Pid()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(pid, syscall.SIGCONT) //nolint:errcheck // it may have ended
	before := len(healthy.executions())
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	var held sync.WaitGroup
	held.Go(func() { c.tool(ctx, "held by the frozen one", "") }) //nolint:errcheck // nobody promises anything
	pause(ctx, 2500*time.Millisecond)
	began := time.Now()
	for i := range 20 {
		text := fmt.Sprint("call ", i)
		if got, err := c.tool(ctx, text, ""); err != nil || got != echoed(text) {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	took := time.Since(began)
	t.Logf("20 calls beside a frozen agent in %s", took.Round(time.Millisecond))
	if took > 5*time.Second || len(healthy.executions())-before < 20 {
		t.Errorf("they took %s, and the healthy one had %d", took, len(healthy.executions())-before)
	}
	cancel()
	held.Wait()
}

// TestDescriptorsRunOut: more callers than the server may have files open. Each of
// them gets an answer: its own, or that the server is full.
func TestDescriptorsRunOut(t *testing.T) {
	n := newNode(t, "server")
	n.program = filepath.Join(t.TempDir(), "few")
	if err := os.WriteFile(n.program, []byte("#!/bin/sh\nulimit -n 300\nexec "+binary(t)+" \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	key := n.owner()
	n.start()
	a := startAgent(t, "agent", spec{Name: "echo", Gateway: n.agents, Key: key, Identity: t.TempDir() + "/id.json"})
	const callers = 600
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var mu sync.Mutex
	ends := map[string]int{}
	var all sync.WaitGroup
	for i := range callers {
		c := newCaller(t, n, a.id, key, 1)
		all.Go(func() {
			end := "answered"
			for ctx.Err() == nil {
				text := fmt.Sprint("call ", i)
				got, err := c.tool(ctx, text, "")
				if err == nil && got == echoed(text) {
					break
				}
				if !refused(err) {
					end = fmt.Sprint("no answer: ", err)
					break
				}
				end = "answered after a refusal"
				c.http.CloseIdleConnections()
				pause(ctx, 200*time.Millisecond)
			}
			c.http.CloseIdleConnections()
			mu.Lock()
			defer mu.Unlock()
			ends[end]++
		})
	}
	all.Wait()
	t.Logf("%d callers: %v", callers, ends)
	if ends["answered"]+ends["answered after a refusal"] != callers || ends["answered after a refusal"] == 0 {
		t.Errorf("somebody got no answer, or nobody was refused: %v", ends)
	}
}
