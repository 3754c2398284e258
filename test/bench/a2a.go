package main

import (
	"context"
	"fmt"
	"strings"
)

const (
	sendCall = `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"role":"ROLE_USER","messageId":"bench-` + serial + `","parts":[{"text":"hello"}]}}}`
	sendText = "you said: hello"
)

// peers compares one call by A2A with the same by MCP, on one server. The
// message's id is an idempotency key, which MCP's call does without.
func peers(ctx context.Context, s settings) (string, error) {
	server, err := prepare(ctx, "fsync", nil)
	if err != nil {
		return "", err
	}
	defer server.close()
	if err := server.run(ctx, s.server, "fsync"); err != nil {
		return "", err
	}
	stop, id, err := server.connectAgent(ctx)
	if err != nil {
		return "", err
	}
	defer stop()
	key := "Authorization: Bearer " + server.key
	rigs := []rig{
		{"MCP tools/call", server.callTarget(id), server.process},
		{"A2A SendMessage", post(server.a2a, "/"+id, sendCall, sendText, key, "A2A-Version: 1.0"), server.process},
	}
	conns := []int{1, 64}
	samples, err := interleave(ctx, rigs, conns, s)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("| connections | call | calls/s | against MCP | p50 | p99 | server CPU per call | against MCP |\n|---:|---|---:|---:|---:|---:|---:|---:|\n")
	cpu := func(s sample) float64 { return float64(s.cpu.Microseconds()) }
	for _, n := range conns {
		rate, cost := median(samples[cell{0, n}], sample.perSecond), median(samples[cell{0, n}], cpu)
		for i, r := range rigs {
			x := samples[cell{i, n}]
			fmt.Fprintf(&b, "| %d | %s | %.0f | %.2f | %.2f ms | %.2f ms | %.0f µs | %.2f |\n", n, r.name, median(x, sample.perSecond), median(x, sample.perSecond)/rate,
				median(x, func(s sample) float64 { return ms(s.p50) }), median(x, func(s sample) float64 { return ms(s.p99) }), median(x, cpu), median(x, cpu)/cost)
		}
	}
	return b.String(), nil
}
