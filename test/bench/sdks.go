package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/beeos/beeos/test/npm"
	"github.com/beeos/beeos/test/python"
)

// sdkConnections are those under which the agents of all SDKs are measured.
const sdkConnections = 64

// sdks measures the same call to the same agent, written with each SDK: one process
// each, on one server, one after the other.
func sdks(ctx context.Context, s settings) (string, error) {
	b, id, stop, err := startServer(ctx, s.server, "fsync", 0)
	if err != nil {
		return "", err
	}
	defer stop()
	rigs := []rig{{"Go", b.callTarget(id), b.agent}}
	others, err := sdkCommands(ctx, s.profile)
	if err != nil {
		return "", err
	}
	for _, other := range others {
		p, id, err := b.startAgent(ctx, other.name, other.env, other.command...)
		if err != nil {
			return "", fmt.Errorf("%s: %w", other.name, err)
		}
		defer p.stop()
		rigs = append(rigs, rig{other.name, b.callTarget(id), p})
	}
	samples, err := interleave(ctx, rigs, []int{sdkConnections}, s)
	if err != nil {
		return "", err
	}
	var table strings.Builder
	table.WriteString("| agent | calls/s | against Go | p50 | p99 | agent's CPU per call | agent's memory |\n|---|---:|---:|---:|---:|---:|---:|\n")
	base := median(samples[cell{0, sdkConnections}], sample.perSecond)
	for i, r := range rigs {
		x := samples[cell{i, sdkConnections}]
		rate := median(x, sample.perSecond)
		fmt.Fprintf(&table, "| %s | %.0f | %.2f | %.2f ms | %.2f ms | %.0f µs | %d MB |\n", r.name, rate, rate/base,
			median(x, func(s sample) float64 { return ms(s.p50) }), median(x, func(s sample) float64 { return ms(s.p99) }),
			median(x, func(s sample) float64 { return float64(s.cpu.Microseconds()) }), r.server.rss()>>20)
	}
	return table.String(), nil
}

// sdkCommand runs an agent.
type sdkCommand struct {
	name    string
	env     []string
	command []string
}

// sdkCommands are the agents that are not in Go, from the sources of their SDKs: the
// benchmark runs where the repository is. With a file for profiles, each writes one
// when it ends, under that name and its own.
func sdkCommands(ctx context.Context, profile string) ([]sdkCommand, error) {
	alone, err := pythonWith(ctx, "wheel.txt")
	if err != nil {
		return nil, err
	}
	fast, err := pythonWith(ctx, "requirements.txt") // with orjson and uvloop
	if err != nil {
		return nil, err
	}
	source, err := filepath.Abs("sdk/python/src")
	if err != nil {
		return nil, err
	}
	tools, err := npm.Install(ctx)
	if err != nil {
		return nil, err
	}
	python := func(name, interpreter, agent string) sdkCommand {
		command := []string{interpreter}
		if profile != "" {
			command = append(command, "-m", "cProfile", "-o", profile+"."+agent)
		}
		return sdkCommand{name, []string{"PYTHONPATH=" + source, "PYTHONDONTWRITEBYTECODE=1"}, append(command, "test/bench/echo.py", agent)}
	}
	node := []string{tools.Module(".bin/node")}
	if profile != "" {
		node = append(node, "--cpu-prof", "--cpu-prof-dir="+filepath.Dir(profile), "--cpu-prof-name="+filepath.Base(profile)+".bench-typescript")
	}
	return []sdkCommand{
		python("Python", alone, "bench-python"),
		python("Python, with orjson and uvloop", fast, "bench-python-fast"),
		{"TypeScript, on Node", nil, append(node, "test/bench/echo.mts")},
	}, nil
}

func pythonWith(ctx context.Context, requirements string) (interpreter string, err error) {
	list, err := os.ReadFile(filepath.Join("test/pythonsdk", requirements))
	if err != nil {
		return "", err
	}
	return python.Install(ctx, list)
}
