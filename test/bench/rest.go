package main

import (
	"context"
	"fmt"
	"strings"
)

// rest compares an invoke over REST, whole and streamed, with the same call
// over MCP, at one server.
func rest(ctx context.Context, s settings) (string, error) {
	b, id, stop, err := startServer(ctx, s.server, "fsync", 0)
	if err != nil {
		return "", err
	}
	defer stop()
	rigs := []rig{
		{"MCP `tools/call`", b.callTarget(id), b.process},
		{"REST invoke", b.invokeTarget(id, "application/json"), b.process},
		{"REST invoke, streamed", b.invokeTarget(id, "text/event-stream"), b.process},
	}
	samples, err := interleave(ctx, rigs, []int{64}, s)
	if err == nil && s.profile != "" {
		err = profile(ctx, rigs[1], s)
	}
	if err != nil {
		return "", err
	}
	var out strings.Builder
	out.WriteString("| call | calls/s | against MCP | p50 | p99 | server CPU per call |\n|---|---:|---:|---:|---:|---:|\n")
	base := median(samples[cell{0, 64}], sample.perSecond)
	for i, r := range rigs {
		x := samples[cell{i, 64}]
		fmt.Fprintf(&out, "| %s | %.0f | %.2f | %.2f ms | %.2f ms | %.0f µs |\n", r.name, median(x, sample.perSecond), median(x, sample.perSecond)/base,
			median(x, func(s sample) float64 { return ms(s.p50) }), median(x, func(s sample) float64 { return ms(s.p99) }),
			median(x, func(s sample) float64 { return float64(s.cpu.Microseconds()) }))
	}
	return out.String(), nil
}

// invokeTarget is the same question as callTarget's, over REST.
func (s *beeosServer) invokeTarget(agentID, accept string) target {
	t := post(s.rest, "/api/v1/agents/"+agentID+"/invoke", `{"message":"hello"}`, toolText, "Authorization: Bearer "+s.key)
	t.requests[0] = []byte(strings.Replace(string(t.requests[0]), acceptBoth, "Accept: "+accept, 1))
	return t
}
