package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"golang.org/x/sync/errgroup"
)

// sessionsAtOnce is how many connections calls in sessions come by, and how
// many open the idle ones.
const sessionsAtOnce = 64

// sessions compares the ways to make a call, and weighs sessions that do
// nothing.
func sessions(ctx context.Context, s settings) (string, error) {
	sdk, err := startSDK(ctx)
	if err != nil {
		return "", err
	}
	defer sdk.server.stop()
	b, id, stop, err := startServer(ctx, s.server, "fsync", 0)
	if err != nil {
		return "", err
	}
	defer stop()
	path := "/" + id + "/mcp"
	inSessions, err := sessionTarget(b, path)
	if err != nil {
		return "", err
	}
	rigs := []rig{
		sdk,
		{"BeeOS, bare", b.callTarget(id), b.process},
		{"BeeOS, in a session (2025-11-25)", inSessions, b.process},
		{"BeeOS, stateless (2026-07-28)", statelessTarget(b, path), b.process},
	}
	samples, err := interleave(ctx, rigs, []int{sessionsAtOnce}, s)
	if err == nil && s.profile != "" {
		err = profile(ctx, rigs[2], s)
	}
	if err != nil {
		return "", err
	}
	weight, err := weighSessions(b, path, s.sessions)
	return formsTable(rigs, samples) + "\n" + weight, err
}

// sessionTarget is a call in a session, with a session for every connection.
func sessionTarget(b *beeosServer, path string) (t target, err error) {
	err = b.begin(path, sessionsAtOnce, func(session string) {
		one := post(b.mcp, path, toolCall, toolText, "Authorization: Bearer "+b.key, "Mcp-Session-Id: "+session, "Mcp-Protocol-Version: 2025-11-25")
		t = target{one.addr, append(t.requests, one.requests...), one.want}
	})
	return t, err
}

// statelessTarget is a call that says everything itself.
func statelessTarget(b *beeosServer, path string) target {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	body := strings.Replace(toolCall, `"name":"echo"`, `"name":"echo",`+meta, 1)
	return post(b.mcp, path, body, toolText, "Authorization: Bearer "+b.key, "Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: echo")
}

// begin begins so many sessions, one after the other on one connection.
func (s *beeosServer) begin(path string, n int, begun func(session string)) error {
	conn, err := net.Dial("tcp", s.mcp)
	if err != nil {
		return err
	}
	defer conn.Close()
	answer := response{in: bufio.NewReader(conn)}
	for range n {
		session, err := handshake(conn, &answer, s.mcp, path, s.key)
		if err != nil {
			return err
		}
		begun(session)
	}
	return nil
}

// weighSessions begins n sessions and then as many again: what the first ones
// warm up must not be taken for the weight of the others.
func weighSessions(b *beeosServer, path string, n int) (string, error) {
	many := func() error {
		var group errgroup.Group
		for range sessionsAtOnce {
			group.Go(func() error { return b.begin(path, n/sessionsAtOnce, func(string) {}) })
		}
		return group.Wait()
	}
	if err := many(); err != nil {
		return "", err
	}
	before, err1 := b.memory()
	err2 := many()
	after, err3 := b.memory()
	if err := errors.Join(err1, err2, err3); err != nil {
		return "", err
	}
	grown := after.minus(before)
	return fmt.Sprintf("| idle sessions | heap and stacks before | with all open | per session | resident before | with all open |\n|---:|---:|---:|---:|---:|---:|\n| %d | %d KB | %d KB | %+d bytes | %d MB | %d MB |\n",
		n, before.live>>10, after.live>>10, grown.live/int64(n), before.resident>>20, after.resident>>20), nil
}

func formsTable(rigs []rig, samples map[cell][]sample) string {
	var b strings.Builder
	b.WriteString("| call | calls/s | against bare | against go-sdk | p50 | p99 | server CPU per call |\n|---|---:|---:|---:|---:|---:|---:|\n")
	rate := func(i int) float64 { return median(samples[cell{i, sessionsAtOnce}], sample.perSecond) }
	for i, r := range rigs {
		x := samples[cell{i, sessionsAtOnce}]
		fmt.Fprintf(&b, "| %s | %.0f | %.2f | %.2f | %.2f ms | %.2f ms | %.0f µs |\n", r.name, rate(i), rate(i)/rate(1), rate(i)/rate(0),
			median(x, func(s sample) float64 { return ms(s.p50) }), median(x, func(s sample) float64 { return ms(s.p99) }),
			median(x, func(s sample) float64 { return float64(s.cpu.Microseconds()) }))
	}
	return b.String()
}
